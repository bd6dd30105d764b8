#include "daemon/pressure.h"

#include <sstream>

#include "daemon/cgroup_memory.h"

namespace thermocline {
namespace {

bool waits(Kernel& kernel, const std::string& path, double most) {
  const auto text = kernel.read_file(path);
  if (!text) return false;
  const auto now = pressure_in(*text);
  return now && *now > most;
}

bool nearly_out(Kernel& kernel, double margin) {
  const auto text = kernel.read_file("proc/meminfo");
  if (!text) return false;
  std::istringstream lines(*text);
  std::optional<double> total;
  std::optional<double> available;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string key;
    double kilobytes = 0;
    if (!(words >> key >> kilobytes)) continue;
    if (key == "MemTotal:") total = kilobytes;
    if (key == "MemAvailable:") available = kilobytes;
  }
  return total && available && *available < margin * *total;
}

}  // namespace

std::optional<double> pressure_in(const std::string& text) {
  // "some avg10=0.12 avg60=0.00 avg300=0.00 total=1234"
  std::istringstream words(text);
  std::string some;
  std::string average;
  if (!(words >> some >> average) || some != "some") return std::nullopt;
  const auto equals = average.find('=');
  if (equals == std::string::npos) return std::nullopt;
  std::istringstream number(average.substr(equals + 1));
  double value = 0;
  if (!(number >> value)) return std::nullopt;
  return value;
}

Refusal system_pressure(Kernel& kernel, const PressureOptions& options) {
  if (options.waiting > 0 &&
      waits(kernel, "proc/pressure/memory", options.waiting)) {
    return Refusal::kPressure;
  }
  if (options.margin > 0 && nearly_out(kernel, options.margin)) {
    return Refusal::kOomMargin;
  }
  return Refusal::kNone;
}

Refusal target_pressure(Kernel& kernel, int pid, Refusal system,
                        const PressureOptions& options) {
  if (options.waiting <= 0 || system == Refusal::kPressure) return system;
  const auto group = cgroup_of(kernel, std::to_string(pid));
  return group.size() > 1 &&
                 waits(kernel, "sys/fs/cgroup" + group + "/memory.pressure",
                       options.waiting)
             ? Refusal::kPressure
             : system;
}

}  // namespace thermocline
