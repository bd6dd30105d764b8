#include "daemon/trace_info.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "estimator/machine.h"
#include "tracer/page_sharing.h"
#include "traces/iterations.h"
#include "traces/summary.h"

namespace thermocline {
namespace {

nlohmann::ordered_json periods_json(const Trace& trace) {
  auto events = nlohmann::ordered_json::array();
  for (const auto& one : period_ranges(trace)) {
    events.push_back({{"event", one.event},
                      {"first", one.first},
                      {"last", one.last},
                      {"shortest", one.shortest},
                      {"longest", one.longest},
                      {"changes", one.changes}});
  }
  return events;
}

}  // namespace

std::map<std::string, std::uint64_t> losses_by_source(const Trace& trace) {
  std::map<std::string, std::uint64_t> counts;
  for (const auto& loss : trace.losses) counts[loss.source] += loss.count;
  return counts;
}

std::size_t sampled_tensors(const TensorAccesses& accesses) {
  return static_cast<std::size_t>(
      std::count_if(accesses.tensors.begin(), accesses.tensors.end(),
                    [](const TensorAccess& one) { return one.samples > 0; }));
}

std::size_t sharing_tensors(const TensorAccesses& accesses) {
  return static_cast<std::size_t>(std::count_if(
      accesses.tensors.begin(), accesses.tensors.end(),
      [](const TensorAccess& one) { return one.neighbours > 0; }));
}

nlohmann::ordered_json trace_info(const std::string& file,
                                  const ReadTrace& read) {
  const Trace& trace = read.trace;
  const Summary summary = summarise(trace);
  const auto accesses = tensor_accesses(trace);
  const auto iterations = find_iterations(trace);
  const auto machine = Machine::from_json(trace.info.machine);
  nlohmann::ordered_json end;
  if (trace.end.known) end = trace.end.exit_status;
  nlohmann::ordered_json machine_name;
  if (machine) machine_name = machine->name;
  nlohmann::ordered_json pages;
  if (const auto sharing = page_sharing(trace, {})) {
    pages = {{"at_peak", sharing->pages},
             {"least", sharing->least_pages},
             {"ever", sharing->ever_pages},
             {"shared_by_unlike_tensors", sharing->shared_pages},
             {"hottest_fifth", sharing->hottest_fifth}};
  }
  nlohmann::ordered_json damage;
  if (!read.damage.empty()) damage = read.damage;
  return {{"file", file},
          {"command", trace.info.command},
          {"machine", machine_name},
          {"host", trace.info.host},
          {"placement", trace.info.placement},
          {"clock", trace.info.clock},
          {"emulated", trace.info.emulated},
          {"source", trace.info.source},
          {"page_bytes", trace.info.page_bytes},
          {"complete", trace.end.known && read.damage.empty()},
          {"exit_status", end},
          {"run_ns", trace.run_ns()},
          {"samples", trace.samples.size()},
          {"loads", summary.loads},
          {"stores", summary.stores},
          {"lost_samples", summary.lost},
          {"sequences", trace.sequences.size()},
          {"losses", losses_by_source(trace)},
          {"periods", periods_json(trace)},
          {"footprint_bytes", summary.footprint},
          {"private_bytes", trace.end.private_bytes},
          {"tensors", trace.tensors.size()},
          {"peak_live_bytes", summary.peak_live},
          {"tensor_pages", pages},
          {"samples_on_tensors", accesses.on_tensors},
          {"tensors_sampled", sampled_tensors(accesses)},
          {"tensors_sharing_pages", sharing_tensors(accesses)},
          {"operators", trace.operators.size()},
          {"iterations", iterations.starts.size()},
          {"iterations_by", iterations.by},
          {"marks", trace.marks.size()},
          {"counters", trace.counters.size()},
          {"mappings", trace.mappings.size()},
          {"blocks", read.blocks},
          {"skipped_blocks", read.skipped},
          {"dropped_events", read.dropped},
          {"file_bytes", read.file_bytes},
          {"damage", damage}};
}

}  // namespace thermocline
