#include "daemon/probe_plan.h"

#include <algorithm>

#include "daemon/cgroup_memory.h"
#include "daemon/node_memory.h"
#include "daemon/probe_passes.h"
#include "daemon/units.h"
#include "daemon/zone_info.h"
#include "estimator/cache_bytes.h"

namespace thermocline {
namespace {

constexpr Bytes kMiB = Bytes{1} << 20;

// A walk through twice the caches still hits them now and then; four times,
// hardly ever. Where the kernel tells of no caches, as much as a server's.
constexpr Bytes kTimesCaches = 4;
constexpr Bytes kLeastTimesCaches = 2;
constexpr Bytes kLeast = 16 * kMiB;
constexpr Bytes kAssumedCaches = 32 * kMiB;

Bytes in_whole_mib(Bytes bytes) { return bytes / kMiB * kMiB; }

std::string show(Bytes bytes) { return show_bytes(static_cast<double>(bytes)); }

std::vector<int> common(const std::vector<int>& cpus,
                        const std::vector<int>& allowed) {
  std::vector<int> out;
  for (const int cpu : cpus) {
    if (std::find(allowed.begin(), allowed.end(), cpu) != allowed.end()) {
      out.push_back(cpu);
    }
  }
  return out;
}

// The node whose CPUs are to measure `node`: the nearest with any.
const MemoryNode* nearest(const std::vector<MemoryNode>& nodes,
                          const MemoryNode& node,
                          const std::vector<int>& allowed) {
  const MemoryNode* best = nullptr;
  int least = 0;
  for (const MemoryNode& other : nodes) {
    if (common(other.cpus, allowed).empty()) continue;
    const auto at = node.distance.find(other.id);
    const int distance = other.id == node.id         ? 0
                         : at == node.distance.end() ? 255
                                                     : at->second;
    if (best != nullptr && distance >= least) continue;
    best = &other;
    least = distance;
  }
  return best;
}

Status choose_cpus(const std::vector<MemoryNode>& nodes, const MemoryNode& node,
                   const std::vector<int>& allowed, std::size_t threads,
                   NodePlan& plan) {
  const MemoryNode* from = nearest(nodes, node, allowed);
  // Without NUMA nodes' CPU lists there are still CPUs.
  plan.cpus = from == nullptr ? allowed : common(from->cpus, allowed);
  if (plan.cpus.empty()) return unsupported("no CPU to run on");
  if (from != nullptr && from->id != node.id && !node.cpus.empty()) {
    plan.notes.push_back("measured from the CPUs of node " +
                         std::to_string(from->id) +
                         ": this process may not use its own");
  }
  if (threads > plan.cpus.size()) {
    return invalid("--threads " + std::to_string(threads) + ": node " +
                   std::to_string(node.id) + " is measured from " +
                   std::to_string(plan.cpus.size()) +
                   " CPUs, one thread each; give no more");
  }
  if (threads > 0) plan.cpus.resize(threads);
  return {};
}

Status choose_bytes(Bytes room, const ProbeOptions& options, NodePlan& plan) {
  const Bytes least = std::max(kLeast, kLeastTimesCaches * plan.caches);
  const Bytes best = std::max(kLeast, kTimesCaches * plan.caches);
  const std::string node = "node " + std::to_string(plan.node);
  const std::string can = node + " can spare " + show(room) +
                          " for measuring, half of what is free there";
  plan.bytes = options.size;
  if (options.size > room) {
    return unsupported("--size " + show(options.size) + ": " + can +
                       "; choose less, or free memory");
  }
  if (options.size > 0) {
    plan.bytes = std::max(in_whole_mib(options.size), kMiB);
    plan.least = plan.bytes;
    if (plan.bytes < kPassGrain * plan.cpus.size()) {
      return invalid("--size " + show(plan.bytes) + ": too little for " +
                     std::to_string(plan.cpus.size()) + " threads on node " +
                     std::to_string(plan.node) + ", which take " +
                     show(kPassGrain) + " each; give more, or fewer --threads");
    }
    if (plan.bytes < least) {
      plan.notes.push_back(show(plan.bytes) +
                           " are less than twice the caches (" +
                           show(plan.caches) + "): figures are partly theirs");
    }
    return {};
  }
  plan.bytes = options.quick ? least : best;
  plan.least = least;
  if (plan.bytes <= room) return {};
  if (in_whole_mib(room) < least) {
    return unsupported(can + "; " + show(least) + " are needed to miss the " +
                       show(plan.caches) +
                       " of caches: free memory, leave the node out (--nodes), "
                       "or use fewer --threads");
  }
  plan.bytes = in_whole_mib(room);
  plan.notes.push_back(can + ": less than the wanted " + show(best) +
                       ", so a few accesses may hit the caches");
  return {};
}

const MemoryNode* find(const std::vector<MemoryNode>& nodes, int id) {
  for (const MemoryNode& node : nodes) {
    if (node.id == id && node.tier.capacity > 0) return &node;
  }
  return nullptr;
}

}  // namespace

Result<std::vector<int>> chosen_nodes(const std::vector<MemoryNode>& nodes,
                                      const ProbeOptions& options) {
  std::vector<int> all;
  std::string names;
  for (const MemoryNode& node : nodes) {
    if (node.tier.capacity == 0) continue;
    all.push_back(node.id);
    names += (names.empty() ? "" : ", ") + std::to_string(node.id);
  }
  if (all.empty()) {
    return unsupported(
        "the kernel shows no NUMA node with memory "
        "(/sys/devices/system/node); describe the machine in a file instead");
  }
  if (options.nodes.empty()) return all;
  std::vector<int> chosen = options.nodes;
  std::sort(chosen.begin(), chosen.end());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  for (const int id : chosen) {
    if (find(nodes, id) == nullptr) {
      return invalid("--nodes: node " + std::to_string(id) +
                     " has no memory here; those that have: " + names);
    }
  }
  return chosen;
}

Result<Bytes> room_on(Kernel& kernel, int node) {
  const std::string path =
      "sys/devices/system/node/node" + std::to_string(node) + "/meminfo";
  const auto text = kernel.read_file(path);
  if (!text) return text.error();
  const auto memory = parse_node_memory(*text);
  if (!memory) return memory.error().within(path);
  const auto zones = kernel.read_file("proc/zoneinfo");
  const auto usable = zones ? usable_free_bytes(*zones, node) : std::nullopt;
  // Of page cache that nobody uses, the kernel gives some without pain.
  Bytes free = usable.value_or(memory->free) + memory->inactive_file / 2;
  if (const auto allowed = cgroup_room(kernel)) free = std::min(free, *allowed);
  return free / 2;
}

Result<NodePlan> plan_node(Kernel& kernel, const std::string& root,
                           const std::vector<MemoryNode>& nodes, int node,
                           const std::vector<int>& allowed,
                           const ProbeOptions& options) {
  const MemoryNode* const found = find(nodes, node);
  CHECK(found != nullptr);
  NodePlan plan;
  plan.node = node;
  if (auto ok = choose_cpus(nodes, *found, allowed, options.threads, plan);
      !ok) {
    return ok.error();
  }
  plan.caches = cache_bytes(root, plan.cpus);
  if (plan.caches == 0) {
    plan.caches = kAssumedCaches;
    plan.notes.push_back(
        "the kernel does not tell the caches' size; taken as " +
        show(plan.caches));
  }
  const auto room = room_on(kernel, node);
  if (!room) return room.error();
  if (auto ok = choose_bytes(*room, options, plan); !ok) return ok.error();
  return plan;
}

}  // namespace thermocline
