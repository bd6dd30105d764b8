// Machine::from_kernel: the tiers that NUMA nodes make.
#include <algorithm>
#include <filesystem>
#include <map>
#include <sstream>

#include "estimator/kernel_text.h"
#include "estimator/machine.h"
#include "estimator/memory_nodes.h"
#include "estimator/tier_order.h"

namespace thermocline {
namespace {

namespace fs = std::filesystem;

// Nodes of a tier add up in capacity and bandwidth; the first whose latency is
// known gives the latency, and the first of all says where figures are from.
void add_node(Tier& tier, const Tier& node) {
  tier.capacity += node.capacity;
  tier.nodes.push_back(node.nodes.front());
  for (const Figure& figure : kFigures) {
    double& sum = tier.*figure.value;
    if (sum == 0) tier.origins.*figure.origin = node.origins.*figure.origin;
    sum = figure.latency && sum > 0 ? sum : sum + node.*figure.value;
  }
}

bool has_cpus(const Tier& tier, const std::vector<MemoryNode>& nodes) {
  return std::any_of(nodes.begin(), nodes.end(), [&](const MemoryNode& node) {
    return !node.cpus.empty() && std::find(tier.nodes.begin(), tier.nodes.end(),
                                           node.id) != tier.nodes.end();
  });
}

// "dram" is where the CPUs are, with its node's number if there are several;
// above it "fast", below it "slow", numbered when there are several.
void name_tiers(std::vector<Tier>& tiers,
                const std::vector<MemoryNode>& nodes) {
  std::vector<bool> with_cpus;
  for (const Tier& tier : tiers) with_cpus.push_back(has_cpus(tier, nodes));
  auto first = std::find(with_cpus.begin(), with_cpus.end(), true);
  if (first == with_cpus.end()) first = with_cpus.begin(), *first = true;
  const bool alone = std::count(first, with_cpus.end(), true) == 1;
  auto fast = first - with_cpus.begin();
  std::ptrdiff_t slow = 0;
  for (std::size_t t = 0; t < tiers.size(); ++t) {
    std::string& name = tiers[t].name;
    if (with_cpus[t]) {
      name = "dram";
      if (!alone) name += std::to_string(tiers[t].nodes.front());
      continue;
    }
    const bool above = slow == 0 && fast > 0;
    const auto step = above ? fast-- : ++slow;
    name = above ? "fast" : "slow";
    if (step > 1) name += std::to_string(step);
  }
}

double clock_rate(const fs::path& root) {
  const double khz = number_in(root / "sys/devices/system/cpu/cpu0/cpufreq" /
                               "base_frequency");
  if (khz > 0) return khz / 1e6;
  const std::string info = slurp(root / "proc/cpuinfo");
  const auto at = info.find("cpu MHz");
  if (at == std::string::npos) return 1;
  const auto colon = info.find(':', at);
  if (colon == std::string::npos) return 1;
  std::istringstream in(info.substr(colon + 1));
  double mhz = 0;
  in >> mhz;
  return mhz > 0 ? mhz / 1e3 : 1;
}

std::string host_name(const fs::path& root) {
  std::string name = slurp(root / "sys/devices/virtual/dmi/id/product_name");
  while (!name.empty() && name.back() == '\n') name.pop_back();
  return name.empty() ? "this machine" : name;
}

}  // namespace

Result<Machine> machine_of(const std::string& root,
                           const std::vector<MemoryNode>& nodes,
                           Grouping grouping) {
  const fs::path base = fs::path(root.empty() ? "/" : root);
  // By rank, and by node where each is a tier; fastest first.
  std::map<std::pair<int, int>, Tier> groups;
  int cpus = 0;
  for (const MemoryNode& node : nodes) {
    cpus += static_cast<int>(node.cpus.size());
    if (node.tier.capacity == 0) continue;
    const int own = grouping == Grouping::kByNode ? node.id : 0;
    add_node(groups[{node.rank, own}], node.tier);
  }
  if (groups.empty()) {
    return unsupported("no NUMA node with memory under " +
                       (base / "sys/devices/system/node").string() +
                       "; describe the machine in a file instead");
  }
  Machine machine;
  machine.name = host_name(base);
  machine.cpus = std::max(cpus, 1);
  machine.cycles_per_ns = clock_rate(base);
  for (auto& [rank, tier] : groups) machine.tiers.push_back(std::move(tier));
  if (!contradiction(machine.tiers).empty()) put_fastest_first(machine.tiers);
  name_tiers(machine.tiers, nodes);
  return machine;
}

Result<Machine> Machine::from_kernel(const std::string& root) {
  return machine_of(root, read_memory_nodes(root), Grouping::kByRank);
}

}  // namespace thermocline
