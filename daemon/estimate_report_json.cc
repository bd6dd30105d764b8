#include <algorithm>
#include <nlohmann/json.hpp>

#include "daemon/estimate_report.h"

namespace thermocline {
namespace {

using Json = nlohmann::ordered_json;

Json phases_json(const EstimateReport& report, const Breakdown& breakdown) {
  Json out = Json::array();
  for (std::size_t p = 0; p < report.phases.size(); ++p) {
    const auto& phase = breakdown.phases[p];
    out.push_back({{"name", report.phases[p].name},
                   {"windows", report.phases[p].windows.size()},
                   {"slow_ns", phase.slow_ns},
                   {"ns", phase.ns},
                   {"fast_ns", phase.fast_ns}});
  }
  return out;
}

Json objects_json(const EstimateReport& report, const Breakdown& breakdown) {
  const auto& tiers = report.input.differential.machine().tiers;
  Json out = Json::array();
  for (const auto& one : breakdown.objects) {
    if (report.limit > 0 && out.size() == report.limit) break;
    const auto& object = report.objects.objects()[one.object];
    Json in_tier = Json::object();
    for (std::size_t t = 0; t < tiers.size(); ++t) {
      in_tier[tiers[t].name] = one.in_tier[t];
    }
    out.push_back({{"name", object.name},
                   {"label", object.label},
                   {"bytes", object.bytes},
                   {"count", object.count},
                   {"cost_ns", one.cost_ns},
                   {"slow_cost_ns", one.slow_ns},
                   {"in_tier", std::move(in_tier)}});
  }
  return out;
}

// Whether the job's time with all in tier t was.
bool measured(const EstimateInput& input, TierId t) {
  if (t == 0) return input.fast.has_value();
  if (t + 1U == input.differential.machine().tiers.size()) {
    return input.slow.has_value();
  }
  return input.differential.measured(t);
}

Json row_json(const EstimateReport& report, const EstimateRow& row) {
  const Differential& made = report.input.differential;
  const auto& tiers = made.machine().tiers;
  Json bytes = Json::object();
  for (std::size_t t = 0; t < tiers.size(); ++t) {
    bytes[tiers[t].name] = row.placement.bytes_by_tier[t];
  }
  Json doubt;
  if (!row.doubt.empty()) doubt = row.doubt;
  Json error;
  if (row.breakdown.error_ns) error = *row.breakdown.error_ns;
  Json out{{"name", row.placement.name},
           {"ns", row.breakdown.ns},
           {"error_ns", std::move(error)},
           {"gain_ns", made.slow_ns() - row.breakdown.ns},
           {"modelled_ns", row.breakdown.modelled_ns},
           {"bytes", std::move(bytes)},
           {"moved_bytes", row.placement.moved_bytes},
           {"move_ns", row.placement.move_ns},
           {"migration",
            {{"moved_bytes", row.breakdown.moved_bytes},
             {"waited_ns", row.breakdown.waited_ns},
             {"interference_ns", row.breakdown.interference_ns}}},
           {"at_their_word", row.at_their_word},
           {"doubt", std::move(doubt)}};
  if (report.detailed) {
    out["phases"] = phases_json(report, row.breakdown);
    out["objects"] = objects_json(report, row.breakdown);
    out["objects_in_all"] = row.breakdown.objects.size();
    out["overlap_ns"] = row.breakdown.overlap_ns;
  }
  return out;
}

}  // namespace

Json to_json(const EstimateReport& report) {
  const EstimateInput& input = report.input;
  const Differential& made = input.differential;
  const auto endpoint = [](const std::string& file, bool measured, double ns) {
    Json name;
    if (measured) name = file;
    return Json{{"trace", name}, {"ns", ns}, {"measured", measured}};
  };
  Json tiers = Json::array();
  for (TierId t = 0; t < made.machine().tiers.size(); ++t) {
    double ns = 0;
    for (std::size_t w = 0; w < made.windows(); ++w) ns += made.tier_ns(w, t);
    tiers.push_back({{"name", made.machine().tiers[t].name},
                     {"ns", ns},
                     {"measured", measured(input, t)}});
  }
  Json rows = Json::array();
  for (const auto& row : report.rows) rows.push_back(row_json(report, row));
  return {{"job", made.job()},
          {"machine", made.machine().name},
          {"emulated", made.machine().emulated || input.either().info.emulated},
          {"slow",
           endpoint(report.files.slow, input.slow.has_value(), made.slow_ns())},
          {"fast",
           endpoint(report.files.fast, input.fast.has_value(), made.fast_ns())},
          {"tiers", std::move(tiers)},
          {"modelled", made.modelled()},
          {"windows", made.windows()},
          {"region_bytes", input.options.region_bytes},
          {"memory_bytes", report.memory.total},
          {"sampled_bytes", report.memory.sampled},
          {"asked", report.title},
          {"notes", input.notes},
          {"estimates", std::move(rows)}};
}

}  // namespace thermocline
