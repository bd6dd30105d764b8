#include "agent/environment.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace thermocline {
namespace {

double uniform(std::mt19937_64& rng, double low, double high) {
  // By hand: the library's distributions differ between implementations.
  return low + (high - low) * static_cast<double>(rng() >> 11) * 0x1p-53;
}

std::size_t below(std::mt19937_64& rng, std::size_t n) {
  return static_cast<std::size_t>(rng() % n);
}

}  // namespace

Episode Episode::random(const World& world, std::size_t first, std::size_t last,
                        std::mt19937_64& rng, std::mt19937_64& length) {
  Episode out;
  const std::size_t windows = last - first;
  out.group = 1 + below(length, std::clamp<std::size_t>(windows / 8, 1, 4));
  // Half of the episodes see the job from its beginning, as a daemon that
  // starts it does.
  out.first = first;
  if (below(length, 2) == 0) out.first += below(length, windows - windows / 3);
  out.last = last;
  const std::size_t start = below(rng, 4);
  out.start = start < 2    ? Start::kFirstTouch
              : start == 2 ? Start::kRandom
                           : Start::kSlow;
  out.capacity = uniform(rng, 0.2, 0.8);
  out.budget = std::exp(uniform(rng, std::log(0.02), 0));
  out.keep =
      below(rng, 2) == 0 ? 1.0 : std::exp(uniform(rng, std::log(0.1), 0));
  out.clock = std::exp(uniform(rng, std::log(0.7), std::log(1.4)));
  out.cold = below(rng, 2) == 0 ? 0.0 : uniform(rng, 0, 0.5);
  out.seed = rng();
  CHECK(world.tiers.size() >= 2);
  return out;
}

Environment::Environment(const World& world, const Episode& episode)
    : world_(world),
      episode_(episode),
      next_(episode.first),
      last_(episode.end(world)),
      rng_(episode.seed),
      objects_(world.bytes.size()),
      gap_(world.bytes.size(), 0) {
  CHECK(world.tiers.size() >= 2 && next_ < last_);
  CHECK(last_ <= world.windows.size() && episode.group >= 1);
  for (std::size_t i = 0; i < objects_.size(); ++i) {
    objects_[i].id = static_cast<ObjectId>(i);
    objects_[i].tier = static_cast<TierId>(world.tiers.size() - 1);
  }
  for (const Tier& tier : world.tiers) {
    tiers_.push_back({0, 0, tier.read_ns, tier.write_ns, tier.read_bytes_per_s,
                      tier.write_bytes_per_s});
  }
  footprint_ = world.footprint();
  mean_step_ns_ = world.slow_ns() * static_cast<double>(episode.group) /
                  static_cast<double>(world.windows.size());
  draw_cold_objects();
  set_capacities();
  place_initially();
  view_.window = -1;
  run_step();
}

void Environment::draw_cold_objects() {
  std::vector<bool> touched(objects_.size(), false);
  for (const auto& window : world_.windows) {
    for (const auto& access : window.accesses) touched[access.object] = true;
  }
  auto wanted = static_cast<double>(footprint_) * episode_.cold;
  for (std::size_t i = 0; i < objects_.size() && wanted > 0; ++i) {
    if (touched[i]) continue;
    objects_[i].bytes = world_.bytes[i];
    footprint_ += world_.bytes[i];
    wanted -= static_cast<double>(world_.bytes[i]);
  }
}

void Environment::set_capacities() {
  // Tiers between the fastest and the slowest hold the same share.
  const double share = std::max(0.0, episode_.capacity);
  for (TierView& tier : tiers_) {
    tier.capacity = static_cast<Bytes>(static_cast<double>(footprint_) * share);
  }
  tiers_.back().capacity = 4 * footprint_ + 1;
  if (episode_.start == Episode::Start::kFast) {
    tiers_.front().capacity = tiers_.back().capacity;
  }
  view_.budget = static_cast<Bytes>(static_cast<double>(footprint_) *
                                    std::max(0.0, episode_.budget));
  for (const ObjectView& object : objects_) {
    tiers_.back().used += object.bytes;  // the cold ones
  }
}

TierId Environment::first_fit(Bytes bytes) const {
  for (TierId t = 0; t + 1U < tiers_.size(); ++t) {
    if (tiers_[t].used + bytes <= tiers_[t].capacity) return t;
  }
  return static_cast<TierId>(tiers_.size() - 1);
}

void Environment::place(ObjectId object, TierId tier) {
  ObjectView& one = objects_[object];
  tiers_[one.tier].used -= one.bytes;
  one.tier = tier;
  tiers_[tier].used += one.bytes;
}

// First touch: the kernel gives what is near and free.
void Environment::appear(ObjectId object) {
  ObjectView& one = objects_[object];
  if (one.bytes != 0) return;
  const bool slow = episode_.start == Episode::Start::kSlow;
  one.bytes = world_.bytes[object];
  tiers_[one.tier].used += one.bytes;
  if (!slow) place(object, first_fit(one.bytes));
}

void Environment::place_initially() {
  using Start = Episode::Start;
  std::vector<ObjectId> order;
  if (episode_.start == Start::kBest) {
    std::vector<double> value(objects_.size(), 0);
    for (std::size_t w = episode_.first; w < last_; ++w) {
      const auto& window = world_.windows[w];
      for (const auto& access : window.accesses) {
        value[access.object] += access.cost * (window.slow_ns - window.fast_ns);
      }
    }
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (value[i] <= 0) continue;
      order.push_back(static_cast<ObjectId>(i));
      value[i] /= static_cast<double>(std::max<Bytes>(world_.bytes[i], 1));
    }
    std::stable_sort(order.begin(), order.end(), [&](ObjectId a, ObjectId b) {
      return value[a] > value[b];
    });
    for (const ObjectId i : order) appear(i);
  }
  // What was there before the episode, cold things first: they were loaded
  // and never used again.
  order.clear();
  for (const ObjectView& object : objects_) {
    if (object.bytes != 0) order.push_back(object.id);
  }
  const std::size_t cold = order.size();
  for (std::size_t w = 0; w < episode_.first; ++w) {
    for (const auto& access : world_.windows[w].accesses) {
      if (objects_[access.object].bytes != 0) continue;
      objects_[access.object].bytes = world_.bytes[access.object];
      tiers_.back().used += world_.bytes[access.object];
      order.push_back(access.object);
    }
  }
  if (episode_.start == Start::kSlow || episode_.start == Start::kBest) return;
  for (std::size_t i = cold; i-- > 1;) {
    std::swap(order[i], order[below(rng_, i + 1)]);
  }
  if (episode_.start == Start::kRandom) {
    for (std::size_t i = order.size(); i-- > 1;) {
      std::swap(order[i], order[below(rng_, i + 1)]);
    }
  }
  for (const ObjectId i : order) place(i, first_fit(objects_[i].bytes));
}

// What the agent hears of an object's waits when samples are thinned: all of
// them or nothing, right in the mean, for how many samples it was is not known.
double Environment::observed_wait(double cycles) {
  if (episode_.keep >= 1 || cycles <= 0) return cycles;
  return uniform(rng_, 0, 1) < episode_.keep ? cycles / episode_.keep : 0;
}

// How many of `count` accesses the agent hears of: binomial thinning of the
// samples behind them.
double Environment::observed(double count) {
  if (episode_.keep >= 1 || count <= 0) return count;
  const double samples = count / world_.period;
  const double whole = std::floor(samples + uniform(rng_, 0, 1));
  double kept = 0;
  if (whole > 64) {  // normal approximation
    double z = -6;
    for (int i = 0; i < 12; ++i) z += uniform(rng_, 0, 1);
    const double mean = whole * episode_.keep;
    kept = std::max(
        0.0, std::round(mean + z * std::sqrt(mean * (1 - episode_.keep))));
  } else {
    for (double i = 0; i < whole; ++i) {
      if (uniform(rng_, 0, 1) < episode_.keep) kept += 1;
    }
  }
  return kept * world_.period / episode_.keep;
}

double Environment::cost_of(const World::Window& window) const {
  double slow = 0;
  for (const auto& access : window.accesses) {
    slow += access.cost * world_.slowness[objects_[access.object].tier];
  }
  return window.fast_ns + (window.slow_ns - window.fast_ns) * slow;
}

void Environment::run_step() {
  for (ObjectView& object : objects_) {
    object.loads = object.stores = object.waited = 0;
  }
  std::fill(gap_.begin(), gap_.end(), 0.0);
  double step_ns = 0;
  const std::size_t end = std::min(last_, next_ + episode_.group);
  for (; next_ < end; ++next_) {
    const auto& window = world_.windows[next_];
    for (const auto& access : window.accesses) {
      appear(access.object);
      ObjectView& object = objects_[access.object];
      object.loads += observed(access.loads);
      object.stores += observed(access.stores);
      gap_[access.object] += access.cost * (window.slow_ns - window.fast_ns);
    }
    for (const ObjectWait& wait : window.waits) {
      appear(wait.object);
      ObjectView& object = objects_[wait.object];
      const double way = world_.slowness[object.tier];
      object.waited += observed_wait(wait.fast + way * (wait.slow - wait.fast));
    }
    step_ns += cost_of(window);
    slow_ns_ += window.slow_ns;
    fast_ns_ += window.fast_ns;
  }
  time_ns_ += step_ns;
  view_.window += 1;
  view_.window_ns = std::llround(std::max(1.0, step_ns * episode_.clock));
  view_.objects = objects_;
  view_.tiers = tiers_;
}

double Environment::step(std::span<const Move> moves) {
  CHECK(!done());
  const double before = time_ns_;
  for (const Move& move : moves) {
    const ObjectView& object = objects_[move.object];
    CHECK(object.tier == move.from && move.to < tiers_.size());
    time_ns_ += world_.move_ns(object.bytes, move.from, move.to);
    moved_bytes_ += static_cast<double>(object.bytes);
    place(move.object, move.to);
  }
  run_step();
  return -(time_ns_ - before) / world_.slow_ns();
}

}  // namespace thermocline
