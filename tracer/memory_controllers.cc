#include "tracer/memory_controllers.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <sstream>
#include <string_view>

#include "tracer/kernel_text.h"
#include "tracer/words.h"

namespace thermocline {
namespace {

constexpr double kLineBytes = 64;

// "0-3,8"
std::vector<int> numbers(const std::string& list) {
  std::vector<int> out;
  std::istringstream in(list);
  for (int first = 0; in >> first;) {
    int last = first;
    if (in.peek() == '-') in.ignore() >> last;
    for (int n = first; n <= last; ++n) out.push_back(n);
    if (in.peek() == ',') in.ignore();
  }
  return out;
}

std::vector<std::string> names_of(const std::string& folder,
                                  const std::string& prefix) {
  std::vector<std::string> out;
  std::error_code none;
  for (const auto& one : std::filesystem::directory_iterator(folder, none)) {
    const auto name = one.path().filename().string();
    if (name.starts_with(prefix)) out.push_back(name);
  }
  std::sort(out.begin(), out.end());
  return out;
}

// By node, the package that it belongs to, or is nearest to.
struct Packages {
  std::map<int, int> with_cpus;
  std::map<int, int> without;
};
Packages packages(const std::string& root) {
  const std::string system = root + "/sys/devices/system/";
  const auto nodes = numbers(first_line(system + "node/online"));
  const auto of = [&](int node, const char* what) {
    return first_line(system + "node/node" + std::to_string(node) + what);
  };
  Packages out;
  for (const int node : nodes) {
    const auto cpus = numbers(of(node, "/cpulist"));
    if (cpus.empty()) continue;
    read_number(first_line(system + "cpu/cpu" + std::to_string(cpus[0]) +
                           "/topology/physical_package_id"),
                out.with_cpus[node]);
  }
  for (const int node : nodes) {
    if (out.with_cpus.contains(node)) continue;
    std::istringstream far(of(node, "/distance"));
    int least = std::numeric_limits<int>::max(), distance = 0;
    for (const int other : nodes) {
      if (!(far >> distance)) break;
      if (distance >= least || !out.with_cpus.contains(other)) continue;
      least = distance;
      out.without[node] = out.with_cpus.at(other);
    }
  }
  return out;
}

// "event=0x04,umask=0x03", by the PMU's own word of where these belong
// ("config:8-15").
std::optional<std::uint64_t> encode(const std::string& pmu,
                                    std::string_view text) {
  std::uint64_t config = 0;
  while (!text.empty()) {
    const auto term = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), term.size() + 1));
    const auto key = std::string(term.substr(0, term.find('=')));
    std::uint64_t value = 1;  // a word alone is a flag
    if (key.size() < term.size() &&
        !read_number(term.substr(key.size() + 1), value)) {
      return {};
    }
    const auto format = first_line(pmu + "/format/" + key);
    std::string_view bits = format;
    if (!bits.starts_with("config:")) return {};
    bits.remove_prefix(7);
    unsigned low = 0;
    if (!read_number(bits.substr(0, bits.find('-')), low) || low > 63) {
      return {};
    }
    config |= value << low;
  }
  return config;
}

// Lines for each count, by the scale that sysfs gives; 1 where it gives none.
double lines_of(const std::string& event) {
  const auto scale = first_line(event + ".scale");
  const auto unit = first_line(event + ".unit");
  double value = 0;
  const auto [end, error] =
      std::from_chars(scale.data(), scale.data() + scale.size(), value);
  if (error != std::errc() || value <= 0) return 1;
  if (unit == "MiB") return value * (1 << 20) / kLineBytes;
  if (unit == "Bytes") return value / kLineBytes;
  return 1;
}

class Search {
 public:
  explicit Search(const std::string& root)
      : devices_(root + "/sys/bus/event_source/devices/"),
        cpus_(root + "/sys/devices/system/cpu/cpu"),
        packages_(packages(root)) {}

  std::vector<ControllerEvent> all() {
    for (const auto& pmu : names_of(devices_, "uncore_imc")) {
      described(pmu, "cas_count_read", "cas_count_write");
      if (out_.empty() || out_.back().pmu != pmu) continue;
      // unc_m_pmm_{rpq,wpq}_inserts (the kernel's tools/perf/pmu-events/arch/
      // x86/cascadelakex/uncore-memory.json).
      add(pmu, "event=0xe3", 1, false, true);
      add(pmu, "event=0xe7", 1, true, true);
    }
    // Of the small ones; the large ones have free running counters of the same
    // lines besides.
    if (out_.empty()) {
      for (const auto& pmu : names_of(devices_, "uncore_imc")) {
        described(pmu, "data_read", "data_write");
        described(pmu, "data_reads", "data_writes");
      }
    }
    for (const auto& pmu : names_of(devices_, "amd_umc")) {
      // umc_cas_cmd.{rd,wr} (there, amdzen4/memory-controller.json).
      add(pmu, "event=0xa,rdwrmask=0x1", 1, false, false);
      add(pmu, "event=0xa,rdwrmask=0x2", 1, true, false);
    }
    return std::move(out_);
  }

 private:
  void described(const std::string& pmu, const char* read, const char* write) {
    for (const char* name : {read, write}) {
      const auto event = devices_ + pmu + "/events/" + name;
      const auto text = first_line(event);
      if (!text.empty()) {
        add(pmu, text, lines_of(event), name == write, false);
      }
    }
  }

  // On each CPU that the PMU names: one a package.
  void add(const std::string& pmu, const std::string& text, double lines,
           bool write, bool durable) {
    ControllerEvent event;
    const auto config = encode(devices_ + pmu, text);
    if (!config ||
        !read_number(first_line(devices_ + pmu + "/type"), event.type)) {
      return;
    }
    event.pmu = pmu;
    event.config = *config;
    event.lines = lines;
    event.write = write;
    event.durable = durable;
    for (const int cpu : numbers(first_line(devices_ + pmu + "/cpumask"))) {
      event.cpu = cpu;
      int package = 0;
      read_number(first_line(cpus_ + std::to_string(cpu) +
                             "/topology/physical_package_id"),
                  package);
      event.nodes.clear();
      for (const auto& [node, of] :
           durable ? packages_.without : packages_.with_cpus) {
        if (of == package) event.nodes.push_back(node);
      }
      out_.push_back(event);
    }
  }

  const std::string devices_, cpus_;
  const Packages packages_;
  std::vector<ControllerEvent> out_;
};

}  // namespace

std::vector<ControllerEvent> controller_events(const std::string& root) {
  return Search(root).all();
}

}  // namespace thermocline
