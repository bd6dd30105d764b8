#include "daemon/node_memory.h"

#include "daemon/zone_info.h"
#include "tracer/words.h"

namespace thermocline {
namespace {

constexpr const char* kZones = "proc/zoneinfo";

// `zones`: the text of kZones, which tells of all nodes.
Result<NodeMemory> node_in(Kernel& kernel, int node,
                           const Result<std::string>& zones) {
  const std::string path =
      "sys/devices/system/node/node" + std::to_string(node) + "/meminfo";
  const auto text = kernel.read_file(path);
  if (!text) return text.error();
  auto memory = parse_node_memory(*text);
  if (!memory) return memory.error().within(path);
  const auto usable = zones ? usable_free_bytes(*zones, node) : std::nullopt;
  memory->free = usable.value_or(memory->free);
  return memory;
}

Result<NodeMemory> sum_over_nodes(Kernel& kernel, const Tier& tier,
                                  const Result<std::string>& zones) {
  NodeMemory sum;
  for (const int node : tier.nodes) {
    const auto memory = node_in(kernel, node, zones);
    if (!memory) return memory.error();
    sum.total += memory->total;
    sum.free += memory->free;
    sum.inactive_file += memory->inactive_file;
  }
  return sum;
}

}  // namespace

Result<NodeMemory> parse_node_memory(std::string_view text) {
  // "Node 0 MemTotal:       16303428 kB"
  NodeMemory out;
  int found = 0;
  while (!text.empty()) {
    auto line = take_line(text);
    take_word(line);  // "Node"
    take_word(line);
    const auto key = take_word(line);
    Bytes kilobytes = 0;
    const auto take = [&](std::string_view name, Bytes& into) {
      if (key != name || !read_number(take_word(line), 10, kilobytes)) return;
      into = kilobytes * 1024;
      ++found;
    };
    take("MemTotal:", out.total);
    take("MemFree:", out.free);
    take("Inactive(file):", out.inactive_file);
  }
  if (found < 2) return corrupt("no MemTotal and MemFree in a node's meminfo");
  return out;
}

Result<NodeMemory> node_memory(Kernel& kernel, int node) {
  return node_in(kernel, node, kernel.read_file(kZones));
}

std::vector<Result<NodeMemory>> tier_memory(Kernel& kernel,
                                            const Machine& machine) {
  const auto zones = kernel.read_file(kZones);
  std::vector<Result<NodeMemory>> out;
  for (const auto& tier : machine.tiers) {
    out.push_back(sum_over_nodes(kernel, tier, zones));
  }
  return out;
}

}  // namespace thermocline
