#include "estimator/differential.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "estimator/access_cost.h"
#include "estimator/endpoints.h"
#include "estimator/pair_costs.h"
#include "estimator/smoothing.h"
#include "estimator/tally.h"
#include "estimator/waits.h"

namespace thermocline {

struct Differential::Parts {
  struct Level {
    TierId tier = 0;
    std::vector<double> ns;  // of each window
    Tally tally;
    Doubt doubt;
  };
  Endpoints ends;
  std::vector<double> fast_ns;  // of each window
  std::vector<Level> levels;    // by tier, the slowest last
  Savings savings;
  bool modelled = false;
  std::vector<std::vector<ObjectWait>> waits = {};
};

namespace {

// What each object gains by the shares of each of three tallies.
std::vector<ObjectEvidence> evidence(const Tally& by_slow, const Tally& by_fast,
                                     const Tally& alike,
                                     const std::vector<double>& slow,
                                     const std::vector<double>& fast,
                                     std::size_t objects) {
  std::vector<ObjectEvidence> out(objects);
  for (std::size_t w = 0; w < slow.size(); ++w) {
    const double gain = slow[w] - fast[w];
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
std::vector<double> other_endpoint(const Machine& machine, const Tally& tally,
                                   const std::vector<double>& measured,
                                   bool is_slow) {
  const AccessCost fast = access_cost(machine.tiers.front());
  const AccessCost slow = access_cost(machine.tiers.back());
  // All time memory time: a window cannot change by more than this, in either
  // direction, for a machine may have its tiers the wrong way round.
  const double most = std::max({1.0, ratio(slow.load_ns, fast.load_ns),
                                ratio(slow.store_ns, fast.store_ns),
                                ratio(fast.load_ns, slow.load_ns),
                                ratio(fast.store_ns, slow.store_ns)});
  std::vector<double> out;
  for (std::size_t w = 0; w < measured.size(); ++w) {
    double difference = 0;
    for (const auto& access : tally.windows[w]) {
      difference += access.loads * (slow.load_ns - fast.load_ns) +
                    access.stores * (slow.store_ns - fast.store_ns);
    }
    const double time = measured[w];
    const double other = time + (is_slow ? -difference : difference);
    out.push_back(std::round(std::clamp(other, time / most, time * most)));
  }
  return out;
}

// The machine as if it had the fastest tier and this one.
Machine with_tiers(const Machine& machine, TierId slow) {
  Machine out = machine;
  out.tiers = {machine.tiers.front(), machine.tiers[slow]};
  return out;
}

}  // namespace

Result<Differential> Differential::build(Parts parts) {
  Differential out;
  out.machine_ = std::move(parts.ends.machine);
  out.job_ = std::move(parts.ends.job);
  out.phases_ = std::move(parts.ends.phases);
  out.regions_ = std::move(parts.ends.regions);
  out.fast_ = std::move(parts.fast_ns);
  out.modelled_ = parts.modelled;
  out.savings_ = std::move(parts.savings);
  out.waits_ = std::move(parts.waits);
  for (const NamedRun& run : parts.ends.runs) {
    out.page_bytes_ =
        std::max<Bytes>(parts.ends.runs[0].trace->info.page_bytes, 1);
    out.private_bytes_ =
        std::max(out.private_bytes_, run.trace->end.private_bytes);
  }
  // Whole nanoseconds below 2^53, so that sums of doubles are exact.
  for (const double ns : out.fast_) out.fast_ns_ += ns;
  for (auto& one : parts.levels) {
    if (one.tally.inside <= 0) {
      return invalid("no sample lies in a mapping of the job");
    }
    lend_shares(one.tally, out.phases_);
    Level level;
    level.tier = one.tier;
    level.ns = std::move(one.ns);
    level.doubt = std::move(one.doubt);
    for (std::size_t w = 0; w < level.ns.size(); ++w) {
      const auto& accesses = one.tally.windows[w];
      level.accesses.insert(level.accesses.end(), accesses.begin(),
                            accesses.end());
      level.ends.push_back(level.accesses.size());
      level.total_ns += level.ns[w];
    }
    out.levels_.push_back(std::move(level));
  }
  out.savings_.index(out.objects().size());
  out.weigh_tiers();
  std::vector<TierGain> gains;
  for (const Level& level : out.levels_) {
    gains.push_back({level.total_ns, out.gains(level)});
  }
  out.benefits_ = Benefits(out.fast_ns_, gains, out.weights_);
  return out;
}

void Differential::weigh_tiers() {
  const auto by_latency = thermocline::slowness(machine_);
  slowness_ = by_latency;
  weights_.assign(machine_.tiers.size(),
                  std::vector<double>(levels_.size(), 0));
  std::size_t above = 0;  // the level that is not faster
  for (std::size_t t = 1; t < machine_.tiers.size(); ++t) {
    if (levels_[above].tier < t) ++above;
    const Level& slower = levels_[above];
    if (slower.tier == t) {
      weights_[t][above] = 1;
      const double gap = slow_ns() - fast_ns_;
      if (gap > 0 && above + 1 < levels_.size()) {
        slowness_[t] = std::clamp((slower.total_ns - fast_ns_) / gap, 0.0, 1.0);
      }
      continue;
    }
    const double low = above > 0 ? by_latency[levels_[above - 1].tier] : 0;
    const double span = by_latency[slower.tier] - low;
    const double part =
        span > 0 ? std::clamp((by_latency[t] - low) / span, 0.0, 1.0) : 1;
    weights_[t][above] = part;
    if (above > 0) weights_[t][above - 1] = 1 - part;
  }
}

std::vector<double> Differential::gains(const Level& level) const {
  std::vector<double> gain(objects().size(), 0);
  for (std::size_t w = 0; w < windows(); ++w) {
    double sum = 0;  // 1 but for rounding
    for (const WindowAccess& access : level.at(w)) sum += access.cost;
    const double whole = level.ns[w] - fast_[w];
    for (const WindowAccess& access : level.at(w)) {
      gain[access.object] += whole * (access.cost / sum);
    }
  }
  return gain;
}

Result<Differential> Differential::from_pair(const Trace& slow,
                                             const Trace& fast,
                                             Options options) {
  const NamedRun runs[] = {{"slow", &slow}, {"fast", &fast}};
  auto ends = Endpoints::of(runs, options);
  if (!ends) return ends.error();
  const auto slowest = static_cast<TierId>(ends->machine.tiers.size() - 1);
  return from_ends({*std::move(ends), {}, {}, {}, false}, {slowest, 0},
                   options);
}

Result<Differential> Differential::from_tiers(
    const std::map<TierId, const Trace*>& traces, Options options) {
  CHECK(!traces.empty());
  const auto machine = Machine::from_json(traces.begin()->second->info.machine);
  if (!machine) return machine.error();
  const auto slowest = static_cast<TierId>(machine->tiers.size() - 1);
  std::vector<NamedRun> runs;
  std::vector<TierId> tiers;
  for (auto at = traces.rbegin(); at != traces.rend(); ++at) {
    const auto& [tier, trace] = *at;
    if (tier > slowest) {
      return not_found("machine \"" + machine->name + "\" has no tier " +
                       std::to_string(tier));
    }
    runs.push_back({tier == 0         ? "fast"
                    : tier == slowest ? "slow"
                                      : machine->tiers[tier].name,
                    trace});
    tiers.push_back(tier);
  }
  if (tiers.front() != slowest || tiers.back() != 0 || slowest == 0) {
    return invalid(
        "traces with all in one tier are needed of the slowest and of the "
        "fastest tier, before others are of use");
  }
  auto ends = Endpoints::of(runs, options);
  if (!ends) return ends.error();
  return from_ends({*std::move(ends), {}, {}, {}, false}, tiers, options);
}

Result<Differential> Differential::from_ends(Parts parts,
                                             const std::vector<TierId>& tiers,
                                             const Options& options) {
  const Endpoints& ends = parts.ends;
  const std::size_t last = ends.runs.size() - 1;
  const Trace& fast = *ends.runs[last].trace;
  const WindowCuts& fast_cuts = ends.cuts[last];
  parts.fast_ns = ends.lengths(last);
  const auto run_of = [&](std::size_t r) {
    return TierRun{tiers[r], ends.runs[r].trace, &ends.cuts[r]};
  };
  std::vector<TierRun> between;  // the fastest first
  for (std::size_t r = last; r-- > 1;) between.push_back(run_of(r));
  for (std::size_t r = last; r-- > 0;) {
    const Trace& slow = *ends.runs[r].trace;
    const WindowCuts& cuts = ends.cuts[r];
    const auto ns = ends.lengths(r);
    // What overlaps is told of all tiers at once.
    const bool whole = r == 0;
    const Machine machine =
        whole ? ends.machine : with_tiers(ends.machine, tiers[r]);
    auto costs = pair_costs(
        run_of(r), run_of(last), whole ? between : std::span<const TierRun>(),
        machine, ends.regions, ends.store_hits, options.overlap && whole);
    const Tally by_slow = tally(slow, cuts, ends.regions, costs.slow);
    const Tally by_fast = tally(fast, fast_cuts, ends.regions, costs.fast);
    const Weigh alike = by_accesses(store_weight(machine));
    Doubt doubt(evidence(by_slow, by_fast,
                         mean(tally(slow, cuts, ends.regions, alike),
                              tally(fast, fast_cuts, ends.regions, alike)),
                         ns, parts.fast_ns, ends.regions.regions().size()),
                static_cast<double>(slow.run_ns() - fast.run_ns()),
                costs.known);
    Tally both = mean(by_slow, by_fast);
    if (costs.sequenced) {
      const auto& [misses, windows, weights] = *costs.sequenced;
      both = first_of(tally(misses, windows, ends.regions, weights), both);
    }
    if (options.even_out != EvenOut::kNone) {
      smooth(both, ends.regions, costs.sequenced ? 1 : 2, options.even_out);
    }
    parts.levels.push_back({tiers[r], ns, std::move(both), std::move(doubt)});
    if (r == 0) parts.savings = std::move(costs.savings);
  }
  parts.waits = object_waits(run_of(0), run_of(last), ends.regions);
  return build(std::move(parts));
}

Result<Differential> Differential::from_one(const Trace& trace,
                                            Options options) {
  const NamedRun run{"only", &trace};
  auto ends = Endpoints::of({&run, 1}, options);
  if (!ends) return ends.error();
  const std::string& placement = trace.info.placement;
  const bool is_slow = placement == "all_slow";
  if (!is_slow && placement != "all_fast" && placement != "first_touch" &&
      !placement.empty()) {
    return invalid("a trace of placement \"" + placement +
                   "\" is no endpoint; record under all_slow or all_fast");
  }
  const Machine& machine = ends->machine;
  Tally counts = tally(trace, ends->cuts[0], ends->regions,
                       by_accesses(store_weight(machine)));
  const auto measured = ends->lengths(0);
  auto other = other_endpoint(machine, counts, measured, is_slow);
  const auto slowest = static_cast<TierId>(machine.tiers.size() - 1);
  return build({*std::move(ends),
                is_slow ? other : measured,
                {{slowest, is_slow ? measured : other, std::move(counts), {}}},
                {},
                true});
}

bool Differential::measured(TierId t) const {
  if (modelled_) return false;
  return t == 0 || std::any_of(levels_.begin(), levels_.end(),
                               [t](const Level& one) { return one.tier == t; });
}

double Differential::window_ns(std::size_t w,
                               std::span<const TierId> placement) const {
  double ns = fast_[w];
  for (std::size_t l = 0; l < levels_.size(); ++l) {
    double slow = 0;
    double fast = 0;
    for (const WindowAccess& access : levels_[l].at(w)) {
      const double part = weights_[placement[access.object]][l];
      slow += access.cost * part;
      fast += access.cost * (1 - part);
    }
    // slow + fast is 1 but for rounding; dividing by it makes the endpoints
    // exact whatever the rounding of the shares.
    ns += (levels_[l].ns[w] - fast_[w]) * (slow / (slow + fast));
  }
  return ns - savings_.saved_ns(w, placement);
}

void Differential::each_cost(std::size_t w, std::span<const TierId> placement,
                             const CostVisitor& visit) const {
  for (std::size_t l = 0; l < levels_.size(); ++l) {
    const double gap = levels_[l].ns[w] - fast_[w];
    const bool last = l + 1 == levels_.size();
    for (const WindowAccess& access : levels_[l].at(w)) {
      const double cost = access.cost * gap;
      visit({access.object, cost * weights_[placement[access.object]][l],
             last ? cost : 0, last ? access.cost : 0});
    }
  }
}

double Differential::total_ns(std::span<const TierId> placement) const {
  return to_ns(benefits_.total(placement) - savings_.saved(placement));
}

void Differential::totals(std::span<const TierId> placements,
                          std::span<FineNanos> totals, unsigned threads) const {
  benefits_.totals(placements, totals, threads);
  savings_.take_from(totals, placements, threads);
}

std::optional<double> Differential::error_ns(
    std::span<const TierId> placement) const {
  if (modelled_) return std::nullopt;
  double square = 0;
  std::vector<double> slow(placement.size());
  for (std::size_t l = 0; l < levels_.size(); ++l) {
    for (std::size_t o = 0; o < slow.size(); ++o) {
      slow[o] = weights_[placement[o]][l];
    }
    const bool last = l + 1 == levels_.size();
    const double saved = last ? to_ns(savings_.saved(placement)) : 0;
    const double one = levels_[l].doubt.error_ns(slow, saved);
    if (levels_.size() == 1) return one;
    square += one * one;
  }
  return std::sqrt(square);
}

double Differential::move_ns(Bytes bytes, TierId from, TierId to) const {
  return thermocline::move_ns(machine_, bytes, page_bytes_, from, to);
}

}  // namespace thermocline
