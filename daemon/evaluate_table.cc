#include "daemon/evaluate_table.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "agent/clairvoyant.h"
#include "agent/evaluation.h"
#include "daemon/policy_maker.h"
#include "daemon/policy_watch.h"
#include "daemon/units.h"
#include "policies/bounds.h"
#include "policies/packing.h"
#include "policies/replay.h"

namespace thermocline {
namespace {

using GoOn = std::function<bool()>;

// Objects by windows that the bound may take: 600 MiB, a minute or two.
constexpr std::size_t kMostCells = 50'000'000;

double seconds() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void time_decisions(std::vector<double> taken, EvaluatedRow& row) {
  row.decisions = taken.size();
  if (taken.empty()) return;
  std::sort(taken.begin(), taken.end());
  row.decision_median_s = taken[taken.size() / 2];
  row.decision_max_s = taken.back();
}

Bytes part(Bytes whole, double share) {
  return static_cast<Bytes>(static_cast<double>(whole) * share);
}

// Tiers between the fastest and the slowest hold the same share, as in the
// learning environment.
Room room_of(const Iteration& step, double share,
             const EvaluateOptions& given) {
  Room room;
  room.alignment = given.alignment;
  room.capacity.assign(step.tiers(), part(step.peak_bytes(), share));
  // Enough for all of it, however small tensors are beside the alignment.
  room.capacity.back() = 4 * step.peak_bytes() + (Bytes{1} << 20) +
                         step.tensors() * given.alignment;
  if (given.copy_bytes_per_s > 0)
    room.copy_bytes_per_s = given.copy_bytes_per_s;
  return room;
}

// What lies elsewhere than a user would think.
std::string oversized(const Iteration& step, Bytes fast) {
  std::size_t many = 0;
  std::size_t largest = 0;
  for (std::size_t t = 0; t < step.tensors(); ++t) {
    if (step.tensor(t).bytes > fast) ++many;
    if (step.tensor(t).bytes > step.tensor(largest).bytes) largest = t;
  }
  if (many == 0) return {};
  const auto& one = step.tensor(largest);
  return (many == 1 ? "tensor "
                    : std::to_string(many) + " tensors, as tensor ") +
         std::to_string(one.serial) + " of " +
         show_bytes(static_cast<double>(one.bytes)) +
         (many == 1 ? " is" : ", are") +
         " larger than fast memory and never in it";
}

// Sizes are shares of what the job needs, whatever the machine has.
std::string smaller_than_meant(const std::vector<Tier>& tiers, Bytes peak,
                               Bytes fast) {
  for (std::size_t t = 0; t < tiers.size(); ++t) {
    const Bytes has = tiers[t].capacity;
    const Bytes meant = t + 1 < tiers.size() ? fast : peak;
    if (has == 0 || has >= meant) continue;
    return "the machine's tier " + std::to_string(t) + " has " +
           show_bytes(static_cast<double>(has)) + ", less than the " +
           show_bytes(static_cast<double>(meant)) + " that is taken here";
  }
  return {};
}

void add_note(const std::string& more, std::string& note) {
  if (more.empty()) return;
  if (!note.empty()) note += "; ";
  note += more;
}

// Who decided, where it was not the policy by itself.
std::string stand_in(const Policy& policy) {
  const auto counts = policy.counts();
  const auto count = [&](const char* name) {
    const auto at = counts.find(name);
    return at == counts.end() ? 0 : at->second;
  };
  if (count("unplanned_windows") > 0) {
    return "no plan was in force, so hottest_first decided; only jobs of "
           "tensors have steps to plan for";
  }
  const auto instead = count("fallback_windows");
  if (instead == 0) return {};
  return "in " + std::to_string(instead) + " of " +
         std::to_string(instead + count("replies")) +
         " windows its fallback decided: " + who_decides(policy);
}

void run_tensors(const Iteration& step, double share,
                 const EvaluateOptions& given, const GoOn& go_on,
                 Policy& policy, EvaluatedRow& row) {
  ReplayOptions options;
  options.steps = given.steps;
  options.clock = seconds;
  options.go_on = [&](std::size_t) { return go_on(); };
  const auto out = replay(step, room_of(step, share, given), policy, options);
  if (!out) {
    row.error = out.error().message;
    return;
  }
  row.time_ns = out->steady_ns();
  row.moved_bytes = out->steady_copied();
  row.planned = out->planned;
  row.unplaced = out->unplaced.size();
  row.note = out->note;
  if (given.follow && !out->steps_ns.empty()) row.moves = follow(step, *out);
  time_decisions(out->decisions_s, row);
}

Episode episode_of(const World& world, double share, double copy_bytes_per_s) {
  Episode out;
  out.capacity = share;
  if (copy_bytes_per_s > 0) {
    const double window_s =
        world.slow_ns() / 1e9 / static_cast<double>(world.windows.size());
    out.budget = copy_bytes_per_s * window_s /
                 static_cast<double>(std::max<Bytes>(1, world.footprint()));
  }
  return out;
}

void run_pages(const World& world, double share, const EvaluateOptions& given,
               const GoOn& go_on, Policy& policy, EvaluatedRow& row) {
  Episode episode = episode_of(world, share, given.copy_bytes_per_s);
  const TierId birth = policy.birth_tier(world.tiers.size());
  if (birth + std::size_t{1} == world.tiers.size()) {
    episode.start = Episode::Start::kSlow;
  }
  std::vector<double> taken;
  const Decide decide = [&](const View& view) {
    if (!go_on()) return std::vector<Move>();
    const double begun = seconds();
    auto moves = policy.decide(view);
    taken.push_back(seconds() - begun);
    return moves;
  };
  const Played out = given.follow ? follow(world, episode, decide, row.moves)
                                  : play(world, episode, decide);
  row.time_ns = out.time_ns;
  row.moved_bytes = out.moved_bytes;
  time_decisions(std::move(taken), row);
}

EvaluatedTable describe(const EvaluatedJob& job) {
  EvaluatedTable out;
  out.job = job.name;
  if (job.step) {
    out.tensors = true;
    out.tiers = job.step->tiers();
    out.objects = job.step->tensors();
    out.parts = job.step->operators();
    out.peak = job.step->peak_bytes();
    out.all_fast_ns = job.step->all_fast_ns();
    out.all_slow_ns = job.step->all_slow_ns();
  } else {
    out.tiers = job.world->tiers.size();
    out.objects = job.world->bytes.size();
    out.parts = job.world->windows.size();
    out.peak = job.world->footprint();
    out.all_fast_ns = job.world->fast_ns();
    out.all_slow_ns = job.world->slow_ns();
  }
  return out;
}

EvaluatedShare bounds(const EvaluatedJob& job, double share) {
  EvaluatedShare out;
  out.share = share;
  if (job.world) {
    out.fast = part(job.world->footprint(), share);
    out.note =
        smaller_than_meant(job.world->tiers, job.world->footprint(), out.fast);
    const Episode episode = episode_of(*job.world, share, 0);
    out.bound_ns = free_moves_bound_ns(*job.world, episode);
    out.static_bound_ns = static_bound_ns(*job.world, episode);
    const std::size_t cells =
        job.world->bytes.size() * job.world->windows.size();
    if (cells > kMostCells) {
      add_note("the bound with moves paid is left out, for it would take " +
                   std::to_string(cells >> 20) + " times 12 MiB of memory",
               out.note);
      return out;
    }
    const auto all = clairvoyant(*job.world, episode, pack_full);
    out.paid_bound_ns = all.bound_ns;
    out.clairvoyant_ns = all.played.time_ns;
    return out;
  }
  out.fast = part(job.step->peak_bytes(), share);
  out.bound_ns = free_moves_bound_ns(*job.step, out.fast);
  const auto still = static_bound_ns(*job.step, out.fast);
  // Both hold for a plan without moves.
  if (still) out.static_bound_ns = std::max(*still, out.bound_ns);
  if (!still) out.note = still.error().message;
  add_note(oversized(*job.step, out.fast), out.note);
  add_note(smaller_than_meant(job.step->machine().tiers, job.step->peak_bytes(),
                              out.fast),
           out.note);
  return out;
}

}  // namespace

EvaluatedRow evaluate_one(const EvaluatedJob& job, const Contestant& who,
                          double share, const EvaluateOptions& given,
                          const GoOn& go_on) {
  EvaluatedRow row;
  row.who = who;
  const auto policy = make_policy(who.policy, who.options);
  if (!policy) {
    row.error = policy.error().message;
  } else if (job.step) {
    run_tensors(*job.step, share, given, go_on, **policy, row);
  } else {
    run_pages(*job.world, share, given, go_on, **policy, row);
  }
  if (policy && row.error.empty()) add_note(stand_in(**policy), row.note);
  return row;
}

Status evaluate(const std::vector<EvaluatedJob>& jobs,
                const EvaluateOptions& options,
                const std::function<bool(double, const std::string&)>& go_on,
                std::vector<EvaluatedTable>& out) {
  const auto all = static_cast<double>(jobs.size() * options.shares.size() *
                                       (options.policies.size() + 1));
  double done = 0;
  for (const EvaluatedJob& job : jobs) {
    out.push_back(describe(job));
    EvaluatedTable& table = out.back();
    for (const double share : options.shares) {
      bool stopped = false;
      std::string now;
      const GoOn more = [&] {
        stopped = stopped || !go_on(done / all, now);
        return !stopped;
      };
      now = job.name + ", bounds";
      if (!more()) return interrupted("stopped");
      table.shares.push_back(bounds(job, share));
      EvaluatedShare& here = table.shares.back();
      now = job.name + ", first_touch";
      const EvaluatedRow base =
          evaluate_one(job, {"first_touch", "", ""}, share, options, more);
      if (stopped) return interrupted("stopped");
      done += 1;
      const double gap = base.time_ns - table.all_fast_ns;
      for (const Contestant& who : options.policies) {
        now = job.name + ", " + who.name();
        EvaluatedRow row = evaluate_one(job, who, share, options, more);
        if (stopped) return interrupted("stopped");
        done += 1;
        if (row.error.empty() && base.error.empty() &&
            gap > 1e-9 * table.all_fast_ns) {
          row.gap_closed = (base.time_ns - row.time_ns) / gap;
        }
        here.rows.push_back(std::move(row));
      }
    }
  }
  return {};
}

}  // namespace thermocline
