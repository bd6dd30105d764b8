#include "daemon/top_view.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "daemon/top_tables.h"
#include "daemon/units.h"

namespace thermocline {
namespace {

using nlohmann::json;

// Lower than this, blank lines are too dear.
constexpr int kLow = 18;

// "12 s", "3 min 12 s", "2 h 5 min", "4 d 2 h"
std::string show_uptime(double seconds) {
  struct Unit {
    const char* name;
    std::int64_t seconds;
  };
  constexpr Unit kUnits[] = {
      {"d", 86'400}, {"h", 3'600}, {"min", 60}, {"s", 1}};
  auto rest = static_cast<std::int64_t>(std::clamp(seconds, 0.0, 1e12));
  std::string out;
  for (const auto& unit : kUnits) {
    const auto count = rest / unit.seconds;
    rest %= unit.seconds;
    const bool second = !out.empty();
    if (!second && count == 0 && unit.seconds > 1) continue;
    out += (second ? " " : "") + std::to_string(count) + " " + unit.name;
    if (second) break;
  }
  return out;
}

void add_head(TopPage& page, const json& status) {
  const auto daemon = status.value("daemon", json::object());
  char cpu[32];
  std::snprintf(cpu, sizeof cpu, "%.1f %%", 100 * number(daemon, "cpu_share"));
  const std::string machine = text(status, "machine");
  std::string head = "thermocline top - " + machine;
  if (status.value("emulated", false) && !machine.starts_with("emulated")) {
    head += " (emulated)";
  }
  head += ", " + text(status, "policy") + ", up " +
          show_uptime(number(daemon, "elapsed_s")) + ", uses " + cpu +
          " of a core, " + show_bytes(number(daemon, "peak_bytes"));
  page.add(head, TopStyle::kHead);
  if (status.value("paused", false)) {
    page.add("paused: nothing is moved (p resumes)", TopStyle::kWarn);
  }
  if (const auto dry = text(status, "dry_reason"); !dry.empty()) {
    page.add_wrapped("nothing is moved: " + dry, 4, TopStyle::kWarn);
  }
}

void add_tiers(TopPage& page, const json& tiers, const json& targets) {
  page.add(left("TIER", 10) + right("SIZE", 11) + right("FREE", 11) +
               right("MANAGED", 11) + "  IN USE",
           TopStyle::kHead);
  for (const auto& tier : list(tiers, "tiers")) {
    const auto name = text(tier, "name");
    const double size = number(tier, "capacity_bytes");
    const double free = number(tier, "free_bytes");
    double managed = 0;
    for (const auto& target : list(targets, "targets")) {
      if (target.value("ended", false)) continue;
      managed +=
          number(target.value("bytes_by_tier", json::object()), name.c_str());
    }
    const bool known = tier.contains("free_bytes") && size > 0;
    const double used = known ? 1 - free / size : 0;
    page.add(left(name, 10) + right(show_bytes(size), 11) +
             right(known ? show_bytes(free) : "-", 11) +
             right(show_bytes(managed), 11) + "  " +
             (known ? bar(used, 20) + " " + percent(used) : "not known"));
  }
}

void add_moves(TopPage& page, const TopAnswers& answers, const json& status) {
  const auto moves = status.value("moves", json::object());
  const auto samples = status.value("samples", json::object());
  const double moved = number(moves, "moved_bytes");
  const double budget = number(status, "budget_bytes_per_s");
  std::string line = "moves: ";
  if (answers.seconds > 0) {
    const double rate = (moved - answers.moved_before) / answers.seconds;
    line +=
        show_bytes(std::max(0.0, rate)) + "/s of " + show_bytes(budget) + "/s";
    if (budget > 0) line += " " + bar(rate / budget, page.narrow() ? 10 : 20);
  } else {
    line += "budget " + show_bytes(budget) + "/s";
  }
  page.add(line + "; in all " + show_bytes(number(moves, "promoted_bytes")) +
           " up, " + show_bytes(number(moves, "demoted_bytes")) + " down");
  std::string refused;
  const auto by_guard = moves.value("refused_moves", json::object());
  for (const auto& [guard, count] : by_guard.items()) {
    if (count.is_number() && count.get<double>() > 0) {
      refused += " " + guard + " " + show_count(count.get<double>());
    }
  }
  if (!refused.empty()) {
    page.add_wrapped("held back by guards:" + refused, 4, TopStyle::kPlain);
  }
  const double lost = number(samples, "lost");
  page.add(
      "samples: " + show_count(number(samples, "attributed")) + ", lost " +
          show_count(lost) + ", of others " +
          show_count(number(samples, "foreign")) + "; window " +
          std::to_string(static_cast<std::int64_t>(number(status, "windows"))),
      lost > number(samples, "attributed") / 10 ? TopStyle::kWarn
                                                : TopStyle::kPlain);
}

void add_help(TopPage& page) {
  for (const char* line :
       {"", "q  leave                    p  pause moves, or resume them",
        "s  sort the targets: accesses, size, share in fast memory, pid",
        "v  hottest regions, tensors (of jobs with the observer) or mappings",
        "up, down  pick a row; below it is why it lies where it does",
        "h  this help, or not", "",
        "IN FAST   share of the target's memory in the fastest tier",
        "HITS      share of its accesses that went there, in the last window",
        "ACCESSES  in the last window, estimated from samples",
        "GAIN      what the job gains in a window when this is in the fastest",
        "          rather than the slowest tier, as the policy estimates",
        "LOADS, STORES  a window of late, estimated from samples"}) {
    page.add(line);
  }
}

// Below the head: tiers and moves as they are, then both tables, which share
// what room there is, and why.
void add_body(TopPage& page, const TopAnswers& answers, const TopChoice& choice,
              int width, int height) {
  const bool gaps = height == 0 || height >= kLow;
  const auto gap = [&] {
    if (gaps) page.add("");
  };
  const auto targets = object_of(answers.targets);
  gap();
  add_tiers(page, object_of(answers.tiers), targets);
  gap();
  add_moves(page, answers, object_of(answers.status));
  TopPage why(width);
  add_why(why, object_of(answers.why));
  const int count = static_cast<int>(count_targets(targets));
  // Of two tables with their heads and gaps.
  const int room = height - page.size() - why.size() - (gaps ? 4 : 2);
  const int target_rows = std::clamp(count, 1, std::max(1, room / 2));
  gap();
  const int before = page.size();
  add_targets(page, targets, choice, height == 0 ? 0 : target_rows);
  const int used = page.size() - before - 1;
  gap();
  add_heat(page, object_of(answers.heat), choice,
           height == 0 ? 0 : std::max(1, room - used), count > 1);
  page.append(why);
}

}  // namespace

const char* sort_name(TopChoice::Sort sort) {
  switch (sort) {
    case TopChoice::Sort::kAccesses: return "accesses";
    case TopChoice::Sort::kSize: return "size";
    case TopChoice::Sort::kFastShare: return "fast share";
    case TopChoice::Sort::kPid: return "pid";
  }
  return "";
}

const char* by_name(TopChoice::By by) {
  switch (by) {
    case TopChoice::By::kRegion: return "region";
    case TopChoice::By::kTensor: return "tensor";
    case TopChoice::By::kMapping: return "mapping";
  }
  return "";
}

double moved_bytes(const TopAnswers& answers) {
  return number(object_of(answers.status).value("moves", json::object()),
                "moved_bytes");
}

bool picked_place(const TopAnswers& answers, const TopChoice& choice,
                  std::uint64_t& start, int& pid) {
  const auto rows = list(object_of(answers.heat),
                         (std::string(by_name(choice.by)) + "s").c_str());
  const auto index = static_cast<std::size_t>(std::max(0, choice.picked));
  if (index >= rows.size()) return false;
  start = rows[index].value("start", std::uint64_t{0});
  pid = rows[index].value("pid", 0);
  return true;
}

std::vector<TopLine> top_lines(const TopAnswers& answers,
                               const TopChoice& choice, int width, int height) {
  width = std::max(1, width);
  TopPage page(width);
  if (!answers.trouble.empty()) {
    page.add_wrapped(answers.trouble, 4, TopStyle::kWarn);
  } else {
    add_head(page, object_of(answers.status));
    if (choice.help) {
      add_help(page);
    } else {
      add_body(page, answers, choice, width, height);
    }
  }
  auto lines = page.lines();
  if (height > 0 && lines.size() > static_cast<std::size_t>(height)) {
    lines.resize(static_cast<std::size_t>(height));
  }
  return lines;
}

}  // namespace thermocline
