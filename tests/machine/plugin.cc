// plugin: shows every memory access of the emulated vCPUs to the cost model,
// and makes the vCPUs wait as the model says.
//
// Arguments: kinds=FILE, optionally dilation=X and, in the order of QEMU's RAM
// list, one tier=KIND:MEBIBYTES for each memory backend. The model starts
// switched off: the clock port turns it on.
#include <x86intrin.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string_view>

#include "tests/machine/clock_service.h"
#include "tests/machine/qemu_plugin.h"

namespace thermocline {
namespace {

// Waiting is paid in lumps: a call to the clock costs more than most stalls.
constexpr double kLumpNanoseconds = 2000;
// A vCPU that has not missed for so long computes, or does not run. At the
// emulator's speed that is less than a microsecond of its virtual time.
constexpr double kPatienceNanoseconds = 20'000;

struct Plugin {
  Kinds kinds;
  std::unique_ptr<MemoryTier[]> tiers;
  std::vector<std::uint64_t> tier_ends;  // bytes, in QEMU's RAM list
  SamplingPeriods periods;
  std::unique_ptr<Pace> pace;
  std::atomic<double> dilation{0};
  std::unique_ptr<PerfStream> stream;
  std::unique_ptr<SampleQueue> queue;
  std::vector<std::unique_ptr<Core>> cores;
  std::unique_ptr<ClockService> service;
  ModelSwitch model;
  double ticks_per_ns = 1;
};

Plugin* plugin = nullptr;
Core* const* cores = nullptr;  // plugin->cores, without the detours

double measure_ticks_per_ns() {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  const std::uint64_t ticks = __rdtsc();
  while (Clock::now() - begin < std::chrono::milliseconds(20)) _mm_pause();
  const std::chrono::duration<double, std::nano> elapsed = Clock::now() - begin;
  return static_cast<double>(__rdtsc() - ticks) / elapsed.count();
}

void pay(unsigned cpu, Core& core) {
  const double dilation = plugin->dilation.load(std::memory_order_relaxed);
  const std::uint64_t waited = plugin->pace->take_waited(cpu);
  if (dilation == 0) {
    core.unpaid() = 0;
    return;
  }
  const double picos_per_tick = 1000 / plugin->ticks_per_ns / dilation;
  const auto paid = [&](std::uint64_t ticks) {
    core.unpaid() = std::max<std::int64_t>(
        0, core.unpaid() - static_cast<std::int64_t>(
                               static_cast<double>(ticks) * picos_per_tick));
  };
  if (waited != 0) paid(waited);
  if (static_cast<double>(core.unpaid()) * dilation < kLumpNanoseconds * 1000) {
    return;
  }
  const std::uint64_t begin = __rdtsc();
  const auto ticks = static_cast<std::uint64_t>(
      static_cast<double>(core.unpaid()) / picos_per_tick);
  plugin->pace->busy_until(cpu, begin + ticks);
  while (__rdtsc() - begin < ticks) _mm_pause();
  paid(__rdtsc() - begin);
}

unsigned tier_of(std::uint64_t place) {
  for (unsigned tier = 0; tier < plugin->tier_ends.size(); ++tier) {
    if (place < plugin->tier_ends[tier]) return tier;
  }
  return 0;  // firmware, video memory
}

// What is known of an instruction when it is translated, in one word: its
// address (48 bits), and how many instructions of its block follow it.
struct Where {
  static void* pack(std::uint64_t ip, std::size_t after) {
    return reinterpret_cast<void*>(ip << 16 | after);
  }
  explicit Where(void* packed)
      : ip(static_cast<std::uint64_t>(reinterpret_cast<std::int64_t>(packed) >>
                                      16)),
        after(reinterpret_cast<std::uint64_t>(packed) & 0xffff) {}
  std::uint64_t ip;
  std::uint64_t after;
};

[[gnu::noinline]] void on_miss(unsigned cpu, QemuMemoryInfo info,
                               std::uint64_t address, void* packed,
                               bool store) {
  Core& core = *cores[cpu];
  const QemuAddress* place = qemu_plugin_get_hwaddr(info, address);
  if (place == nullptr || qemu_plugin_hwaddr_is_io(place)) return;
  const Where where(packed);
  core.miss({address, where.ip, core.instructions() - where.after, store},
            tier_of(qemu_plugin_hwaddr_phys_addr(place)));
  pay(cpu, core);
}

[[gnu::noinline]] void on_store_hit(Core& core, std::uint64_t address,
                                    void* packed) {
  const Where where(packed);
  core.hit_store({address, where.ip, core.instructions() - where.after, true});
}

[[gnu::noinline]] void look_up(unsigned cpu, QemuMemoryInfo info,
                               std::uint64_t address, void* packed,
                               bool store) {
  Core& core = *cores[cpu];
  if (!core.hit(address, store)) {
    on_miss(cpu, info, address, packed, store);
  } else if (store && core.counts_store_hit()) {
    on_store_hit(core, address, packed);
  }
}

// One callback for loads and stores: QEMU 7.2 calls those registered for one
// direction in both.
void on_access(unsigned cpu, QemuMemoryInfo info, std::uint64_t address,
               void* packed) {
  Core& core = *cores[cpu];
  const bool store = is_store(info);
  if (store ? core.quick_store(address) : core.quick_load(address)) [[likely]] {
    if (store && core.counts_store_hit()) on_store_hit(core, address, packed);
    return;
  }
  look_up(cpu, info, address, packed, store);
}

void on_block(unsigned cpu, void* count) {
  cores[cpu]->instructions() += reinterpret_cast<std::uintptr_t>(count);
}

void on_translation(QemuPluginId, QemuBlock* block) {
  const std::size_t count = qemu_plugin_tb_n_insns(block);
  if (plugin->cores.size() == 1) {
    qemu_plugin_register_vcpu_tb_exec_inline(
        block, kQemuAddU64, &plugin->cores[0]->instructions(), count);
  } else {
    qemu_plugin_register_vcpu_tb_exec_cb(block, on_block, kQemuNoRegisters,
                                         reinterpret_cast<void*>(count));
  }
  for (std::size_t i = 0; i < count; ++i) {
    QemuInstruction* instruction = qemu_plugin_tb_get_insn(block, i);
    void* where =
        Where::pack(qemu_plugin_insn_vaddr(instruction), count - 1 - i);
    qemu_plugin_register_vcpu_mem_cb(instruction, on_access, kQemuNoRegisters,
                                     kQemuLoadsAndStores, where);
  }
}

void on_end(QemuPluginId, void*) { plugin->service.reset(); }

void on_idle(QemuPluginId id, unsigned cpu);
void on_resume(QemuPluginId id, unsigned cpu);

// While the model is off nothing is registered that slows the guest down.
void register_all(QemuPluginId id) {
  plugin->model.settle();
  if (plugin->model.is_on()) {
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
  }
  qemu_plugin_register_vcpu_idle_cb(id, on_idle);
  qemu_plugin_register_vcpu_resume_cb(id, on_resume);
  qemu_plugin_register_atexit_cb(id, on_end, nullptr);
}

// A reset makes QEMU translate anew; it can be asked for on a vCPU's thread
// only, hence here, where the vCPU that asked waits for its answer.
void switch_model(QemuPluginId id) {
  if (plugin->model.begin_change()) qemu_plugin_reset(id, register_all);
}

void on_idle(QemuPluginId id, unsigned cpu) {
  cores[cpu]->rest();
  switch_model(id);
}

void on_resume(QemuPluginId id, unsigned cpu) {
  Picos latest = 0;
  for (const auto& core : plugin->cores) {
    latest = std::max(latest, core->now());
  }
  cores[cpu]->wake(latest);
  switch_model(id);
}

bool refuse(const std::string& why) {
  std::fprintf(stderr, "machine plugin: %s\n", why.c_str());
  return false;
}

// Reads one tier=KIND:MEBIBYTES.
bool add_tier(std::string_view text, const Kinds& kinds,
              std::vector<MemoryKind>& memories) {
  const std::size_t colon = text.find(':');
  const std::string name(text.substr(0, colon));
  std::uint64_t mebibytes = 0;
  if (colon != std::string_view::npos) {
    std::from_chars(text.data() + colon + 1, text.data() + text.size(),
                    mebibytes);
  }
  if (mebibytes == 0) return refuse("no size in tier=" + std::string(text));
  const MemoryKind* kind = kinds.find(name);
  if (kind == nullptr) return refuse("no kind of memory is called " + name);
  const std::uint64_t begin =
      plugin->tier_ends.empty() ? 0 : plugin->tier_ends.back();
  plugin->tier_ends.push_back(begin + (mebibytes << 20));
  memories.push_back(*kind);
  return memories.size() <= kMaxTiers || refuse("more tiers than 8");
}

bool configure(int count, char** arguments, unsigned cpus) {
  std::vector<std::string_view> tiers;
  std::string kinds_file;
  for (int i = 0; i < count; ++i) {
    const std::string_view argument = arguments[i];
    const std::size_t equals = argument.find('=');
    const std::string_view key = argument.substr(0, equals);
    const std::string_view value = argument.substr(equals + 1);
    if (key == "kinds") {
      kinds_file = value;
    } else if (key == "dilation") {
      plugin->dilation = std::strtod(std::string(value).c_str(), nullptr);
    } else if (key == "tier") {
      tiers.push_back(value);
    } else {
      return refuse("unknown argument " + std::string(argument));
    }
  }
  std::string error;
  if (!read_kinds(kinds_file, plugin->kinds, error)) return refuse(error);
  std::vector<MemoryKind> memories;
  for (const std::string_view tier : tiers) {
    if (!add_tier(tier, plugin->kinds, memories)) return false;
  }
  if (memories.empty()) return refuse("no tier= was given");

  plugin->tiers = std::make_unique<MemoryTier[]>(memories.size());
  const std::span<MemoryTier> all(plugin->tiers.get(), memories.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i].kind = memories[i];
  const CoreKind& core = plugin->kinds.core;
  plugin->ticks_per_ns = measure_ticks_per_ns();
  plugin->pace = std::make_unique<Pace>(
      cpus,
      static_cast<std::uint64_t>(kPatienceNanoseconds * plugin->ticks_per_ns));
  plugin->stream = std::make_unique<PerfStream>(core, all, cpus);
  plugin->queue = std::make_unique<SampleQueue>(*plugin->stream);
  for (unsigned cpu = 0; cpu < cpus; ++cpu) {
    plugin->cores.push_back(std::make_unique<Core>(
        cpu, core, all, *plugin->pace, plugin->periods, plugin->queue.get()));
  }
  auto* direct = new Core*[cpus];
  for (unsigned cpu = 0; cpu < cpus; ++cpu) {
    direct[cpu] = plugin->cores[cpu].get();
  }
  cores = direct;
  plugin->service = std::make_unique<ClockService>(
      Emulation{all, plugin->cores, plugin->periods, plugin->dilation,
                plugin->model, *plugin->stream, *plugin->queue, core});
  return true;
}

}  // namespace
}  // namespace thermocline

extern "C" {

[[gnu::visibility("default")]] int qemu_plugin_version = 1;

[[gnu::visibility("default")]] int qemu_plugin_install(QemuPluginId id,
                                                       const QemuInfo* info,
                                                       int count,
                                                       char** arguments) {
  using namespace thermocline;
  if (!info->system_emulation) return refuse("needs a whole machine"), 1;
  plugin = new Plugin;  // until QEMU ends
  const auto cpus = static_cast<unsigned>(info->system.smp_vcpus);
  if (!configure(count, arguments, cpus)) return 1;
  register_all(id);
  return 0;
}

}  // extern "C"
