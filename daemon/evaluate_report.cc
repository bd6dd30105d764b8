// How the table of `thermocline evaluate` is shown.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "daemon/evaluate_table.h"
#include "daemon/units.h"

namespace thermocline {
namespace {

using Json = nlohmann::ordered_json;

std::string percent(std::optional<double> share) {
  if (!share) return "-";
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", *share * 100);
  return text;
}

void line(const char* name, const std::string& time, const std::string& closed,
          const std::string& moved, const std::string& decision) {
  std::printf("  %-22s %12s %11s %12s   %s\n", name, time.c_str(),
              closed.c_str(), moved.c_str(), decision.c_str());
}

void bound(const char* name, double time_ns) {
  std::printf("  %-22s %12s\n", name, show_seconds(time_ns / 1e9).c_str());
}

std::string decision_of(const EvaluatedRow& row) {
  if (row.decisions == 0) return "-";
  if (row.planned) return "plan in " + show_seconds(row.decision_max_s);
  return show_seconds(row.decision_median_s) + ", " +
         show_seconds(row.decision_max_s);
}

void print(const EvaluatedTable& table, const EvaluatedShare& here) {
  const std::string others =
      table.tiers > 2 ? ", and so does each tier but the slowest" : "";
  std::printf(
      "\n%s: fast memory holds %.3g %% of %s: %s%s\n", table.job.c_str(),
      here.share * 100, show_bytes(static_cast<double>(table.peak)).c_str(),
      show_bytes(static_cast<double>(here.fast)).c_str(), others.c_str());
  line("policy", table.tensors ? "step" : "run", "gap closed", "moved",
       "decision (median, max)");
  bound("[all_slow]", table.all_slow_ns);
  for (const EvaluatedRow& row : here.rows) {
    if (!row.error.empty()) {
      std::printf("  %-22s failed: %s\n", row.who.name().c_str(),
                  row.error.c_str());
      continue;
    }
    line(row.who.name().c_str(), show_seconds(row.time_ns / 1e9),
         percent(row.gap_closed), show_bytes(row.moved_bytes),
         decision_of(row));
  }
  if (here.static_bound_ns) {
    bound("[bound without moves]", *here.static_bound_ns);
  }
  if (here.clairvoyant_ns) {
    bound("[clairvoyant]", *here.clairvoyant_ns);
  }
  if (here.paid_bound_ns) {
    bound("[bound, moves paid]", *here.paid_bound_ns);
  }
  bound("[bound]", here.bound_ns);
  bound("[all_fast]", table.all_fast_ns);
  if (!here.note.empty()) std::printf("  note: %s\n", here.note.c_str());
  for (const EvaluatedRow& row : here.rows) {
    if (!row.note.empty()) {
      std::printf("  note: %s: %s\n", row.who.name().c_str(), row.note.c_str());
    }
    if (row.unplaced > 0) {
      std::printf(
          "  note: %s: %zu times a tensor found no hole where it was "
          "to go\n",
          row.who.name().c_str(), row.unplaced);
    }
  }
}

Json json_of(const EvaluatedRow& row) {
  Json out = {{"policy", row.who.policy}};
  if (!row.who.variant.empty()) {
    out["variant"] = row.who.variant;
    out["options"] = Json::parse(row.who.options, nullptr, false);
  }
  if (!row.error.empty()) {
    out["error"] = row.error;
    return out;
  }
  out.update({{"time_ns", row.time_ns},
              {"gap_closed", nullptr},
              {"moved_bytes", row.moved_bytes},
              {"planned", row.planned},
              {"decisions", row.decisions},
              {"decision_median_s", row.decision_median_s},
              {"decision_max_s", row.decision_max_s},
              {"unplaced", row.unplaced},
              {"note", row.note}});
  if (row.gap_closed) out["gap_closed"] = *row.gap_closed;
  return out;
}

}  // namespace

void print_text(const std::vector<EvaluatedTable>& tables) {
  for (const EvaluatedTable& table : tables) {
    for (const EvaluatedShare& here : table.shares) print(table, here);
  }
  std::fflush(stdout);
}

Json to_json(const std::vector<EvaluatedTable>& tables) {
  Json out = Json::array();
  for (const EvaluatedTable& table : tables) {
    Json shares = Json::array();
    for (const EvaluatedShare& here : table.shares) {
      Json rows = Json::array();
      for (const EvaluatedRow& row : here.rows) rows.push_back(json_of(row));
      Json one = {{"fast_share", here.share},   {"fast_bytes", here.fast},
                  {"bound_ns", here.bound_ns},  {"static_bound_ns", nullptr},
                  {"paid_bound_ns", nullptr},   {"clairvoyant_ns", nullptr},
                  {"policies", std::move(rows)}};
      if (here.paid_bound_ns) one["paid_bound_ns"] = *here.paid_bound_ns;
      if (here.clairvoyant_ns) one["clairvoyant_ns"] = *here.clairvoyant_ns;
      if (here.static_bound_ns) one["static_bound_ns"] = *here.static_bound_ns;
      if (!here.note.empty()) one["note"] = here.note;
      shares.push_back(std::move(one));
    }
    out.push_back({{"job", table.job},
                   {"kind", table.tensors ? "tensors" : "pages"},
                   {"times_are_of", table.tensors ? "step" : "run"},
                   {"tiers", table.tiers},
                   {"objects", table.objects},
                   {table.tensors ? "operators" : "windows", table.parts},
                   {"peak_bytes", table.peak},
                   {"all_fast_ns", table.all_fast_ns},
                   {"all_slow_ns", table.all_slow_ns},
                   {"shares", std::move(shares)}});
  }
  return out;
}

}  // namespace thermocline
