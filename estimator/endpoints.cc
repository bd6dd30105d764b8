#include "estimator/endpoints.h"

#include <algorithm>
#include <utility>

#include "estimator/alignment.h"
#include "estimator/store_hits.h"
#include "estimator/streams.h"
#include "traces/from_cache.h"

namespace thermocline {
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

Status check_tiers(const Machine& machine, const NamedRun& run) {
  const auto other = machine_of(*run.trace, run.name);
  if (!other) return other.error();
  if (machine.tiers == other->tiers) return {};
  return invalid("the traces are of different machines: \"" + machine.name +
                 "\" and \"" + other->name + "\"");
}

const Trace* keep(Endpoints& out, Trace trace) {
  out.made.push_back(std::make_unique<Trace>(std::move(trace)));
  return out.made.back().get();
}

Status leave_caches_out(Endpoints& out, NamedRun& run) {
  const auto& samples = run.trace->samples;
  if (std::none_of(samples.begin(), samples.end(), from_cache)) return {};
  const auto hits = store_hits(*run.trace);
  out.store_hits.insert(out.store_hits.end(), hits.begin(), hits.end());
  run.trace = keep(out, from_memory(*run.trace));
  if (!run.trace->samples.empty()) return {};
  return invalid("the " + run.name +
                 " trace holds no samples but of caches; record misses");
}

// What prefetchers fetched unseen (streams.h), each run's beside the last
// one's; the last one's beside the first's.
void put_lines_back(Endpoints& out) {
  const Trace& last = *out.runs.back().trace;
  for (std::size_t r = 0; r + 1 < out.runs.size(); ++r) {
    auto [one, beside] = restore(*out.runs[r].trace, last);
    out.runs[r].trace = keep(out, std::move(one));
    if (r == 0) out.runs.back().trace = keep(out, std::move(beside));
  }
}

// Phases, as they were sampled, and windows of the runs, whose addresses are
// one.
Status cut(Endpoints& out, const Differential::Options& options) {
  const auto phases = match_phases(out.runs, options.phases);
  if (!phases) return phases.error();
  if (phases->names.size() > kMostWindows) {
    return invalid("the runs go through " +
                   std::to_string(phases->names.size()) +
                   " phases, more than are estimated; --phases none takes the "
                   "job as one phase");
  }
  put_lines_back(out);
  std::vector<const Trace*> traces;
  for (const NamedRun& run : out.runs) traces.push_back(run.trace);
  auto cuts =
      cut_runs(traces, *phases, static_cast<std::size_t>(options.windows));
  out.cuts = std::move(cuts.runs);
  std::size_t first = 0;
  for (std::size_t p = 0; p < phases->names.size(); ++p) {
    out.phases.push_back({phases->names[p], first, cuts.phase_ends[p]});
    first = cuts.phase_ends[p];
  }
  return {};
}

}  // namespace

std::vector<double> Endpoints::lengths(std::size_t run) const {
  const auto& at = cuts[run].at;
  std::vector<double> out;
  for (std::size_t w = 0; w + 1 < at.size(); ++w) {
    out.push_back(static_cast<double>(at[w + 1] - at[w]));
  }
  return out;
}

Result<Endpoints> Endpoints::of(std::span<const NamedRun> runs,
                                const Differential::Options& options) {
  CHECK(!runs.empty());
  if (auto ok = check(options); !ok) return ok.error();
  const NamedRun& first = runs[0];
  for (const NamedRun& run : runs) {
    if (auto ok = check(*run.trace, run.name); !ok) return ok.error();
  }
  for (const NamedRun& run : runs) {
    if (auto ok = check_same(*first.trace, *run.trace); !ok) return ok.error();
  }
  auto machine = machine_of(*first.trace, first.name);
  if (!machine) return machine.error();
  Endpoints out{.machine = *std::move(machine),
                .job = job_of(*first.trace),
                .runs = {runs.begin(), runs.end()},
                .regions = RegionMap(options.region_bytes),
                .phases = {},
                .cuts = {},
                .store_hits = {},
                .made = {}};
  for (NamedRun& run : out.runs) {
    if (auto ok = check_tiers(out.machine, run); !ok) return ok.error();
    if (run.trace != first.trace) {
      const auto alignment = Alignment::of(*first.trace, *run.trace);
      if (!alignment) return alignment.error();
      if (alignment->moved()) {
        run.trace = keep(out, alignment->translated(*run.trace));
      }
    }
    for (const Mapping& mapping : run.trace->mappings) out.regions.add(mapping);
    if (auto ok = leave_caches_out(out, run); !ok) return ok.error();
  }
  if (auto ok = cut(out, options); !ok) return ok.error();
  return out;
}

}  // namespace thermocline
