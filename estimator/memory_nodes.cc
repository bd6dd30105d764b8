#include "estimator/memory_nodes.h"

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "estimator/kernel_text.h"

namespace thermocline {
namespace {

namespace fs = std::filesystem;

// "Node 0 MemTotal:       16335168 kB"
Bytes mem_total(const fs::path& meminfo) {
  const std::string text = slurp(meminfo);
  const auto at = text.find("MemTotal:");
  if (at == std::string::npos) return 0;
  std::istringstream in(text.substr(at + 9));
  Bytes kib = 0;
  in >> kib;
  return kib * 1024;
}

// access1 is as seen by the nearest CPUs, access0 by the nearest initiator of
// any sort, which may be a device; before Linux 5.10 there is only access0.
void read_hmat(const fs::path& directory, MemoryNode& node) {
  for (const char* const access : {"access1", "access0"}) {
    constexpr double kMiB = 1024 * 1024;
    const fs::path hmat = directory / access / "initiators";
    node.hmat_path = "sys/devices/system/node/" +
                     directory.filename().string() + "/" + access +
                     "/initiators";
    bool any = false;
    for (const Figure& figure : kFigures) {
      const double told = number_in(hmat / figure.hmat);
      if (!(told > 0)) continue;
      node.tier.*figure.value = figure.latency ? told : told * kMiB;
      (node.tier.origins.*figure.origin).obtained = Obtained::kHmat;
      any = true;
    }
    if (any) return;
  }
}

MemoryNode read_node(const fs::path& directory, int id,
                     const std::vector<int>& online) {
  MemoryNode node;
  node.id = id;
  node.cpus = parse_list(slurp(directory / "cpulist"), kMostCpus);
  node.tier.nodes = {id};
  node.tier.capacity = mem_total(directory / "meminfo");
  std::istringstream distances(slurp(directory / "distance"));
  for (const int other : online) {
    int distance = 0;
    if (distances >> distance) node.distance[other] = distance;
  }
  read_hmat(directory, node);
  return node;
}

// From memory_tiering where the kernel has it (memory_tierN, lower N is
// faster).
std::map<int, int> kernel_ranks(const fs::path& root) {
  std::map<int, int> ranks;
  std::error_code ignored;
  const fs::path tiering = root / "sys/devices/virtual/memory_tiering";
  for (const auto& entry : fs::directory_iterator(tiering, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.rfind("memory_tier", 0) != 0) continue;
    std::istringstream digits(name.substr(11));
    int rank = 0;
    if (!(digits >> rank)) continue;
    for (int node : parse_list(slurp(entry.path() / "nodelist"), kMostNodes)) {
      ranks[node] = rank;
    }
  }
  return ranks;
}

// Else: nodes with CPUs first, the others by their least distance to one.
int distance_rank(const MemoryNode& node,
                  const std::vector<MemoryNode>& nodes) {
  if (!node.cpus.empty()) return 0;
  int least = 255;
  for (const MemoryNode& other : nodes) {
    const auto at = node.distance.find(other.id);
    if (!other.cpus.empty() && at != node.distance.end()) {
      least = std::min(least, at->second);
    }
  }
  return least;
}

}  // namespace

std::vector<MemoryNode> read_memory_nodes(const std::string& root) {
  const fs::path base = fs::path(root.empty() ? "/" : root);
  const fs::path directory = base / "sys/devices/system/node";
  const auto online = parse_list(slurp(directory / "online"), kMostNodes);
  std::vector<MemoryNode> nodes;
  for (const int id : online) {
    const fs::path of_node = directory / ("node" + std::to_string(id));
    nodes.push_back(read_node(of_node, id, online));
  }
  const auto ranks = kernel_ranks(base);
  for (MemoryNode& node : nodes) {
    const auto known = ranks.find(node.id);
    // A node the kernel has put in no tier yet goes last.
    constexpr int kLast = 1 << 20;
    node.rank = ranks.empty()          ? distance_rank(node, nodes)
                : known == ranks.end() ? kLast
                                       : known->second;
  }
  return nodes;
}

}  // namespace thermocline
