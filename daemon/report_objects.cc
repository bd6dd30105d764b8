#include "daemon/report_objects.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "daemon/estimate_breakdown.h"
#include "daemon/static_placement.h"

namespace thermocline {
namespace {

void keep_most(ReportObjects& out) {
  auto& all = out.objects;
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return a.gain_ns > b.gain_ns;
  });
  out.in_all = all.size();
  for (const ReportObject& one : all) out.gain_ns += one.gain_ns;
  if (all.size() > ReportObjects::kMost) all.resize(ReportObjects::kMost);
}

}  // namespace

ReportObjects gains_of(const Iteration& step) {
  ReportObjects out;
  const std::size_t slowest = step.tiers() - 1;
  for (std::size_t t = 0; t < step.tensors(); ++t) {
    const auto& tensor = step.tensor(t);
    ReportObject one{"tensor:" + std::to_string(tensor.serial), tensor.label,
                     tensor.bytes, 1, 0};
    for (const auto& use : tensor.uses) one.gain_ns += use.penalty_ns[slowest];
    if (one.gain_ns > 0) out.objects.push_back(std::move(one));
  }
  keep_most(out);
  return out;
}

ReportObjects gains_of(const EstimateInput& input) {
  const Differential& made = input.differential;
  const auto memory = JobMemory::of(made, input.either());
  const Trace* slow = input.slow ? &*input.slow : nullptr;
  const Trace* fast = input.fast ? &*input.fast : nullptr;
  const JobObjects names(made, slow, fast);
  const auto last = static_cast<TierId>(made.machine().tiers.size() - 1);
  const auto all_slow = all_in(made, memory, last);
  const Breakdown breakdown =
      break_down(made, all_slow.schedule(), phases_of(made), names,
                 slow != nullptr, fast != nullptr);
  ReportObjects out;
  for (const auto& one : breakdown.objects) {
    const auto& object = names.objects()[one.object];
    out.objects.push_back(
        {object.name, object.label, object.bytes, object.count, one.slow_ns});
  }
  keep_most(out);
  return out;
}

nlohmann::ordered_json to_json(const ReportObjects& objects) {
  auto list = nlohmann::ordered_json::array();
  for (const ReportObject& one : objects.objects) {
    list.push_back({{"name", one.name},
                    {"label", one.label},
                    {"bytes", one.bytes},
                    {"count", one.count},
                    {"gain_ns", one.gain_ns}});
  }
  return {{"in_all", objects.in_all},
          {"gain_ns", objects.gain_ns},
          {"objects", std::move(list)}};
}

}  // namespace thermocline
