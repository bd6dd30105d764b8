#include "daemon/report.h"

#include <nlohmann/json.hpp>

namespace thermocline {

using nlohmann::json;

std::string json_text(const json& value, int indent) {
  return value.dump(indent, ' ', false, json::error_handler_t::replace);
}

json to_json(const MoveTotals& moves, const Machine& machine) {
  json moved = json::object();
  Bytes promoted = 0;
  Bytes demoted = 0;
  for (const auto& [direction, bytes] : moves.moved) {
    const auto [from, to] = direction;
    moved[machine.tiers[from].name + "->" + machine.tiers[to].name] = bytes;
    (to < from ? promoted : demoted) += bytes;
  }
  json failed = json::object();
  for (const auto& [reason, pages] : moves.failed) {
    failed[failure_name(reason)] = pages;
  }
  json refused = json::object();
  for (std::size_t i = 1; i < kRefusals; ++i) {
    refused[refusal_name(static_cast<Refusal>(i))] = moves.refused[i];
  }
  return {{"decided", moves.decided},
          {"admitted", moves.admitted},
          {"admitted_bytes", moves.admitted_bytes},
          {"extents", moves.extents},
          {"moved_bytes", moves.moved_bytes()},
          {"promoted_bytes", promoted},
          {"demoted_bytes", demoted},
          {"dragged_bytes", moves.dragged},
          {"moved_bytes_by_direction", moved},
          {"failed_pages", failed},
          {"refused_moves", refused},
          {"mover_ns", moves.calls_ns}};
}

json to_json(const SampleTotals& samples) {
  json events = json::object();
  for (const auto& [name, event] : samples.events) {
    events[name] = {{"lost", event.lost},
                    {"throttled", event.throttled},
                    {"period", event.period}};
  }
  return {{"attributed", samples.samples},  {"cached", samples.cached},
          {"foreign", samples.foreign},     {"kernel", samples.kernel},
          {"lost", samples.lost},           {"throttled", samples.throttled},
          {"malformed", samples.malformed}, {"events", events}};
}

json to_json(const PlanReport& plan) {
  const auto& counts = plan.counts;
  return {{"trace", plan.trace},
          {"in_force", plan.in_force},
          {"why", plan.why},
          {"drops", counts.drops},
          {"steps",
           {{"alike", counts.steps_alike},
            {"unlike", counts.steps_unlike},
            {"lost", counts.steps_lost},
            {"in_force", counts.steps_in_force}}},
          {"moves",
           {{"ahead", counts.moves_ahead},
            {"late", counts.moves_late},
            {"missed", counts.moves_missed},
            {"waited", counts.moves_waited}}},
          {"births",
           {{"moved", counts.births_moved}, {"left", counts.births_left}}}};
}

json to_json(const TargetReport& target, const Machine& machine) {
  const auto by_tier = [&](const std::vector<Bytes>& bytes) {
    json tiers = json::object();
    for (std::size_t t = 0; t < bytes.size(); ++t) {
      tiers[machine.tiers[t].name] = bytes[t];
    }
    return tiers;
  };
  const auto share = [](double part, double all) {
    return all > 0 ? part / all : 0.0;
  };
  json out = {
      {"pid", target.pid},
      {"name", target.name},
      {"ended", target.ended},
      {"windows", target.windows},
      {"footprint_bytes", target.footprint()},
      {"unmanaged_bytes", target.unmanaged},
      {"weight", target.share.weight},
      {"minimum_bytes", target.share.minimum},
      {"bytes_by_tier", by_tier(target.bytes_by_tier)},
      {"capacity_by_tier", by_tier(target.capacity_by_tier)},
      {"fast_share", target.fast_share()},
      {"accesses", target.accesses},
      {"fast_access_share", share(target.fast_accesses, target.accesses)},
      {"total_accesses", target.total_accesses},
      {"total_fast_access_share",
       share(target.total_fast_accesses, target.total_accesses)},
      {"moves", to_json(target.moves, machine)},
      {"policy_counts", target.policy_counts}};
  if (target.plan) out["plan"] = to_json(*target.plan);
  if (target.held != Refusal::kNone) out["held"] = refusal_name(target.held);
  if (target.blacklisted > 0) out["blacklisted_ranges"] = target.blacklisted;
  return out;
}

std::string window_event(const WindowReport& report, const Service& service) {
  json targets = json::array();
  for (const auto& target : report.targets) {
    targets.push_back(to_json(target, service.machine()));
  }
  return json_text({{"v", 1},
                    {"event", "window"},
                    {"window", report.window},
                    {"window_ns", report.length_ns},
                    {"samples", to_json(report.samples)},
                    {"moves", to_json(report.moves, service.machine())},
                    {"targets", targets}});
}

std::string window_line(const WindowReport& report) {
  const auto& moves = report.moves;
  return "window " + std::to_string(report.window) + ": " +
         std::to_string(moves.decided) + " moves decided, " +
         std::to_string(moves.admitted) + " admitted, " +
         std::to_string(moves.moved_bytes()) + " bytes moved";
}

std::string control_event(const std::string& line) {
  return json_text({{"v", 1}, {"event", "control"}, {"what", line}});
}

json to_json(const ObserverFigures& figures) {
  json out = json::object();
  for (const auto& [pid, all] : figures.all()) {
    out[std::to_string(pid)] = all;
  }
  return out;
}

std::string final_report(const Service& service, const Usage& usage) {
  json targets = json::array();
  for (const auto& target : service.targets()) {
    targets.push_back(to_json(target, service.machine()));
  }
  return json_text(
      {{"v", 1},
       {"version", THERMOCLINE_VERSION},
       {"machine", service.machine().name},
       {"emulated", service.machine().emulated},
       {"policy", service.options().policy},
       {"mover",
        service.dry_reason().empty() ? service.options().mover : "dry"},
       {"dry_reason", service.dry_reason()},
       {"notices", service.notices().lines()},
       {"windows", service.windows()},
       {"samples", to_json(service.samples())},
       {"moves", to_json(service.moves(), service.machine())},
       {"targets", targets},
       {"observers", to_json(service.figures())},
       {"daemon",
        {{"cpu_s", usage.cpu_s},
         {"elapsed_s", usage.elapsed_s},
         {"cpu_share", usage.share()},
         {"peak_bytes", usage.peak_bytes}}}},
      2);
}

}  // namespace thermocline
