#include "daemon/children.h"

#include <algorithm>
#include <sstream>
#include <string>

namespace thermocline {

std::vector<int> children_of(Kernel& kernel, int pid, std::size_t& left) {
  std::vector<int> out;
  const std::string tasks = "proc/" + std::to_string(pid) + "/task";
  const auto threads = kernel.list(tasks);
  if (!threads) return out;
  for (const auto& thread : *threads) {
    if (left == 0) break;
    --left;
    const auto text = kernel.read_file(tasks + "/" + thread + "/children");
    if (!text) continue;
    std::istringstream words(*text);
    for (int child = 0; words >> child;) out.push_back(child);
  }
  std::ranges::sort(out);
  return out;
}

}  // namespace thermocline
