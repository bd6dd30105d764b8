#include "daemon/estimate_input.h"

#include <algorithm>
#include <cstdio>

#include "estimator/alignment.h"
#include "traces/regions.h"
#include "traces/trace_file.h"

namespace thermocline {
namespace {

// More regions than this make an estimate slow and tell little more.
constexpr Bytes kRegions = Bytes{1} << 20;
constexpr Bytes kLargestRegion = Bytes{2} << 20;

// The share of samples that may be missing without a word.
constexpr double kLostShare = 0.01;

void add_doubts(const std::string& file, const Trace& trace,
                std::vector<std::string>& notes) {
  if (trace.end.exit_status != 0) {
    notes.push_back(file + ": its job ended with status " +
                    std::to_string(trace.end.exit_status));
  }
  const auto lost = static_cast<double>(trace.lost());
  const auto all = lost + static_cast<double>(trace.samples.size());
  if (lost > kLostShare * all) {
    char text[64];
    std::snprintf(text, sizeof text, ": %.0f %% of its samples were lost",
                  100 * lost / all);
    notes.push_back(file + text);
  }
  if (trace.info.source.rfind("pages", 0) == 0) {
    notes.push_back(file +
                    ": tracked pages say that memory was touched, not how "
                    "often; shares of objects are coarse");
  }
}

// What a trace must be recorded under, and the option that says so.
struct Wanted {
  std::string option;
  std::string placement;
};
const std::string kTier = "--tier";
const Wanted kSlow{"--slow", "all_slow"};
const Wanted kFast{"--fast", "all_fast"};

// Sets Info::placement to the endpoint that the option says it is.
Status settle_endpoint(const std::string& file, const Wanted& as, Trace& trace,
                       std::vector<std::string>& notes) {
  const auto& [option, wanted] = as;
  std::string& placement = trace.info.placement;
  if (placement.empty()) {
    notes.push_back(file + ": does not say its placement; taken as " + wanted);
  } else if (placement == "first_touch" && as.option == kFast.option) {
    notes.push_back(file + ": recorded under first_touch; taken as all_fast, " +
                    "which is right if all of the job fitted");
  } else if (option == kTier && placement == "first_touch") {
    notes.push_back(file + ": recorded under first_touch; taken as " + wanted +
                    ", which is right if it was bound there (numactl)");
  } else if (option == kTier && placement != wanted) {
    return invalid(file + ": recorded under " + placement +
                   ", but --tier takes a trace of a job that was bound to that "
                   "tier; record one with numactl --membind");
  } else if (placement != wanted) {
    return invalid(file + ": recorded under " + placement + ", but " + option +
                   " takes a trace of " + wanted +
                   "; record one with --placement " + wanted);
  }
  placement = wanted;
  return {};
}

Result<Trace> load_trace(const std::string& file, const Wanted& as,
                         const std::string& machine, const FileWatch& watch,
                         std::vector<std::string>& notes) {
  auto read = read_trace(file, watch ? watch(file) : Watch());
  if (!read) return read.error();
  if (!read->damage.empty()) {
    return corrupt(read->damage +
                   "; an estimate needs the whole run: record it again");
  }
  Trace trace = std::move(read->trace);
  if (trace.samples.empty()) {
    return invalid(file +
                   ": holds no samples; record it with a source of samples "
                   "(thermocline record --help)");
  }
  if (!machine.empty()) trace.info.machine = machine;
  if (trace.info.machine.empty()) {
    return invalid(file +
                   ": does not say its machine; name one with --machine");
  }
  if (auto ok = settle_endpoint(file, as, trace, notes); !ok) {
    return ok.error();
  }
  add_doubts(file, trace, notes);
  return trace;
}

// "read_ns, write_ns": the figures of a tier for which `holds` is true.
template <typename Test>
std::string figures_that(const Tier& tier, const Test& holds) {
  std::string names;
  for (const Figure& figure : kFigures) {
    if (!holds(tier.*figure.value, tier.origins.*figure.origin)) continue;
    names += (names.empty() ? "" : ", ") + std::string(figure.name);
  }
  return names;
}

// A measurement whose repeats were further apart than this is a doubt.
constexpr double kWideSpread = 0.25;

// Of a pair, missing numbers only blunt the weights; one trace alone has
// nothing else to model the other endpoint from.
Status check_machine(const Machine& machine, bool modelled,
                     std::vector<std::string>& notes) {
  for (const Tier& tier : machine.tiers) {
    const std::string whose =
        "machine \"" + machine.name + "\": tier " + tier.name;
    const auto missing = figures_that(
        tier, [](double value, const Origin&) { return !(value > 0); });
    if (!missing.empty() && modelled) {
      return invalid(whose + " has no " + missing +
                     "; give the traces of both endpoints, or --machine with "
                     "these numbers (thermocline probe -o FILE measures them)");
    }
    if (!missing.empty()) {
      notes.push_back(whose + " has no " + missing +
                      "; loads and stores weigh alike");
    }
    const auto wide = figures_that(tier, [](double, const Origin& origin) {
      return origin.spread > kWideSpread;
    });
    if (!wide.empty() && modelled) {
      notes.push_back(whose + ": repeats of " + wide +
                      " were far apart; probe it again while it is idle");
    }
  }
  return {};
}

Bytes region_size(const Trace& trace) {
  Bytes mapped = 0;
  for (const Mapping& mapping : trace.mappings) {
    if (RegionMap::placeable(mapping)) mapped += mapping.end - mapping.start;
  }
  Bytes bytes = std::max<Bytes>(trace.info.page_bytes, 4096);
  while (bytes < kLargestRegion && mapped / bytes > kRegions) bytes *= 2;
  return bytes;
}

bool sampled(const Differential& made, std::size_t w) {
  const auto accesses = made.accesses(w);
  return std::any_of(accesses.begin(), accesses.end(),
                     [](const WindowAccess& access) {
                       return access.loads + access.stores > 0;
                     });
}

// Gives the second run the first one's addresses, and says what it lost.
Status align(const Trace& slow, Trace& fast, std::vector<std::string>& notes) {
  if (slow.info.command != fast.info.command) return {};  // refused later
  const auto alignment = Alignment::of(slow, fast);
  if (!alignment) return alignment.error();
  if (alignment->moved()) fast = alignment->translated(std::move(fast));
  const double lost = alignment->unmatched();
  if (!alignment->moved() && lost <= kLostShare) return {};
  char text[160];
  std::snprintf(text, sizeof text,
                "%s%.1f %% of a run's accesses lie in memory that the other "
                "run has no counterpart of",
                alignment->moved()
                    ? "addresses were randomised; objects are matched by name "
                      "and order; "
                    : "",
                100 * lost);
  notes.emplace_back(text);
  return {};
}

// The traces of tiers between.
struct Others {
  std::map<TierId, Trace> traces;
  std::map<TierId, std::string> files;
};

// "cxl=FILE"
Status load_other(const std::string& text, const Trace& slow,
                  const std::string& machine, const FileWatch& watch,
                  Others& others, std::vector<std::string>& notes) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    return invalid("--tier " + text + ": is not of the form TIER=FILE");
  }
  const std::string name = text.substr(0, equals);
  const std::string file = text.substr(equals + 1);
  const auto known = Machine::from_json(slow.info.machine);
  if (!known) return known.error();
  const TierId tier = known->find(name);
  if (tier == kNoTier) {
    return not_found("--tier " + text + ": machine \"" + known->name +
                     "\" has no tier " + name);
  }
  if (tier == 0 || tier + 1U == known->tiers.size()) {
    return invalid(
        "--tier " + text + ": give the trace of the " +
        (tier == 0 ? "fastest tier as --fast" : "slowest tier as --slow"));
  }
  if (others.traces.contains(tier)) {
    return invalid("--tier " + text + ": tier " + name + " is given twice");
  }
  auto trace =
      load_trace(file, {kTier, "all in " + name}, machine, watch, notes);
  if (!trace) return trace.error();
  if (auto ok = align(slow, *trace, notes); !ok) {
    return ok.error().within(file);
  }
  others.traces.emplace(tier, *std::move(trace));
  others.files.emplace(tier, file);
  return {};
}

Result<Differential> from_all(const Trace& slow, const Trace& fast,
                              const std::map<TierId, Trace>& others,
                              const Differential::Options& options) {
  if (others.empty()) {
    return Differential::from_pair(slow, fast, options);
  }
  const auto machine = Machine::from_json(slow.info.machine);
  if (!machine) return machine.error();
  std::map<TierId, const Trace*> all{
      {TierId{0}, &fast},
      {static_cast<TierId>(machine->tiers.size() - 1), &slow}};
  for (const auto& [tier, trace] : others) all[tier] = &trace;
  return Differential::from_tiers(all, options);
}

void add_doubts(const Differential& made, std::vector<std::string>& notes) {
  if (made.fast_ns() > made.slow_ns()) {
    notes.push_back(
        "the job took longer in fast memory than in slow: gains below are "
        "negative; noise, or one trace is of another run");
  }
  std::size_t empty = 0;
  for (const PhaseWindows& phase : made.phases()) {
    std::size_t here = 0;
    for (std::size_t w = phase.first; w < phase.last; ++w) {
      here += !sampled(made, w);
    }
    empty += here;
    if (here == phase.last - phase.first) {
      notes.push_back("phase \"" + phase.name +
                      "\" holds no sample: which objects its time is due to "
                      "is not known");
    }
  }
  if (empty > 0) {
    notes.push_back(std::to_string(empty) + " of " +
                    std::to_string(made.windows()) +
                    " windows hold no sample; their time is shared out as in "
                    "the nearest that do");
  }
}

}  // namespace

Result<Differential> EstimateInput::at_their_word() const {
  CHECK(slow && fast);
  Differential::Options same = options;
  same.even_out = EvenOut::kNone;
  return from_all(*slow, *fast, others, same);
}

Result<EstimateInput> EstimateInput::load(const EstimateFiles& files,
                                          const FileWatch& watch) {
  std::vector<std::string> notes;
  std::string machine;
  if (!files.machine.empty()) {
    auto loaded = Machine::load(files.machine);
    if (!loaded) return loaded.error();
    machine = loaded->to_json();
  }
  std::optional<Trace> slow;
  std::optional<Trace> fast;
  for (const bool is_slow : {true, false}) {
    const std::string& file = is_slow ? files.slow : files.fast;
    if (file.empty()) continue;
    auto trace =
        load_trace(file, is_slow ? kSlow : kFast, machine, watch, notes);
    if (!trace) return trace.error();
    (is_slow ? slow : fast) = *std::move(trace);
  }
  const bool pair = slow && fast;
  if (pair) {
    if (auto ok = align(*slow, *fast, notes); !ok) {
      return ok.error().within(files.slow + " and " + files.fast);
    }
  }
  Others others;
  for (const auto& text : files.tiers) {
    if (!pair) return invalid("--tier needs --slow and --fast as well");
    auto ok = load_other(text, *slow, machine, watch, others, notes);
    if (!ok) return ok.error();
  }
  const Trace& either = slow ? *slow : *fast;
  const Differential::Options options{
      files.windows,
      files.region_bytes > 0 ? files.region_bytes : region_size(either),
      files.phases != "none"};
  auto made = pair ? from_all(*slow, *fast, others.traces, options)
                   : Differential::from_one(either, options);
  if (!made) {
    return made.error().within(pair ? files.slow + " and " + files.fast
                                    : (slow ? files.slow : files.fast));
  }
  if (auto ok = check_machine(made->machine(), !pair, notes); !ok) {
    return ok.error();
  }
  add_doubts(*made, notes);
  return EstimateInput{*std::move(made),        std::move(slow),
                       std::move(fast),         std::move(others.traces),
                       std::move(others.files), options,
                       std::move(notes)};
}

}  // namespace thermocline
