#include "training/numa/solver_groups.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace thermocline {
namespace {

constexpr int kMostCpus = 1 << 20;

Error no_list(const std::string& text) {
  return corrupt("\"" + text + "\" is not a list of CPUs like 0-3,8");
}

}  // namespace

Result<std::vector<int>> read_cpu_list(const std::string& text) {
  std::vector<int> out;
  std::istringstream parts(text.substr(0, text.find('\n')));
  for (std::string part; std::getline(parts, part, ',');) {
    const char* const end = part.data() + part.size();
    int first = 0;
    auto read = std::from_chars(part.data(), end, first);
    int last = first;
    if (read.ec == std::errc() && read.ptr != end && *read.ptr == '-') {
      read = std::from_chars(read.ptr + 1, end, last);
    }
    const bool sound = read.ec == std::errc() && read.ptr == end &&
                       first >= 0 && first <= last && last < kMostCpus;
    if (!sound) return no_list(text);
    for (int cpu = first; cpu <= last; ++cpu) out.push_back(cpu);
  }
  return out;
}

std::vector<int> allowed_cpus() {
  std::vector<int> out;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return {0};
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(static_cast<std::size_t>(cpu), &set)) out.push_back(cpu);
  }
  return out;
}

Result<std::vector<NumaNode>> numa_nodes(const std::string& sys,
                                         const std::vector<int>& allowed) {
  if (allowed.empty()) return invalid("this process may use no CPU");
  std::vector<NumaNode> out;
  std::error_code none;
  const std::string root = sys + "/devices/system/node";
  for (const auto& entry : std::filesystem::directory_iterator(root, none)) {
    const auto name = entry.path().filename().string();
    int id = 0;
    const auto read =
        std::from_chars(name.data() + std::min<std::size_t>(4, name.size()),
                        name.data() + name.size(), id);
    if (name.rfind("node", 0) != 0 || read.ec != std::errc() ||
        read.ptr != name.data() + name.size()) {
      continue;
    }
    std::ifstream file(entry.path() / "cpulist");
    std::string text;
    std::getline(file, text);
    const auto cpus = read_cpu_list(text);
    if (!cpus) return cpus.error().within(entry.path().string());
    NumaNode node{id, {}};
    std::copy_if(cpus->begin(), cpus->end(), std::back_inserter(node.cpus),
                 [&](int cpu) {
                   return std::find(allowed.begin(), allowed.end(), cpu) !=
                          allowed.end();
                 });
    if (!node.cpus.empty()) out.push_back(std::move(node));
  }
  std::sort(out.begin(), out.end(),
            [](const NumaNode& a, const NumaNode& b) { return a.id < b.id; });
  if (out.empty()) out.push_back({0, allowed});
  return out;
}

// Largest remainder: each node its whole part, what is over to those that are
// furthest below their share.
std::vector<SolverGroup> solver_groups(const std::vector<NumaNode>& nodes,
                                       int solvers) {
  CHECK(!nodes.empty() && solvers >= 1);
  std::size_t cpus = 0;
  for (const auto& node : nodes) cpus += node.cpus.size();
  CHECK(cpus > 0);
  std::vector<SolverGroup> groups;
  int left = solvers;
  for (const auto& node : nodes) {
    const auto whole = static_cast<int>(static_cast<std::size_t>(solvers) *
                                        node.cpus.size() / cpus);
    groups.push_back({node, whole});
    left -= whole;
  }
  const auto below = [&](const SolverGroup& group) {
    return static_cast<double>(group.node.cpus.size()) * solvers /
               static_cast<double>(cpus) -
           group.solvers;
  };
  for (; left > 0; --left) {
    auto& next = *std::max_element(
        groups.begin(), groups.end(),
        [&](const auto& a, const auto& b) { return below(a) < below(b); });
    ++next.solvers;
  }
  std::erase_if(groups, [](const auto& group) { return group.solvers == 0; });
  return groups;
}

}  // namespace thermocline
