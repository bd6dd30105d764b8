#include "tracer/perf_ring.h"

#include <linux/perf_event.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "tracer/perf_decoder.h"
#include "tracer/ring_records.h"

namespace thermocline {
namespace {

constexpr std::size_t kRingPages = 32;  // a power of two; besides the header's
constexpr std::uint64_t kFields = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP |
                                  PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                                  PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU |
                                  PERF_SAMPLE_PERIOD | PERF_SAMPLE_DATA_SRC;
constexpr Address kKernelHalf = Address{1} << 63;

int perf_event_open(perf_event_attr& attr, int thread, int cpu, int group) {
  return static_cast<int>(syscall(SYS_perf_event_open, &attr, thread, cpu,
                                  group, PERF_FLAG_FD_CLOEXEC));
}

Error why_not(const PerfEvent& event, int pid, int error) {
  const std::string what =
      "sampling " + event.name + " in process " + std::to_string(pid) + ": ";
  switch (error) {
    case EACCES:
    case EPERM:
      return permission(what + "not allowed; needs CAP_PERFMON, or one's own " +
                        "process and kernel.perf_event_paranoid <= 2");
    case ESRCH: return not_found("no process " + std::to_string(pid));
    case EMFILE:
      return io(what + "too many open files; raise the limit (ulimit -n)");
    case ENOENT:
    case ENODEV:
    case EOPNOTSUPP:
    case EINVAL:
    case ENXIO:
      return unsupported(what + "no PMU here that can; use --source " +
                         "stream:PATH or --source none");
    default: return io(what + std::strerror(error));
  }
}

perf_event_attr attributes(const PerfEvent& event) {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = event.type;
  attr.config = event.config;
  attr.config1 = event.config1;
  attr.config2 = event.config2;
  attr.sample_period = event.period;
  attr.sample_type = kFields | PERF_SAMPLE_WEIGHT_STRUCT;
  attr.inherit = 1;
  attr.exclude_kernel = !event.any_mode;
  attr.exclude_hv = !event.any_mode;
  attr.precise_ip = static_cast<unsigned>(event.precise) & 3;
  attr.use_clockid = 1;
  attr.clockid = CLOCK_MONOTONIC;
  attr.watermark = 1;
  attr.wakeup_watermark = kRingPages * 4096 / 4;
  return attr;
}

// Takes away what an older kernel or a lesser PMU may refuse, one thing at a
// time. Returns: false when nothing is left to take away.
bool degrade(perf_event_attr& attr, int wanted_precise) {
  if (attr.precise_ip > 0) {
    --attr.precise_ip;
    return true;
  }
  if ((attr.sample_type & PERF_SAMPLE_WEIGHT_STRUCT) == 0) return false;
  attr.sample_type ^= PERF_SAMPLE_WEIGHT_STRUCT | PERF_SAMPLE_WEIGHT;
  attr.precise_ip = static_cast<unsigned>(wanted_precise) & 3;
  return true;
}

std::vector<int> numbers_in(const std::string& folder) {
  std::vector<int> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const auto name = entry.path().filename().string();
    int number = 0;
    const auto [end, bad] =
        std::from_chars(name.data(), name.data() + name.size(), number);
    if (bad == std::errc() && *end == '\0') found.push_back(number);
  }
  std::sort(found.begin(), found.end());
  return found;
}

// "0-3,8": CPU numbers may have holes.
std::vector<int> online_cpus() {
  std::ifstream in("/sys/devices/system/cpu/online");
  std::vector<int> cpus;
  int first = 0;
  while (in >> first) {
    int last = first;
    if (in.peek() == '-') in.ignore() >> last;
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
    if (in.peek() == ',') in.ignore();
  }
  if (cpus.empty()) cpus.push_back(0);
  return cpus;
}

class Ring {
 public:
  static Result<Ring> map(int descriptor) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    void* const at = mmap(nullptr, page * (1 + kRingPages),
                          PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (at == MAP_FAILED && errno == EPERM) {
      return permission("ring buffers exceed kernel.perf_event_mlock_kb; " +
                        std::string("raise it, or run with CAP_IPC_LOCK"));
    }
    if (at == MAP_FAILED) {
      return io(std::string("mapping a ring buffer: ") + std::strerror(errno));
    }
    return Ring(static_cast<std::uint8_t*>(at), page);
  }
  Ring(Ring&& other) noexcept
      : base_(std::exchange(other.base_, nullptr)), page_(other.page_) {}
  Ring& operator=(Ring&&) = delete;
  ~Ring() {
    if (base_ != nullptr) munmap(base_, page_ * (1 + kRingPages));
  }

  void drain(PerfDecoder& decoder, std::vector<std::uint8_t>& scratch,
             SampleBatch& batch) {
    auto* const control = reinterpret_cast<perf_event_mmap_page*>(base_);
    // The barriers that the header asks for: see data before head, and be
    // done with it before it is given back.
    const auto head =
        std::atomic_ref(control->data_head).load(std::memory_order_acquire);
    const std::span<const std::uint8_t> data(base_ + page_, page_ * kRingPages);
    const bool whole = each_ring_record(
        data, control->data_tail, head, scratch,
        [&](const PerfHeader& header, std::span<const std::uint8_t> body) {
          decoder.take(header, body, batch);
        });
    if (!whole) ++batch.malformed;
    std::atomic_ref(control->data_tail).store(head, std::memory_order_release);
  }

 private:
  Ring(std::uint8_t* base, std::size_t page) : base_(base), page_(page) {}
  std::uint8_t* base_;
  std::size_t page_;
};

class PerfRing final : public Sampler {
 public:
  explicit PerfRing(int pid)
      : pid_(pid), waiter_(epoll_create1(EPOLL_CLOEXEC)) {}
  ~PerfRing() override {
    rings_.clear();
    for (const int descriptor : descriptors_) close(descriptor);
    if (process_ >= 0) close(process_);
    if (waiter_ >= 0) close(waiter_);
  }

  Status start(std::span<const PerfEvent> events) {
    process_ = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
    if (process_ < 0) return why_not(events[0], pid_, errno);
    watch(process_);
    cpus_ = online_cpus();
    const auto folder = "/proc/" + std::to_string(pid_) + "/task";
    // A thread that starts while we open is inherited only from one that is
    // open already: look again until there is no new one.
    std::set<int> known;
    for (bool more = true; more;) {
      more = false;
      for (const int thread : numbers_in(folder)) {
        if (!known.insert(thread).second) continue;
        more = true;
        auto status = open_thread(events, thread);
        if (!status) return status;
      }
    }
    if (rings_.empty()) return not_found("no process " + std::to_string(pid_));
    return {};
  }

  Result<SampleBatch> read(std::chrono::milliseconds timeout) override {
    std::array<epoll_event, 16> ready;
    const int count = epoll_wait(waiter_, ready.data(), ready.size(),
                                 static_cast<int>(timeout.count()));
    SampleBatch batch;
    for (int i = 0; i < count; ++i) {
      const auto& event = ready[static_cast<std::size_t>(i)];
      batch.ended = batch.ended || event.data.fd == process_;
    }
    for (auto& ring : rings_) ring.drain(decoder_, scratch_, batch);
    std::erase_if(batch.samples, [](const Sample& sample) {
      return sample.address >= kKernelHalf;
    });
    return batch;
  }
  int descriptor() const override { return waiter_; }
  std::string clock() const override { return "monotonic"; }
  std::string kind() const override { return "perf"; }
  bool unattributed() const override { return false; }

 private:
  void watch(int descriptor) const {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = descriptor;
    epoll_ctl(waiter_, EPOLL_CTL_ADD, descriptor, &event);
  }

  Status open_thread(std::span<const PerfEvent> events, int thread) {
    if (attrs_.empty()) {
      for (const auto& event : events) attrs_.push_back(attributes(event));
    }
    for (std::size_t i = 0; i < events.size(); ++i) {
      for (std::size_t cpu = 0; cpu < cpus_.size(); ++cpu) {
        auto status = open_one(events[i], i, thread, cpu);
        if (!status) return status;
      }
    }
    return {};
  }

  Status open_one(const PerfEvent& event, std::size_t index, int thread,
                  std::size_t cpu) {
    auto& attr = attrs_[index];
    int group = -1;
    if (event.auxiliary != 0) {
      auto leader = attr;
      leader.config = event.auxiliary;
      leader.config1 = 0;
      leader.sample_period = 0;  // it only counts
      group = perf_event_open(leader, thread, cpus_[cpu], -1);
      if (group >= 0) descriptors_.push_back(group);
    }
    int opened = -1;
    do {
      opened = perf_event_open(attr, thread, cpus_[cpu], group);
    } while (opened < 0 && (errno == EINVAL || errno == EOPNOTSUPP) &&
             degrade(attr, event.precise));
    if (opened < 0 && errno == ESRCH) return {};  // the thread has ended
    if (opened < 0) return why_not(event, pid_, errno);
    descriptors_.push_back(opened);
    std::uint64_t id = 0;
    if (ioctl(opened, PERF_EVENT_IOC_ID, &id) != 0) {
      return why_not(event, pid_, errno);
    }
    if (auto status = tell_decoder(index, id); !status) return status;
    return join_ring(event, opened, cpu);
  }

  // The decoder knows an event once, and the id of each of its descriptors.
  Status tell_decoder(std::size_t index, std::uint64_t id) {
    if (index < decoder_.events()) return decoder_.add_id(index, id);
    std::size_t size = 0;
    const auto& attr = attrs_[index];
    auto format = decode_attributes(
        {reinterpret_cast<const std::uint8_t*>(&attr), sizeof attr}, &size);
    if (!format) return format.error();
    return decoder_.add_event(*std::move(format), {&id, 1});
  }

  // The first event on a CPU brings the ring, the others write into it.
  Status join_ring(const PerfEvent& event, int descriptor, std::size_t cpu) {
    if (ring_owners_.size() <= cpu) ring_owners_.resize(cpu + 1, -1);
    if (ring_owners_[cpu] >= 0) {
      const int joined =
          ioctl(descriptor, PERF_EVENT_IOC_SET_OUTPUT, ring_owners_[cpu]);
      return joined == 0 ? Status() : why_not(event, pid_, errno);
    }
    auto ring = Ring::map(descriptor);
    if (!ring) return ring.error();
    rings_.push_back(*std::move(ring));
    ring_owners_[cpu] = descriptor;
    watch(descriptor);
    return {};
  }

  const int pid_;
  const int waiter_;
  int process_ = -1;
  std::vector<int> cpus_;
  std::vector<perf_event_attr> attrs_;  // as the kernel has taken them
  std::vector<int> descriptors_;
  std::vector<int> ring_owners_;
  std::vector<Ring> rings_;
  PerfDecoder decoder_;
  std::vector<std::uint8_t> scratch_;
};

}  // namespace

Result<std::unique_ptr<Sampler>> open_perf(std::span<const PerfEvent> events,
                                           int pid) {
  if (events.empty()) return invalid("no event to sample");
  auto sampler = std::make_unique<PerfRing>(pid);
  if (auto status = sampler->start(events); !status) return status.error();
  return std::unique_ptr<Sampler>(std::move(sampler));
}

}  // namespace thermocline
