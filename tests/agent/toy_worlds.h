// Worlds by hand for the agent's tests: small ones whose best behaviour can be
// computed, and one that behaves like a training job.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "agent/environment.h"
#include "agent/training_options.h"
#include "agent/world.h"
#include "policies/packing.h"

namespace thermocline {

inline constexpr Bytes kToyBytes = 256 * 1024;

// Double Q-learning of small worlds, in which nothing is held out.
inline TrainingOptions toy_options(std::int64_t episodes) {
  TrainingOptions options;
  options.algorithm = "dqn";
  options.learning_rate = 3e-3;
  options.episodes = episodes;
  options.batch_frames = 16;
  options.frame_objects = 8;
  options.holdout = 0;
  options.evaluate_every = 10;
  return options;
}

// Two tiers; moving one object costs `move_ns` either way.
inline World empty_world(std::size_t objects, double move_ns) {
  World world;
  world.job = "toy";
  world.tiers = {{"fast", {0}, 1 << 30, 80, 80, 64e9, 64e9, false},
                 {"slow", {1}, Bytes{1} << 34, 300, 300, 16e9, 8e9, false}};
  world.slowness = {0, 1};
  const double per_byte = move_ns / static_cast<double>(kToyBytes);
  world.move_ns_byte = {0, per_byte, per_byte, 0};
  world.bytes.assign(objects, kToyBytes);
  return world;
}

// Every window: 1 ms in fast, 3 ms in slow memory; the objects of hot(w)
// share its accesses evenly.
inline World toy_world(
    std::size_t objects, std::size_t windows, double move_ns,
    const std::function<std::vector<ObjectId>(std::size_t)>& hot) {
  World world = empty_world(objects, move_ns);
  for (std::size_t w = 0; w < windows; ++w) {
    World::Window window{3e6, 1e6, {}};
    const auto touched = hot(w);
    for (const ObjectId i : touched) {
      window.accesses.push_back(
          {i, 100, 0, 1.0 / static_cast<double>(touched.size())});
    }
    world.windows.push_back(window);
  }
  return world;
}

// The least time that any sequence of placements can reach, by dynamic
// programming over all of them: `fast` objects fit, all lie as `start` says
// before the first window, and moves are made between windows.
inline double best_time_ns(const World& world, std::size_t fast,
                           unsigned start) {
  const std::size_t n = world.bytes.size();
  const unsigned states = 1U << n;
  constexpr double kNever = std::numeric_limits<double>::infinity();
  const auto size = [](unsigned s) {
    return static_cast<std::size_t>(__builtin_popcount(s));
  };
  const auto time = [&](const World::Window& window, unsigned s) {
    double slow = 0;
    for (const auto& access : window.accesses) {
      if (((s >> access.object) & 1U) == 0) slow += access.cost;
    }
    return window.fast_ns + slow * (window.slow_ns - window.fast_ns);
  };
  std::vector<double> best(states, kNever);
  best[start] = time(world.windows[0], start);
  for (std::size_t w = 1; w < world.windows.size(); ++w) {
    std::vector<double> next(states, kNever);
    for (unsigned from = 0; from < states; ++from) {
      if (best[from] == kNever) continue;
      for (unsigned to = 0; to < states; ++to) {
        if (size(to) > fast) continue;
        const double moved = static_cast<double>(size(from ^ to)) *
                             world.move_ns(kToyBytes, 0, 1);
        next[to] =
            std::min(next[to], best[from] + moved + time(world.windows[w], to));
      }
    }
    best = next;
  }
  return *std::min_element(best.begin(), best.end());
}

// Like training: data that is read once fills fast memory first; weights are
// loaded and gradients stored in every window, the optimizer's state is used
// in every fourth. Counts are few and noisy, costs are what is behind them.
inline World training_job(std::uint64_t seed, std::size_t windows = 60) {
  struct Part {
    std::size_t first, last;
    double loads, stores;
    std::size_t every;
  };
  const std::vector<Part> parts = {{0, 60, 0, 0, 1},          // data, then cold
                                   {60, 100, 6, 0, 1},        // weights
                                   {100, 120, 1, 4, 1},       // gradients
                                   {120, 160, 3, 3, 4},       // optimizer
                                   {160, 200, 0.3, 0.1, 1}};  // the rest
  World world = empty_world(200, 2e5);
  std::mt19937_64 rng(seed);
  const auto poisson = [&rng](double mean) {
    if (mean <= 0) return 0.0;
    double product = 1;
    double count = -1;
    const double limit = std::exp(-mean);
    for (; product > limit; count += 1) {
      product *= static_cast<double>(rng() >> 11) * 0x1p-53;
    }
    return count;
  };
  for (std::size_t w = 0; w < windows; ++w) {
    World::Window window{1e9, 4e8, {}};
    double sum = 0;
    for (std::size_t i = 0; i < world.bytes.size(); ++i) {
      for (const Part& part : parts) {
        if (i < part.first || i >= part.last) continue;
        double loads = w % part.every == part.every - 1 ? part.loads : 0;
        double stores = w % part.every == part.every - 1 ? part.stores : 0;
        if (w == 0 && i < 60) loads = stores = 2;
        if (loads + stores <= 0) continue;
        sum += loads + 2 * stores;
        window.accesses.push_back({static_cast<ObjectId>(i), poisson(loads),
                                   poisson(stores), loads + 2 * stores});
      }
    }
    for (auto& access : window.accesses) access.cost /= sum;
    world.windows.push_back(window);
  }
  return world;
}

}  // namespace thermocline
