#include "estimator/group_time.h"

#include <algorithm>
#include <cmath>

namespace thermocline {
namespace {

constexpr int kRounds = 10;        // of the fixed point; each halves the error
constexpr double kFullest = 0.98;  // of a link, where its queue is told

double fourth(double value) { return value * value * value * value; }

// Two links and what is waited for, at once: somewhat more than the longest.
double together(double link, double other, double wait) {
  const double links =
      std::sqrt(fourth(link) * fourth(link) + fourth(other) * fourth(other));
  return std::sqrt(std::sqrt(links + fourth(wait)));
}

struct Sum {
  double ns = 0;
  double link = 0;
  double wait = 0;
  double streamed = 0;  // wait of sequential kinds
  double queue = 0;

  void add(const TierTime& one, bool sequential, double count) {
    ns += count * one.ns;
    link += count * one.link_ns;
    (sequential ? streamed : wait) += count * one.wait_ns;
    queue += count * one.queue_ns;
  }
};

// One tier: what lies in it, and what would if everything did.
struct Side {
  Sum placed;
  Sum all;
  double scale = 1;  // makes the model's time of `all` the run's
  double idle = 1;   // share of the link's time
  double burst = 0;  // share of the queue that is of its own making

  // False where nothing is known of it.
  bool calibrate() {
    if (all.ns <= 0) return false;
    const double busy = std::min(1.0, all.link / all.ns);
    idle = 1 - busy;
    const double model =
        together(all.link, 0, all.wait + all.streamed * idle + all.queue);
    if (model <= 0) return false;
    scale = all.ns / model;
    burst = 1 - std::min(1.0, busy * scale);
    return true;
  }
  double link() const { return placed.link * scale; }
  double streamed() const { return placed.streamed * idle * scale; }
  // How much of a link's queue is left, in a group that takes `time`.
  double queue(double time) const {
    if (all.link <= 0) return 0;
    const auto full = [](double link, double within) {
      return link / std::max(within - link, (1 - kFullest) * within);
    };
    const double crowd =
        std::min(1.0, full(link(), time) / full(all.link * scale, all.ns));
    const double left = burst * (placed.link / all.link) + (1 - burst) * crowd;
    return placed.queue * scale * left;
  }
};

// What is waited for of one kind: a part for each access alone, and one in
// which those in flight hold each other up.
double waited(const SampleKind& kind, const PlacedKind& placed,
              double slow_scale, double fast_scale) {
  const double all = placed.slow + placed.fast;
  const double slow = kind.slow.wait_ns * slow_scale;
  const double fast = kind.fast.wait_ns * fast_scale;
  const double share = placed.slow / all;
  const double shared = 1 - 1 / kind.in_flight;
  const double held = 1 - std::pow(1 - share, (kind.in_flight + 1) / 2);
  const double slow_share = (1 - shared) * share + shared * held;
  return all * (fast + (slow - fast) * slow_share);
}

}  // namespace

double group_saves(std::span<const SampleKind> kinds,
                   std::span<const PlacedKind> group, double slow_scale,
                   double fast_scale) {
  Side slow, fast;
  for (const PlacedKind& one : group) {
    const SampleKind& kind = kinds[one.kind];
    const double all = one.slow + one.fast;
    slow.placed.add(kind.slow, kind.sequential, one.slow);
    slow.all.add(kind.slow, kind.sequential, all);
    fast.placed.add(kind.fast, kind.sequential, one.fast);
    fast.all.add(kind.fast, kind.sequential, all);
  }
  if (slow.placed.ns <= 0 || fast.placed.ns <= 0) return 0;
  if (!slow.calibrate() || !fast.calibrate()) return 0;
  double wait = slow.streamed() + fast.streamed();
  for (const PlacedKind& one : group) {
    if (kinds[one.kind].sequential) continue;
    wait += waited(kinds[one.kind], one, slow.scale, fast.scale);
  }
  const double sum = slow.placed.ns + fast.placed.ns;
  double time = sum;
  for (int i = 0; i < kRounds; ++i) {
    const double next = together(slow.link(), fast.link(),
                                 wait + slow.queue(time) + fast.queue(time));
    time = (time + next) / 2;
  }
  // Each tier's part in proportion to its share of the sum.
  const double by =
      (slow.placed.ns * slow_scale + fast.placed.ns * fast_scale) / sum;
  return (sum - time) * by;
}

}  // namespace thermocline
