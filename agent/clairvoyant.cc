#include "agent/clairvoyant.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace thermocline {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// An episode as the dynamic programs see it.
struct Problem {
  Problem(const World& world, const Episode& episode);

  double cost(std::size_t object, std::size_t step) const {
    return gap[object * steps + step];
  }

  const World& world;
  std::size_t objects;
  std::size_t tiers;
  std::size_t steps;
  double fixed_ns = 0;            // what no placement changes
  std::vector<double> gap;        // objects x steps: slowest over fastest, ns
  std::vector<std::size_t> born;  // by object; steps: never
  std::vector<TierId> born_in;    // by object; kNoTier: where it likes
  std::vector<double> capacity;   // by tier but the slowest, bytes
};

Problem::Problem(const World& w, const Episode& episode)
    : world(w), objects(w.bytes.size()), tiers(w.tiers.size()) {
  const std::size_t last = episode.end(w);
  CHECK(tiers >= 2 && episode.first < last && episode.group >= 1);
  steps = episode.steps(w);
  gap.assign(objects * steps, 0);
  born.assign(objects, steps);
  for (std::size_t at = 0; at < last; ++at) {
    const World::Window& window = w.windows[at];
    const std::size_t step =
        at < episode.first ? 0 : (at - episode.first) / episode.group;
    if (at >= episode.first) fixed_ns += window.fast_ns;
    for (const WindowAccess& access : window.accesses) {
      born[access.object] = std::min(born[access.object], step);
      if (at < episode.first) continue;
      gap[access.object * steps + step] +=
          access.cost * (window.slow_ns - window.fast_ns);
    }
  }
  const Environment start(w, episode);
  for (std::size_t t = 0; t + 1 < tiers; ++t) {
    capacity.push_back(static_cast<double>(start.view().tiers[t].capacity));
  }
  // What is there before the first decision lies where the kernel put it.
  born_in.assign(objects, kNoTier);
  for (const ObjectView& one : start.view().objects) {
    if (one.bytes != 0) born_in[one.id] = one.tier;
  }
}

// The cheapest way of one object through tiers and steps at the prices.
class Path {
 public:
  explicit Path(const Problem& problem)
      : problem_(problem),
        value_((problem.steps + 1) * problem.tiers),
        choice_((problem.steps + 1) * problem.tiers) {}

  // Backwards; returns its cost from birth. price: steps x (tiers - 1).
  double solve(std::size_t object, const std::vector<double>& price) {
    const Problem& p = problem_;
    const auto bytes = static_cast<double>(p.world.bytes[object]);
    std::fill_n(value_.end() - static_cast<std::ptrdiff_t>(p.tiers), p.tiers,
                0.0);
    for (std::size_t s = p.steps; s-- > p.born[object];) {
      for (std::size_t t = 0; t < p.tiers; ++t) {
        double least = kNever;
        TierId best = 0;
        for (std::size_t to = 0; to < p.tiers; ++to) {
          const double one =
              (to == t ? 0
                       : p.world.move_ns(p.world.bytes[object],
                                         static_cast<TierId>(t),
                                         static_cast<TierId>(to))) +
              value_[(s + 1) * p.tiers + to];
          // At a tie it stays: what moves for nothing disturbs the others.
          if (one < least || (one == least && to == t)) {
            least = one;
            best = static_cast<TierId>(to);
          }
        }
        const double room =
            t + 1 < p.tiers ? price[s * (p.tiers - 1) + t] * bytes : 0;
        value_[s * p.tiers + t] =
            p.cost(object, s) * p.world.slowness[t] + room + least;
        choice_[s * p.tiers + t] = best;
      }
    }
    const auto* first = &value_[p.born[object] * p.tiers];
    born_in_ = p.born_in[object];
    if (born_in_ == kNoTier) {
      born_in_ =
          static_cast<TierId>(std::min_element(first, first + p.tiers) - first);
    }
    return first[born_in_];
  }
  TierId born_in() const { return born_in_; }
  TierId next(std::size_t step, TierId tier) const {
    return choice_[step * problem_.tiers + tier];
  }
  // What the slowest tier costs more than the fastest, from a step on.
  double advantage(std::size_t step) const {
    return value_[step * problem_.tiers + problem_.tiers - 1] -
           value_[step * problem_.tiers];
  }

 private:
  const Problem& problem_;
  std::vector<double> value_;  // (steps + 1) x tiers
  std::vector<TierId> choice_;
  TierId born_in_ = 0;
};

// The dual at the prices, and into `excess` the bytes wanted beyond the room:
// its gradient.
double dual(const Problem& p, const std::vector<double>& price, Path& path,
            std::vector<double>& excess) {
  double sum = p.fixed_ns;
  for (std::size_t s = 0; s < p.steps; ++s) {
    for (std::size_t t = 0; t + 1 < p.tiers; ++t) {
      excess[s * (p.tiers - 1) + t] = -p.capacity[t];
      sum -= price[s * (p.tiers - 1) + t] * p.capacity[t];
    }
  }
  for (std::size_t i = 0; i < p.objects; ++i) {
    if (p.born[i] == p.steps) continue;
    sum += path.solve(i, price);
    TierId tier = path.born_in();
    for (std::size_t s = p.born[i]; s < p.steps; ++s) {
      if (tier + 1U < p.tiers) {
        excess[s * (p.tiers - 1) + tier] +=
            static_cast<double>(p.world.bytes[i]);
      }
      tier = path.next(s, tier);
    }
  }
  return sum;
}

// The prices with the highest bound that the passes find.
std::vector<double> best_prices(const Problem& p, double still_ns,
                                std::size_t passes, double& bound_ns) {
  Path path(p);
  std::vector<double> price(p.steps * (p.tiers - 1), 0);
  std::vector<double> excess(price.size());
  std::vector<double> best = price;
  double reach = 1;
  std::size_t vain = 0;
  bound_ns = -kNever;
  for (std::size_t pass = 0; pass <= passes; ++pass) {
    const double now = dual(p, price, path, excess);
    if (now > bound_ns) {
      bound_ns = now;
      best = price;
      vain = 0;
    } else if (++vain == 10) {
      vain = 0;
      reach /= 2;
      price = best;
      dual(p, price, path, excess);
    }
    double square = 0;
    for (std::size_t k = 0; k < price.size(); ++k) {
      if (price[k] <= 0 && excess[k] < 0) continue;
      square += excess[k] * excess[k];
    }
    if (square <= 0) break;  // all fits at these prices
    const double length =
        reach * std::max(still_ns - now, still_ns * 1e-6) / square;
    for (std::size_t k = 0; k < price.size(); ++k) {
      price[k] = std::max(0.0, price[k] + length * excess[k]);
    }
  }
  return best;
}

// What each object saves by byte in the fastest tier from each step on, room
// at its price: steps x objects.
std::vector<float> savings_at(const Problem& p,
                              const std::vector<double>& price) {
  Path path(p);
  std::vector<float> out(p.steps * p.objects, 0);
  for (std::size_t i = 0; i < p.objects; ++i) {
    if (p.born[i] == p.steps) continue;
    path.solve(i, price);
    const auto bytes =
        static_cast<double>(std::max<Bytes>(1, p.world.bytes[i]));
    for (std::size_t s = p.born[i]; s < p.steps; ++s) {
      out[s * p.objects + i] = static_cast<float>(path.advantage(s) / bytes);
    }
  }
  return out;
}

Played play_by(const std::vector<float>& saved, const Problem& p,
               const Episode& episode, const Packer& packer) {
  std::vector<double> score(p.objects);
  return play(p.world, episode, [&](const View& view) {
    const auto last = static_cast<TierId>(p.tiers - 1);
    const float* now =
        &saved[(static_cast<std::size_t>(view.window) + 1) * p.objects];
    for (const ObjectView& one : view.objects) {
      score[one.id] = static_cast<double>(now[one.id]) +
                      (one.tier == 0 ? p.world.move_ns(1, 0, last)
                                     : -p.world.move_ns(1, one.tier, 0));
    }
    return packer(view, score, 0);
  });
}

}  // namespace

Clairvoyant clairvoyant(const World& world, const Episode& episode,
                        const Packer& packer, std::size_t passes) {
  const Problem problem(world, episode);
  Clairvoyant out;
  out.played = play(world, episode, Decide());  // nothing moves
  const auto price =
      best_prices(problem, out.played.time_ns, passes, out.bound_ns);
  // At the best prices what is to move is as well off where it lies; somewhat
  // below them it wants to, and packing sees to the room.
  for (const double share : {1.0, 0.98, 0.9, 0.7, 0.4}) {
    auto less = price;
    for (double& one : less) one *= share;
    Played now = play_by(savings_at(problem, less), problem, episode, packer);
    if (now.time_ns < out.played.time_ns) out.played = std::move(now);
  }
  out.played.policy = "clairvoyant";
  return out;
}

}  // namespace thermocline
