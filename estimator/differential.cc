#include "estimator/differential.h"

#include <algorithm>
#include <cmath>

#include "estimator/access_cost.h"
#include "estimator/alignment.h"
#include "estimator/pair_costs.h"
#include "estimator/smoothing.h"
#include "estimator/streams.h"
#include "estimator/tally.h"
#include "estimator/windows.h"

namespace thermocline {

struct Differential::Parts {
  Machine machine;
  RegionMap regions;
  std::vector<PhaseWindows> phases;
  Tally tally;
  std::vector<Nanos> slow;  // length of each window
  std::vector<Nanos> fast;
  Bytes page_bytes = 4096;
  Bytes private_bytes = 0;
  bool modelled = false;
  std::string job;
  Savings savings;
  Doubt doubt;
};

namespace {

// Whole nanoseconds up to here are exact in a double.
constexpr Nanos kLongest = Nanos{1} << 53;

constexpr std::size_t kMostWindows = 100000;

Status check(const Differential::Options& options) {
  const auto most = static_cast<std::int64_t>(kMostWindows);
  if (options.windows < 1 || options.windows > most) {
    return invalid("windows must be 1 to " + std::to_string(most) + ", not " +
                   std::to_string(options.windows));
  }
  const Bytes bytes = options.region_bytes;
  if (bytes < 4096 || (bytes & (bytes - 1)) != 0) {
    return invalid("region_bytes must be a power of two of at least 4096");
  }
  return {};
}

Status check(const Trace& trace, const std::string& which) {
  if (trace.samples.empty()) {
    return invalid("the " + which + " trace holds no samples");
  }
  if (trace.run_ns() <= 0) {
    return invalid("the " + which + " trace has no run time");
  }
  if (trace.run_ns() >= kLongest) {
    return invalid("the " + which + " trace says to have run for " +
                   std::to_string(trace.run_ns() / 1'000'000'000) +
                   " s; more than 104 days are not estimated");
  }
  return {};
}

Result<Machine> machine_of(const Trace& trace, const std::string& which) {
  if (trace.info.machine.empty()) {
    return invalid("the " + which +
                   " trace does not say its machine; record it with --machine");
  }
  auto machine = Machine::from_json(trace.info.machine);
  if (!machine) return machine.error().within("the " + which + " trace");
  if (machine->tiers.size() < 2) {
    return invalid("machine \"" + machine->name +
                   "\" has one tier; there is no placement to estimate");
  }
  return machine;
}

std::string job_of(const Trace& trace) {
  std::string job;
  for (const auto& word : trace.info.command) {
    if (!job.empty()) job += ' ';
    job += word;
  }
  return job;
}

Status check_same(const Trace& slow, const Trace& fast) {
  if (slow.info.command != fast.info.command) {
    return invalid("the traces are of different jobs: \"" + job_of(slow) +
                   "\" and \"" + job_of(fast) + "\"");
  }
  if (slow.info.clock != fast.info.clock) {
    return invalid("the traces are on different clocks: " + slow.info.clock +
                   " and " + fast.info.clock);
  }
  return {};
}

RegionMap regions_of(const Trace& trace, Bytes region_bytes) {
  RegionMap regions(region_bytes);
  for (const Mapping& mapping : trace.mappings) regions.add(mapping);
  return regions;
}

// The runs' phases, and their windows.
struct Pieces {
  std::vector<PhaseWindows> phases;
  std::vector<WindowCuts> runs;
};

Result<Pieces> cut(std::span<const NamedRun> runs,
                   const Differential::Options& options) {
  const auto phases = match_phases(runs, options.phases);
  if (!phases) return phases.error();
  if (phases->names.size() > kMostWindows) {
    return invalid("the runs go through " +
                   std::to_string(phases->names.size()) +
                   " phases, more than are estimated; --phases none takes the "
                   "job as one phase");
  }
  std::vector<const Trace*> traces;
  for (const NamedRun& run : runs) traces.push_back(run.trace);
  auto cuts =
      cut_runs(traces, *phases, static_cast<std::size_t>(options.windows));
  Pieces out;
  out.runs = std::move(cuts.runs);
  std::size_t first = 0;
  for (std::size_t p = 0; p < phases->names.size(); ++p) {
    out.phases.push_back({phases->names[p], first, cuts.phase_ends[p]});
    first = cuts.phase_ends[p];
  }
  return out;
}

std::vector<Nanos> lengths(const WindowCuts& cuts) {
  std::vector<Nanos> out;
  for (std::size_t w = 0; w + 1 < cuts.at.size(); ++w) {
    out.push_back(cuts.at[w + 1] - cuts.at[w]);
  }
  return out;
}

// What each object gains by the shares of each of three tallies.
std::vector<ObjectEvidence> evidence(const Tally& by_slow, const Tally& by_fast,
                                     const Tally& alike,
                                     const WindowCuts& slow_cuts,
                                     const WindowCuts& fast_cuts,
                                     std::size_t objects) {
  const auto slow = lengths(slow_cuts);
  const auto fast = lengths(fast_cuts);
  std::vector<ObjectEvidence> out(objects);
  for (std::size_t w = 0; w < slow.size(); ++w) {
    const auto gain = static_cast<double>(slow[w] - fast[w]);
    for (const auto& one : by_slow.windows[w]) {
      out[one.object].slow_ns += gain * one.cost;
    }
    for (const auto& one : by_fast.windows[w]) {
      out[one.object].fast_ns += gain * one.cost;
    }
    for (const auto& one : alike.windows[w]) {
      out[one.object].alike_ns += gain * one.cost;
      // The mean of two traces, as counts of accesses.
      out[one.object].samples +=
          2 * (one.loads + one.stores) * alike.samples / alike.all;
    }
  }
  for (auto& one : out) one.samples = std::ceil(one.samples);
  return out;
}

double ratio(double a, double b) { return b > 0 ? a / b : 1; }

// The other endpoint of each window, from what its accesses would cost.
std::vector<Nanos> other_endpoint(const Machine& machine, const Tally& tally,
                                  const std::vector<Nanos>& measured,
                                  bool is_slow) {
  const AccessCost fast = access_cost(machine.tiers.front());
  const AccessCost slow = access_cost(machine.tiers.back());
  // All time memory time: a window cannot change by more than this.
  const double most = std::max({1.0, ratio(slow.load_ns, fast.load_ns),
                                ratio(slow.store_ns, fast.store_ns)});
  std::vector<Nanos> out;
  for (std::size_t w = 0; w < measured.size(); ++w) {
    double difference = 0;
    for (const auto& access : tally.windows[w]) {
      difference += access.loads * (slow.load_ns - fast.load_ns) +
                    access.stores * (slow.store_ns - fast.store_ns);
    }
    const auto time = static_cast<double>(measured[w]);
    const double other = is_slow ? std::max(time - difference, time / most)
                                 : std::min(time + difference, time * most);
    out.push_back(std::llround(other));
  }
  return out;
}

}  // namespace

Result<Differential> Differential::build(Parts parts) {
  if (parts.tally.inside <= 0) {
    return invalid("no sample lies in a mapping of the job");
  }
  lend_shares(parts.tally, parts.phases);
  Differential out;
  out.phases_ = std::move(parts.phases);
  out.slowness_ = thermocline::slowness(parts.machine);
  out.machine_ = std::move(parts.machine);
  out.regions_ = std::move(parts.regions);
  for (std::size_t w = 0; w < parts.slow.size(); ++w) {
    // Whole nanoseconds below 2^53, so that sums of doubles are exact.
    Window window;
    window.slow_ns = static_cast<double>(parts.slow[w]);
    window.fast_ns = static_cast<double>(parts.fast[w]);
    window.first = out.accesses_.size();
    const auto& accesses = parts.tally.windows[w];
    out.accesses_.insert(out.accesses_.end(), accesses.begin(), accesses.end());
    window.last = out.accesses_.size();
    out.windows_.push_back(window);
    out.slow_ns_ += window.slow_ns;
    out.fast_ns_ += window.fast_ns;
  }
  out.page_bytes_ = std::max<Bytes>(parts.page_bytes, 1);
  out.private_bytes_ = parts.private_bytes;
  out.modelled_ = parts.modelled;
  out.job_ = std::move(parts.job);
  out.savings_ = std::move(parts.savings);
  out.doubt_ = std::move(parts.doubt);
  out.savings_.index(out.objects().size());
  out.benefits_ =
      Benefits(out.slow_ns_, out.fast_ns_, out.gains(), out.slowness_);
  return out;
}

std::vector<double> Differential::gains() const {
  std::vector<double> gain(objects().size(), 0);
  for (std::size_t w = 0; w < windows_.size(); ++w) {
    double sum = 0;  // 1 but for rounding
    for (const WindowAccess& access : accesses(w)) sum += access.cost;
    const double whole = windows_[w].slow_ns - windows_[w].fast_ns;
    for (const WindowAccess& access : accesses(w)) {
      gain[access.object] += whole * (access.cost / sum);
    }
  }
  return gain;
}

Result<Differential> Differential::from_pair(const Trace& sampled_slow,
                                             const Trace& recorded,
                                             Options options) {
  if (auto ok = check(options); !ok) return ok.error();
  if (auto ok = check(sampled_slow, "slow"); !ok) return ok.error();
  if (auto ok = check(recorded, "fast"); !ok) return ok.error();
  if (auto ok = check_same(sampled_slow, recorded); !ok) return ok.error();
  auto machine = machine_of(sampled_slow, "slow");
  if (!machine) return machine.error();
  const auto other = machine_of(recorded, "fast");
  if (!other) return other.error();
  if (machine->tiers != other->tiers) {
    return invalid("the traces are of different machines: \"" + machine->name +
                   "\" and \"" + other->name + "\"");
  }
  const auto alignment = Alignment::of(sampled_slow, recorded);
  if (!alignment) return alignment.error();
  std::optional<Trace> moved;
  if (alignment->moved()) moved = alignment->translated(recorded);
  const auto [slow, fast] = restore(sampled_slow, moved ? *moved : recorded);

  RegionMap regions = regions_of(slow, options.region_bytes);
  for (const Mapping& mapping : fast.mappings) regions.add(mapping);
  const NamedRun runs[] = {{"slow", &slow}, {"fast", &fast}};
  auto pieces = cut(runs, options);
  if (!pieces) return pieces.error();
  const WindowCuts& slow_cuts = pieces->runs[0];
  const WindowCuts& fast_cuts = pieces->runs[1];
  auto costs = pair_costs(slow, fast, *machine, slow_cuts, fast_cuts, regions);
  const Tally by_slow = tally(slow, slow_cuts, regions, costs.slow);
  const Tally by_fast = tally(fast, fast_cuts, regions, costs.fast);
  const Weigh alike = by_accesses(store_weight(*machine));
  Doubt doubt(evidence(by_slow, by_fast,
                       mean(tally(slow, slow_cuts, regions, alike),
                            tally(fast, fast_cuts, regions, alike)),
                       slow_cuts, fast_cuts, regions.regions().size()),
              static_cast<double>(slow.run_ns() - fast.run_ns()), costs.known);
  Tally both = mean(by_slow, by_fast);
  smooth(both, regions, 2);
  return build({*std::move(machine), std::move(regions),
                std::move(pieces->phases), std::move(both), lengths(slow_cuts),
                lengths(fast_cuts), slow.info.page_bytes,
                std::max(slow.end.private_bytes, fast.end.private_bytes), false,
                job_of(slow), std::move(costs.savings), std::move(doubt)});
}

Result<Differential> Differential::from_one(const Trace& trace,
                                            Options options) {
  if (auto ok = check(options); !ok) return ok.error();
  if (auto ok = check(trace, "only"); !ok) return ok.error();
  auto machine = machine_of(trace, "only");
  if (!machine) return machine.error();
  const std::string& placement = trace.info.placement;
  const bool is_slow = placement == "all_slow";
  if (!is_slow && placement != "all_fast" && placement != "first_touch" &&
      !placement.empty()) {
    return invalid("a trace of placement \"" + placement +
                   "\" is no endpoint; record under all_slow or all_fast");
  }
  RegionMap regions = regions_of(trace, options.region_bytes);
  const NamedRun run{"only", &trace};
  auto pieces = cut({&run, 1}, options);
  if (!pieces) return pieces.error();
  const WindowCuts& cuts = pieces->runs[0];
  Tally counts =
      tally(trace, cuts, regions, by_accesses(store_weight(*machine)));
  const auto measured = lengths(cuts);
  auto other = other_endpoint(*machine, counts, measured, is_slow);
  return build({*std::move(machine),
                std::move(regions),
                std::move(pieces->phases),
                std::move(counts),
                is_slow ? measured : other,
                is_slow ? other : measured,
                trace.info.page_bytes,
                trace.end.private_bytes,
                true,
                job_of(trace),
                {},
                {}});
}

std::span<const WindowAccess> Differential::accesses(std::size_t w) const {
  const Window& window = windows_[w];
  return std::span(accesses_).subspan(window.first, window.last - window.first);
}

double Differential::window_ns(std::size_t w,
                               std::span<const TierId> placement) const {
  double slow = 0;
  double fast = 0;
  for (const WindowAccess& access : accesses(w)) {
    const double part = slowness_[placement[access.object]];
    slow += access.cost * part;
    fast += access.cost * (1 - part);
  }
  // slow + fast is 1 but for rounding; dividing by it makes the endpoints
  // exact whatever the rounding of the shares.
  const Window& window = windows_[w];
  const auto slowest = static_cast<TierId>(slowness_.size() - 1);
  return window.fast_ns +
         (window.slow_ns - window.fast_ns) * (slow / (slow + fast)) -
         savings_.saved_ns(w, placement, slowest);
}

double Differential::total_ns(std::span<const TierId> placement) const {
  const auto slowest = static_cast<TierId>(slowness_.size() - 1);
  return to_ns(benefits_.total(placement) - savings_.saved(placement, slowest));
}

std::optional<double> Differential::error_ns(
    std::span<const TierId> placement) const {
  if (modelled_) return std::nullopt;
  std::vector<double> slow;
  slow.reserve(placement.size());
  for (const TierId tier : placement) slow.push_back(slowness_[tier]);
  const auto slowest = static_cast<TierId>(slowness_.size() - 1);
  return doubt_.error_ns(slow, to_ns(savings_.saved(placement, slowest)));
}

double Differential::move_ns(Bytes bytes, TierId from, TierId to) const {
  return thermocline::move_ns(machine_, bytes, page_bytes_, from, to);
}

}  // namespace thermocline
