// estimator_trial: what tests/bench/estimator_accuracy needs of C++.
//
//   estimator_trial trim IN.trace OUT.trace BEGIN_NS END_NS
//   estimator_trial plan SLOW.trace ARRAYS PLACEMENTS.json
//   estimator_trial score SLOW.trace FAST.trace PLACEMENTS.json
//
// trim leaves of a trace what lies between two instants, exactly. plan writes
// the placements for a workload, of whose output ARRAYS holds the lines that
// name its arrays. score prints, as JSON, what each estimator makes of each
// placement; it sees the two endpoint traces and nothing of the runs in
// between.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "estimator/denoyelle.h"
#include "estimator/differential.h"
#include "estimator/ordered_access.h"
#include "estimator/store_hits.h"
#include "tests/bench/mixed_placements.h"
#include "traces/leave_out.h"
#include "traces/trace_file.h"

namespace thermocline {
namespace {

using Json = nlohmann::json;

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "estimator_trial: %s\n", what.c_str());
  std::exit(1);
}

template <typename T>
T must(Result<T> result) {
  if (!result) fail(result.error().message);
  return *std::move(result);
}

Trace load(const std::string& path) {
  ReadTrace read = must(read_trace(path));
  if (!read.damage.empty()) fail(read.damage);
  return std::move(read.trace);
}

void trim(const std::string& from, const std::string& to, Nanos begin,
          Nanos end) {
  Trace trace = load(from);
  const auto outside = [&](const auto& event) {
    return event.time < begin || event.time > end;
  };
  std::erase_if(trace.samples, outside);
  std::erase_if(trace.counters, outside);
  std::erase_if(trace.sequences, outside);
  std::erase_if(trace.marks, [&](const Mark& mark) {
    return mark.name == "start" || mark.name == "end" || outside(mark);
  });
  for (Mapping& mapping : trace.mappings) {
    mapping.time = std::clamp(mapping.time, begin, end);
  }
  trace.marks.push_back({begin, "start"});
  trace.marks.push_back({end, "end"});
  trace.end.known = true;
  trace.end.run_ns = end - begin;
  trace.sort();
  must(write_trace(to, trace, /*replace=*/true));
}

std::vector<NamedSpan> arrays_in(const std::string& path) {
  std::ifstream file(path);
  std::vector<NamedSpan> arrays;
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string word;
    NamedSpan array;
    if (words >> word && word == "array" &&
        words >> array.name >> std::hex >> array.start >> array.end) {
      arrays.push_back(array);
    }
  }
  if (arrays.empty()) fail(path + ": names no array");
  return arrays;
}

void plan(const std::string& slow, const std::string& arrays,
          const std::string& to) {
  Json all = Json::array();
  const Trace misses = from_memory(load(slow));
  for (const auto& one : mixed_placements(arrays_in(arrays), misses)) {
    all.push_back(one.to_json());
  }
  std::ofstream(to) << all.dump() << "\n";
}

// The published estimator, as its authors set it and as they might have. A
// window of samples is as long as makes 100 of them.
std::vector<std::pair<std::string, Denoyelle>> published(const Trace& slow,
                                                         const Trace& fast) {
  using Unit = Denoyelle::Unit;
  const double hundredth = std::max<double>(
      1,
      static_cast<double>(std::max(slow.samples.size(), fast.samples.size())) /
          100);
  const std::pair<const char*, Denoyelle::Options> settings[] = {
      {"50 ms", {}},
      {"50 ms, legacy", {.legacy = true}},
      {"whole run", {.window = 0}},
      {"100 by accesses", {.unit = Unit::kAccesses, .window = hundredth}}};
  std::vector<std::pair<std::string, Denoyelle>> all;
  for (const auto& [name, options] : settings) {
    all.emplace_back(name, must(Denoyelle::from_pair(slow, fast, options)));
  }
  return all;
}

double estimate(const Denoyelle& estimator, const MixedPlacement& placement) {
  std::vector<std::uint8_t> fast;
  for (const Address page : estimator.pages()) {
    fast.push_back(placement.is_fast(page) ? 1 : 0);
  }
  return estimator.total_ns(fast);
}

std::vector<TierId> tiers_of(const Differential& estimator,
                             const MixedPlacement& placement) {
  const auto slowest =
      static_cast<TierId>(estimator.machine().tiers.size() - 1);
  std::vector<TierId> tiers;
  for (const Region& region : estimator.objects()) {
    tiers.push_back(placement.is_fast(region.start) ? TierId{0} : slowest);
  }
  return tiers;
}

// As a source gives it that knows addresses only.
Trace without_instructions(Trace trace) {
  for (Sample& sample : trace.samples) sample.ip = 0;
  return trace;
}

// As processors give it that tell neither what was waited for an access alone
// nor which stores hit.
Trace of_older_processor(const Trace& trace) {
  Trace out = from_memory(trace);
  for (Sample& sample : out.samples) sample.retire_latency = 0;
  for (AccessSequence& one : out.sequences) leave_out(one, writes_only);
  return out;
}

void score(const std::string& slow_path, const std::string& fast_path,
           const std::string& placements_path) {
  const Trace slow = load(slow_path);
  const Trace fast = load(fast_path);
  const Trace older_slow = of_older_processor(slow);
  const Trace older_fast = of_older_processor(fast);
  const auto theirs = published(older_slow, older_fast);
  // Regions of one page, for so finely are pages placed.
  const Differential::Options options{.windows = 100,
                                      .region_bytes = slow.info.page_bytes};
  const auto ours = must(Differential::from_pair(slow, fast, options));
  const auto older =
      must(Differential::from_pair(older_slow, older_fast, options));
  const auto blind =
      must(Differential::from_pair(without_instructions(older_slow),
                                   without_instructions(older_fast), options));
  const auto slow_ns = static_cast<double>(slow.run_ns());
  const auto fast_ns = static_cast<double>(fast.run_ns());
  std::ifstream file(placements_path);
  const Json all = Json::parse(file, nullptr, false);
  if (!all.is_array()) fail(placements_path + ": is no JSON list");
  Json out = Json::array();
  for (const Json& one : all) {
    const MixedPlacement placement = must(MixedPlacement::from_json(one));
    const auto tiers = tiers_of(ours, placement);
    Json estimates = {
        {"ours", ours.total_ns(tiers)},
        {"ours, older", older.total_ns(tiers)},
        {"ours, blind", blind.total_ns(tiers)},
        {"byte share", slow_ns + (fast_ns - slow_ns) * placement.share},
        {"endpoint mean", (slow_ns + fast_ns) / 2}};
    for (const auto& [name, estimator] : theirs) {
      estimates["published, " + name] = estimate(estimator, placement);
    }
    out.push_back({{"name", placement.name},
                   {"family", placement.family},
                   {"share", placement.share},
                   {"error_bars_ns",
                    {{"ours", *ours.error_ns(tiers)},
                     {"ours, older", *older.error_ns(tiers)},
                     {"ours, blind", *blind.error_ns(tiers)}}},
                   {"estimates_ns", std::move(estimates)}});
  }
  std::cout << Json{{"slow_ns", slow_ns},
                    {"fast_ns", fast_ns},
                    {"slow_samples", older_slow.samples.size()},
                    {"fast_samples", older_fast.samples.size()},
                    {"lost", slow.lost() + fast.lost()},
                    {"placements", std::move(out)}}
            << "\n";
}

}  // namespace
}  // namespace thermocline

int main(int count, char** given) {
  using namespace thermocline;
  const std::vector<std::string> words(given + 1, given + count);
  const std::string verb = words.empty() ? "" : words[0];
  if (verb == "trim" && words.size() == 5) {
    trim(words[1], words[2], std::atoll(words[3].c_str()),
         std::atoll(words[4].c_str()));
  } else if (verb == "plan" && words.size() == 4) {
    plan(words[1], words[2], words[3]);
  } else if (verb == "score" && words.size() == 4) {
    score(words[1], words[2], words[3]);
  } else {
    fail(
        "trim IN OUT BEGIN END, plan SLOW OUTPUT TO, or score SLOW FAST "
        "PLACEMENTS");
  }
  return 0;
}
