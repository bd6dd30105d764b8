#include "estimator/migration.h"

#include <algorithm>
#include <cmath>
#include <deque>

#include "estimator/access_cost.h"

namespace thermocline {
namespace {

// A link that two want serves them in turn.
constexpr double kLeastShare = 0.5;

Status check(const Differential& job, const Schedule& schedule) {
  const std::size_t objects = job.objects().size();
  const std::size_t tiers = job.machine().tiers.size();
  if (schedule.placement.size() != objects) {
    return invalid("a placement of " +
                   std::to_string(schedule.placement.size()) +
                   " objects, but the job has " + std::to_string(objects));
  }
  for (const TierId tier : schedule.placement) {
    if (tier >= tiers) return invalid("no tier " + std::to_string(tier));
  }
  std::size_t last = 0;
  for (const ScheduledMove& move : schedule.moves) {
    if (move.object >= objects) {
      return invalid("no object " + std::to_string(move.object) + " to move");
    }
    if (move.to >= tiers) return invalid("no tier " + std::to_string(move.to));
    if (move.window > job.windows()) {
      return invalid("a move at window " + std::to_string(move.window) +
                     ", but the job has " + std::to_string(job.windows()));
    }
    if (move.window < last) return invalid("moves are not in order of windows");
    last = move.window;
  }
  if (!(schedule.bytes_per_s >= 0) || std::isinf(schedule.bytes_per_s)) {
    return invalid("the budget for moves must be a number of bytes/s");
  }
  return {};
}

// How busy the job keeps each tier's links in a window, 0 to 1.
struct Load {
  std::vector<double> read;
  std::vector<double> write;
};

Load load_of(const Differential& job, std::size_t w,
             const std::vector<TierId>& placement, double window_ns) {
  const auto& tiers = job.machine().tiers;
  Load out{std::vector<double>(tiers.size(), 0),
           std::vector<double>(tiers.size(), 0)};
  for (const WindowAccess& access : job.accesses(w)) {
    const TierId t = placement[access.object];
    out.read[t] +=
        transfer_ns(access.loads * kLineBytes, tiers[t].read_bytes_per_s);
    out.write[t] +=
        transfer_ns(access.stores * kLineBytes, tiers[t].write_bytes_per_s);
  }
  for (auto* links : {&out.read, &out.write}) {
    for (double& link : *links) {
      link = window_ns > 0 ? std::min(1.0, link / window_ns) : 0;
    }
  }
  return out;
}

struct Copy {
  ObjectId object = 0;
  TierId to = 0;
  double left = 1;  // share of it
};

struct CopyCost {
  double ns = 0;            // that it takes
  double interference = 0;  // that it takes from the job
};

class Engine {
 public:
  Engine(const Differential& job, double budget) : job_(job), budget_(budget) {}

  CopyCost cost(const Copy& copy, TierId from, const Load* load) const {
    const auto& tiers = job_.machine().tiers;
    const Bytes bytes = job_.objects()[copy.object].bytes();
    const auto size = static_cast<double>(bytes);
    CopyCost out;
    out.ns = job_.move_ns(bytes, from, copy.to);
    if (load != nullptr) {
      share(transfer_ns(size, tiers[from].read_bytes_per_s), load->read[from],
            out);
      share(transfer_ns(size, tiers[copy.to].write_bytes_per_s),
            load->write[copy.to], out);
    }
    out.ns = std::max(out.ns, transfer_ns(size, budget_));
    return out;
  }

 private:
  static void share(double held, double load, CopyCost& out) {
    out.ns += held * (1 / std::max(1 - load, kLeastShare) - 1);
    out.interference += held * load;
  }
  const Differential& job_;
  double budget_;
};

}  // namespace

Result<ScheduledRun> run_schedule(const Differential& job,
                                  const Schedule& schedule) {
  if (auto ok = check(job, schedule); !ok) return ok.error();
  const Engine engine(job, schedule.bytes_per_s);
  ScheduledRun out;
  std::vector<TierId> placement = schedule.placement;
  std::deque<Copy> waiting;
  auto next = schedule.moves.begin();
  double changed = 0;  // time under the placements, against the first
  std::size_t since = 0;
  const auto judge = [&](std::size_t until) {
    const auto error = job.error_ns(placement);
    if (!error || until == since) return;
    const double part =
        static_cast<double>(until - since) / static_cast<double>(job.windows());
    out.error_ns = out.error_ns.value_or(0) + *error * part;
    since = until;
  };
  const auto skip_settled = [&] {
    while (!waiting.empty() &&
           placement[waiting.front().object] == waiting.front().to) {
      waiting.pop_front();
    }
  };
  const auto begin = [&](std::size_t window) {
    for (; next != schedule.moves.end() && next->window <= window; ++next) {
      waiting.push_back({next->object, next->to, 1});
    }
    skip_settled();
  };
  for (std::size_t w = 0; w < job.windows(); ++w) {
    begin(w);
    if (waiting.empty() && out.arrivals.empty()) continue;
    const double time = job.window_ns(w, placement);
    changed += time - job.window_ns(w, schedule.placement);
    if (waiting.empty()) continue;
    const Load load = load_of(job, w, placement, time);
    // Where objects are while the copies of this window go on.
    std::vector<TierId> after = placement;
    double left = std::max(time, 0.0);
    while (!waiting.empty() && left > 0) {
      Copy& copy = waiting.front();
      const TierId from = after[copy.object];
      if (from == copy.to) {
        waiting.pop_front();
        continue;
      }
      const CopyCost whole = engine.cost(copy, from, &load);
      const bool ends = copy.left * whole.ns <= left;
      const double part = ends ? copy.left : left / whole.ns;
      out.interference_ns += part * whole.interference;
      left -= part * whole.ns;
      copy.left -= part;
      if (!ends) break;
      after[copy.object] = copy.to;
      out.moved += job.objects()[copy.object].bytes();
      out.arrivals.push_back({w + 1, copy.object, copy.to});
      waiting.pop_front();
    }
    if (after != placement) {
      judge(w + 1);
      placement = std::move(after);
    }
  }
  judge(job.windows());
  begin(job.windows());
  for (const Copy& copy : waiting) {
    const TierId from = placement[copy.object];
    if (from == copy.to) continue;
    out.waited_ns += copy.left * engine.cost(copy, from, nullptr).ns;
    out.moved += job.objects()[copy.object].bytes();
    placement[copy.object] = copy.to;
  }
  std::erase_if(out.arrivals, [&](const ScheduledMove& move) {
    return move.window >= job.windows();
  });
  out.run_ns = job.total_ns(schedule.placement) + changed + out.waited_ns +
               out.interference_ns;
  if (out.error_ns) *out.error_ns += out.waited_ns + out.interference_ns;
  return out;
}

}  // namespace thermocline
