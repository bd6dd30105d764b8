#include "daemon/probe.h"

#include <sched.h>

#include <algorithm>
#include <filesystem>

#include "daemon/device_node.h"
#include "daemon/units.h"

namespace thermocline {
namespace {

constexpr double kMostApart = 2;  // measured and declared

// Of less memory than this the caches hold a part that counts.
constexpr Bytes kTimesCaches = 2;

// Below this share of the CPUs' time, bandwidth is somebody else's, too.
constexpr double kIdle = 0.95;

// What only the emulated machine has.
constexpr const char* kEmulatorsClock = "/dev/virtio-ports/thermocline.clock";

std::vector<int> allowed_cpus() {
  // Larger than any kernel's own set, which it must not be smaller than.
  std::vector<cpu_set_t> sets(64);
  const std::size_t bytes = sets.size() * sizeof sets[0];
  std::vector<int> cpus;
  if (::sched_getaffinity(0, bytes, sets.data()) != 0) return cpus;
  for (std::size_t cpu = 0; cpu < bytes * 8; ++cpu) {
    if (CPU_ISSET_S(cpu, bytes, sets.data())) {
      cpus.push_back(static_cast<int>(cpu));
    }
  }
  return cpus;
}

std::string name_of(int node) { return "node " + std::to_string(node); }

// Nodes that are not asked for keep their CPUs, but are no tier.
Result<std::vector<MemoryNode>> nodes_of(const std::string& root,
                                         const ProbeOptions& options) {
  auto nodes = read_memory_nodes(root);
  const auto chosen = chosen_nodes(nodes, options);
  if (!chosen) return chosen.error();
  for (MemoryNode& node : nodes) {
    if (std::find(chosen->begin(), chosen->end(), node.id) == chosen->end()) {
      node.tier.capacity = 0;
    }
  }
  return nodes;
}

// The nodes in the order in which the machine has them.
void put_in_order(ProbeReport& report) {
  const auto place = [&](const ProbedNode& node) {
    return report.machine.tier_of_node(node.declared.id);
  };
  std::stable_sort(report.nodes.begin(), report.nodes.end(),
                   [&](const ProbedNode& a, const ProbedNode& b) {
                     return place(a) < place(b);
                   });
}

std::string show_figure(const Figure& figure, double value) {
  char text[32];
  std::snprintf(text, sizeof text, figure.latency ? "%.0f ns" : "%.1f GB/s",
                figure.latency ? value : value / 1e9);
  return text;
}

std::string busy_note(const NodeFigures& figures) {
  if (figures.ran >= kIdle) return {};
  char text[160];
  std::snprintf(text, sizeof text,
                "other work had the CPUs for %.0f %% of the time: bandwidth is "
                "too low; measure again while the machine is idle",
                100 * (1 - figures.ran));
  return text;
}

// What the time did not suffice for.
std::string short_note(const NodePlan& plan, const NodeFigures& figures) {
  if (figures.through >= plan.bytes) return {};
  return "measured in " + show_bytes(static_cast<double>(figures.through)) +
         " instead of " + show_bytes(static_cast<double>(plan.bytes)) +
         ": taking more was too slow; give more --time";
}

std::string threads_of(const NodePlan& plan) {
  const std::size_t threads = plan.cpus.size();
  return std::to_string(threads) + (threads == 1 ? " thread" : " threads");
}

// From the CPUs nearest to what it lies on; where nobody knows, as the first
// node.
const NodePlan& plan_of_place(const ProbeReport& report,
                              const std::string& path) {
  const auto node = node_of_path("/", path);
  for (const ProbedNode& one : report.nodes) {
    if (one.declared.id == node) return *one.plan;
  }
  return *report.nodes.front().plan;
}

void plan_all(const ProbeReport& report, const ProbeOptions& options,
              ProbePace& pace) {
  for (const ProbedNode& node : report.nodes) {
    pace.plan(weight_of_node());
    if (options.operations) pace.plan(weight_of_node_operations(*node.plan));
  }
  for (const std::string& folder : options.folders) {
    pace.plan(weight_of_file_operations(plan_of_place(report, folder)));
  }
}

Status probe_operations(Kernel& kernel, const ProbeOptions& options,
                        ProbePace& pace, ProbeReport& report) {
  for (const ProbedNode& node : report.nodes) {
    if (!options.operations) break;
    const std::string name = name_of(node.declared.id);
    pace.enter(name);
    auto found = measure_node_operations(kernel, *node.plan, options, pace);
    if (!found) return found.error().within(name);
    report.places.push_back(*std::move(found));
  }
  for (const std::string& folder : options.folders) {
    pace.enter(folder);
    auto found = measure_file_operations(folder, plan_of_place(report, folder),
                                         options, pace);
    if (!found) return found.error();
    report.places.push_back(*std::move(found));
  }
  return {};
}

}  // namespace

void set_figures(const NodePlan& plan, const NodeFigures& figures, Tier& tier) {
  const auto set = [&](double Tier::*value, Origin Origins::*origin,
                       const Measured& found, const std::string& how,
                       Bytes bytes) {
    tier.*value = found.median;
    tier.origins.*
        origin = {Obtained::kMeasured, found.spread,
                  how + ", " + show_bytes(static_cast<double>(bytes)) +
                      (figures.through < kTimesCaches * plan.caches
                           ? ", partly in the caches"
                           : "")};
  };
  set(&Tier::read_ns, &Origins::read_ns, figures.read_ns,
      "pointer chase, 1 thread", figures.chased);
  set(&Tier::read_bytes_per_s, &Origins::read_bytes_per_s,
      figures.read_bytes_per_s, "loads in order, " + threads_of(plan),
      figures.through);
  const auto& around = figures.write_around_bytes_per_s;
  const bool past = around && around->median > figures.write_bytes_per_s.median;
  set(&Tier::write_bytes_per_s, &Origins::write_bytes_per_s,
      past ? *around : figures.write_bytes_per_s,
      (past ? "non-temporal stores, " : "ordinary stores, ") + threads_of(plan),
      figures.through);
  tier.write_ns = tier.read_ns;
  tier.origins.write_ns = {Obtained::kAssumed, figures.read_ns.spread,
                           "as read_ns: a store that misses reads its line"};
}

std::vector<std::string> disagreements(const Tier& measured,
                                       const Tier& declared) {
  std::vector<std::string> out;
  for (const Figure& figure : kFigures) {
    const double one = measured.*figure.value;
    const double other = declared.*figure.value;
    if (one <= 0 || other <= 0) continue;
    if (std::max(one, other) <= kMostApart * std::min(one, other)) continue;
    const std::string word =
        word_of((measured.origins.*figure.origin).obtained);
    out.push_back(std::string(figure.name) + ": " + word + " " +
                  show_figure(figure, one) + ", but the firmware (HMAT) says " +
                  show_figure(figure, other));
  }
  return out;
}

Result<ProbeReport> probe_measured(const ProbeOptions& options,
                                   ProbePace& pace) {
  const std::string root = "/";
  auto nodes = nodes_of(root, options);
  if (!nodes) return nodes.error();
  const auto allowed = allowed_cpus();
  const auto kernel = open_kernel(root);
  ProbeReport report;
  // All plans first: better refused now than after minutes.
  for (const MemoryNode& node : *nodes) {
    if (node.tier.capacity == 0) continue;
    auto plan = plan_node(*kernel, root, *nodes, node.id, allowed, options);
    if (!plan) return plan.error();
    report.nodes.push_back({node, *plan, {}, plan->notes});
  }
  plan_all(report, options, pace);
  for (ProbedNode& node : report.nodes) {
    const std::string name = name_of(node.declared.id);
    pace.enter(name);
    auto figures = measure_node(*kernel, *node.plan, options, pace);
    if (!figures) {
      return figures.error().code == Error::Code::kInterrupted
                 ? figures.error()
                 : figures.error().within(name);
    }
    const auto at = std::find_if(
        nodes->begin(), nodes->end(),
        [&](const MemoryNode& one) { return one.id == node.declared.id; });
    set_figures(*node.plan, *figures, at->tier);
    node.figures = *figures;
    for (auto note : {busy_note(*figures), short_note(*node.plan, *figures)}) {
      if (!note.empty()) node.notes.push_back(std::move(note));
    }
    for (auto& note : disagreements(at->tier, node.declared.tier)) {
      node.notes.push_back(std::move(note));
    }
  }
  auto machine = machine_of(root, *nodes, options.grouping);
  if (!machine) return machine.error();
  report.machine = *std::move(machine);
  report.machine.emulated = std::filesystem::exists(kEmulatorsClock);
  put_in_order(report);
  if (auto ok = probe_operations(*kernel, options, pace, report); !ok) {
    return ok.error();
  }
  report.took_s = pace.took_s();
  return report;
}

Result<ProbeReport> probe_hmat(const std::string& root,
                               const ProbeOptions& options) {
  const auto nodes = nodes_of(root, options);
  if (!nodes) return nodes.error();
  ProbeReport report;
  std::string missing;
  for (const MemoryNode& node : *nodes) {
    if (node.tier.capacity == 0) continue;
    std::string names;
    for (const Figure& figure : kFigures) {
      if (node.tier.*figure.value > 0) continue;
      names += (names.empty() ? "" : ", ") + std::string(figure.hmat);
    }
    if (!names.empty()) {
      missing += (missing.empty() ? "" : "; ") + names + " of " +
                 name_of(node.id) + " (/" + node.hmat_path + ")";
    }
    report.nodes.push_back({node, {}, {}, {}});
  }
  if (!missing.empty()) {
    return unsupported("the firmware (HMAT) does not tell " + missing +
                       "; measure instead: --from measured");
  }
  auto machine = machine_of(root, *nodes, options.grouping);
  if (!machine) return machine.error();
  report.machine = *std::move(machine);
  put_in_order(report);
  return report;
}

}  // namespace thermocline
