// Machine::from_kernel: NUMA nodes as sysfs shows them.
// Documentation/ABI/stable/sysfs-devices-node (access0/initiators: MiB/s and
// nanoseconds), Documentation/ABI/testing/sysfs-kernel-mm-memory-tiers.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include "estimator/machine.h"

namespace thermocline {
namespace {

namespace fs = std::filesystem;

constexpr int kMostNodes = 1024;  // CONFIG_NODES_SHIFT is at most 10

struct Node {
  int id = 0;
  int cpus = 0;
  Bytes bytes = 0;
  std::vector<int> distance;  // by position among the online nodes
  double read_ns = 0;
  double write_ns = 0;
  double read_bytes_per_s = 0;
  double write_bytes_per_s = 0;
};

std::string slurp(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

double number(const fs::path& path) {
  std::istringstream text(slurp(path));
  double value = 0;
  text >> value;
  return text ? value : 0;
}

// "0-3,8" -> {0, 1, 2, 3, 8}; stops at what it does not understand.
std::vector<int> parse_list(const std::string& text, int limit) {
  std::vector<int> out;
  std::istringstream in(text);
  int low = 0;
  while (in >> low) {
    int high = low;
    if (in.peek() == '-') {
      in.get();
      if (!(in >> high)) break;
    }
    for (int i = low; i <= high && i < limit; ++i) out.push_back(i);
    if (in.get() != ',') break;
  }
  return out;
}

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

Node read_node(const fs::path& directory, int id) {
  Node node;
  node.id = id;
  node.cpus = static_cast<int>(
      parse_list(slurp(directory / "cpulist"), 1 << 20).size());
  node.bytes = mem_total(directory / "meminfo");
  std::istringstream distances(slurp(directory / "distance"));
  for (int d = 0; distances >> d;) node.distance.push_back(d);
  constexpr double kMiB = 1024 * 1024;
  const fs::path hmat = directory / "access0" / "initiators";
  node.read_ns = number(hmat / "read_latency");
  node.write_ns = number(hmat / "write_latency");
  node.read_bytes_per_s = number(hmat / "read_bandwidth") * kMiB;
  node.write_bytes_per_s = number(hmat / "write_bandwidth") * kMiB;
  return node;
}

// The order of a node among tiers; lower is faster. From memory_tiering where
// the kernel has it (memory_tierN, lower N is faster).
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
std::map<int, int> distance_ranks(const std::vector<Node>& nodes) {
  std::map<int, int> ranks;
  for (const Node& node : nodes) {
    int least = node.cpus > 0 ? 0 : 255;
    for (std::size_t i = 0; i < nodes.size() && node.cpus == 0; ++i) {
      if (nodes[i].cpus > 0 && i < node.distance.size()) {
        least = std::min(least, node.distance[i]);
      }
    }
    ranks[node.id] = least;
  }
  return ranks;
}

// HMAT gives a path's figures. Nodes of a tier add up in bandwidth; the first
// that is known gives the latency.
void add_node(Tier& tier, const Node& node) {
  tier.nodes.push_back(node.id);
  tier.capacity += node.bytes;
  if (tier.read_ns == 0) tier.read_ns = node.read_ns;
  if (tier.write_ns == 0) tier.write_ns = node.write_ns;
  tier.read_bytes_per_s += node.read_bytes_per_s;
  tier.write_bytes_per_s += node.write_bytes_per_s;
}

// "dram" is where the CPUs are; above it "fast", below it "slow", numbered
// when there are several.
void name_tiers(std::vector<Tier>& tiers, const std::vector<bool>& has_cpus) {
  const auto first = std::find(has_cpus.begin(), has_cpus.end(), true);
  const auto dram = first == has_cpus.end() ? 0 : first - has_cpus.begin();
  const auto count = static_cast<std::ptrdiff_t>(tiers.size());
  for (std::ptrdiff_t t = 0; t < count; ++t) {
    const std::ptrdiff_t step = t < dram ? dram - t : t - dram;
    const std::string word = t < dram ? "fast" : "slow";
    tiers[static_cast<std::size_t>(t)].name =
        t == dram ? "dram" : (step == 1 ? word : word + std::to_string(step));
  }
}

double clock_rate(const fs::path& root) {
  const double khz =
      number(root / "sys/devices/system/cpu/cpu0/cpufreq" / "base_frequency");
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

std::vector<Node> read_nodes(const fs::path& directory) {
  std::vector<Node> nodes;
  for (int id : parse_list(slurp(directory / "online"), kMostNodes)) {
    nodes.push_back(read_node(directory / ("node" + std::to_string(id)), id));
  }
  return nodes;
}

}  // namespace

Result<Machine> Machine::from_kernel(const std::string& root) {
  const fs::path base = fs::path(root.empty() ? "/" : root);
  const fs::path directory = base / "sys/devices/system/node";
  const auto nodes = read_nodes(directory);
  const auto from_kernel = kernel_ranks(base);
  const auto by_distance = distance_ranks(nodes);

  std::map<int, std::vector<const Node*>> groups;  // by rank, fastest first
  int cpus = 0;
  for (const Node& node : nodes) {
    cpus += node.cpus;
    if (node.bytes == 0) continue;
    const auto known = from_kernel.find(node.id);
    // A node the kernel has put in no tier yet goes last.
    const int last = 1 << 20;
    groups[from_kernel.empty()          ? by_distance.at(node.id)
           : known == from_kernel.end() ? last
                                        : known->second]
        .push_back(&node);
  }
  if (groups.empty()) {
    return unsupported("no NUMA node with memory under " + directory.string() +
                       "; describe the machine in a file instead");
  }

  Machine machine;
  machine.name = host_name(base);
  machine.cpus = std::max(cpus, 1);
  machine.cycles_per_ns = clock_rate(base);
  std::vector<bool> has_cpus;
  for (const auto& [rank, members] : groups) {
    Tier tier;
    for (const Node* node : members) add_node(tier, *node);
    has_cpus.push_back(std::any_of(members.begin(), members.end(),
                                   [](const Node* n) { return n->cpus > 0; }));
    machine.tiers.push_back(std::move(tier));
  }
  name_tiers(machine.tiers, has_cpus);
  return machine;
}

}  // namespace thermocline
