#include "daemon/top_tables.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "daemon/units.h"

namespace thermocline {
namespace {

using nlohmann::json;

bool goes_on(const json& target) {
  return target.is_object() && !target.value("ended", false);
}

double key_of(const json& target, TopChoice::Sort sort) {
  switch (sort) {
    case TopChoice::Sort::kAccesses: return number(target, "accesses");
    case TopChoice::Sort::kSize: return number(target, "footprint_bytes");
    case TopChoice::Sort::kFastShare: return number(target, "fast_share");
    case TopChoice::Sort::kPid: return -number(target, "pid");
  }
  return 0;
}

std::string pid_of(const json& row) { return row.value("pid", json(0)).dump(); }

void add_target(TopPage& page, const json& one) {
  const double fast = number(one, "fast_share");
  const double hits = number(one, "fast_access_share");
  page.add(left(pid_of(one), 9) + left(text(one, "name"), 16) +
               right(show_bytes(number(one, "footprint_bytes")), 10) + "  " +
               bar(fast, page.narrow() ? 10 : 20) + " " + percent(fast) +
               right(percent(hits), 8) +
               right(show_count(number(one, "accesses")), 12),
           hits >= 0.9 ? TopStyle::kGood : TopStyle::kPlain);
  if (const auto held = text(one, "held"); !held.empty()) {
    page.add("         its moves are held: " + held, TopStyle::kWarn);
  }
  if (const auto plan = one.find("plan"); plan != one.end()) {
    page.add("         plan: " + text(*plan, "why"), TopStyle::kDim);
  }
}

std::string name_of(const json& row) {
  if (row.contains("tensor")) {
    return "tensor " + row["tensor"].dump() + " " + text(row, "label");
  }
  if (row.contains("name")) {
    const auto name = text(row, "name");
    return name.empty() ? "anonymous" : name;
  }
  return "region " + row.value("region", json("-")).dump();
}

std::string start_of(const json& row) {
  char out[32];
  std::snprintf(
      out, sizeof out, "0x%llx",
      static_cast<unsigned long long>(row.value("start", std::uint64_t{0})));
  return out;
}

}  // namespace

std::size_t count_targets(const json& targets) {
  const auto all = list(targets, "targets");
  return static_cast<std::size_t>(
      std::count_if(all.begin(), all.end(), goes_on));
}

void add_targets(TopPage& page, const json& targets, const TopChoice& choice,
                 int rows) {
  std::vector<json> all;
  for (const auto& one : list(targets, "targets")) {
    if (goes_on(one)) all.push_back(one);
  }
  std::stable_sort(all.begin(), all.end(), [&](const json& a, const json& b) {
    return key_of(a, choice.sort) > key_of(b, choice.sort);
  });
  page.add(left("PID", 9) + left("NAME", 16) + right("SIZE", 10) + "  " +
               left("IN FAST", page.narrow() ? 18 : 28) + right("HITS", 8) +
               right("ACCESSES", 12) +
               (page.narrow()
                    ? std::string()
                    : std::string("  (by ") + sort_name(choice.sort) + ")"),
           TopStyle::kHead);
  if (all.empty()) {
    page.add("no targets; thermocline attach PID", TopStyle::kDim);
  }
  const auto most = static_cast<std::size_t>(rows);
  const bool cut = rows > 0 && all.size() > most;
  const auto shown = cut ? most - 1 : all.size();
  for (std::size_t i = 0; i < shown; ++i) add_target(page, all[i]);
  if (cut) {
    page.add("... and " + std::to_string(all.size() - shown) + " more",
             TopStyle::kDim);
  }
}

void add_heat(TopPage& page, const json& heat, const TopChoice& choice,
              int rows, bool pids) {
  const auto all = list(heat, (std::string(by_name(choice.by)) + "s").c_str());
  page.add((pids ? left("PID", 8) : "") + left("START", 15) +
               right("SIZE", 10) + "  " + left("TIER", 7) + right("GAIN", 9) +
               right("LOADS", 7) + right("STORES", 7) + "  HOTTEST " +
               by_name(choice.by) + "s",
           TopStyle::kHead);
  if (all.empty()) page.add("nothing is known yet", TopStyle::kDim);
  const int count = static_cast<int>(all.size());
  const int shown = rows > 0 ? std::min(rows, count) : count;
  const int first = std::clamp(choice.picked - shown + 1, 0, count - shown);
  for (int i = first; i < first + shown; ++i) {
    const auto& row = all[static_cast<std::size_t>(i)];
    const auto tier = text(row, "tier");
    page.add((pids ? left(pid_of(row), 8) : "") + left(start_of(row), 15) +
                 right(show_bytes(number(row, "bytes")), 10) + "  " +
                 left(tier.empty() ? "-" : tier, 7) +
                 right(show_seconds(number(row, "heat_ns") * 1e-9), 9) +
                 right(show_count(number(row, "loads")), 7) +
                 right(show_count(number(row, "stores")), 7) + "  " +
                 name_of(row),
             i == choice.picked ? TopStyle::kPicked : TopStyle::kPlain);
  }
}

void add_why(TopPage& page, const json& why) {
  const auto reasons = list(why, "because");
  if (reasons.empty()) return;
  const auto& reason = reasons.front();
  page.add_wrapped("why: " + text(reason, "policy"), 5, TopStyle::kDim);
  for (const char* more : {"guard", "bound"}) {
    if (!reason.contains(more)) continue;
    page.add_wrapped(std::string("     ") + more + ": " + text(reason, more), 5,
                     TopStyle::kDim);
  }
}

}  // namespace thermocline
