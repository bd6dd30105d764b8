#include "estimator/cache_bytes.h"

#include <filesystem>
#include <set>
#include <sstream>

#include "estimator/kernel_text.h"

namespace thermocline {
namespace {

// "32768K"
Bytes size_in(const std::filesystem::path& path) {
  std::istringstream in(slurp(path));
  Bytes size = 0;
  char unit = 0;
  in >> size >> unit;
  return size * (unit == 'K'   ? Bytes{1} << 10
                 : unit == 'M' ? Bytes{1} << 20
                               : 1);
}

}  // namespace

Bytes cache_bytes(const std::string& root, std::span<const int> cpus) {
  Bytes sum = 0;
  std::set<std::string> counted;  // "level, type, CPUs that share it"
  for (const int cpu : cpus) {
    const auto caches = std::filesystem::path(root) / "sys/devices/system/cpu" /
                        ("cpu" + std::to_string(cpu)) / "cache";
    for (int index = 0;; ++index) {
      const auto cache = caches / ("index" + std::to_string(index));
      const Bytes size = size_in(cache / "size");
      if (size == 0) break;
      const std::string type = slurp(cache / "type");
      if (type.rfind("Instruction", 0) == 0) continue;
      const bool first = counted
                             .insert(slurp(cache / "level") + type +
                                     slurp(cache / "shared_cpu_list"))
                             .second;
      if (first) sum += size;
    }
  }
  return sum;
}

}  // namespace thermocline
