#include "estimator/savings.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <unordered_map>

#include "estimator/mixed_run.h"
#include "estimator/sequence_run.h"
#include "traces/result.h"

namespace thermocline {
namespace {

constexpr int kStretch = 256;    // samples
constexpr int kPasses = 16;      // over each group of a stretch, by all models
constexpr int kLeastPasses = 8;  // by one
constexpr int kMostPasses = 256;
constexpr std::size_t kWorthAThread = 64;  // stretches
// A stretch whose two runs differ by less says nothing.
constexpr double kLeastGain = 1e-3;

bool differ(std::span<const double> runs) {
  return runs.back() - runs.front() > kLeastGain * runs.back();
}

}  // namespace

template <typename Place>
double Savings::core_run(const AccessModel& model, const Stretch& stretch,
                         Place place) const {
  if (!order_.empty()) {
    SequenceRun run(model.shapes);
    double before = 0;
    const std::size_t seam = stretch.first + (stretch.last - stretch.first) / 4;
    for (std::size_t s = stretch.before; s < stretch.last; ++s) {
      if (s == seam) before = run.now();
      run.add(order_[s], place(samples_[s]));
    }
    return (run.now() - before) /
           static_cast<double>(stretch.last - stretch.first);
  }
  const auto shared =
      std::max(kLeastPasses, kPasses / static_cast<int>(models_.size()));
  // A short one as long as others: else its beginning weighs too much.
  const auto size = static_cast<int>(stretch.last - stretch.first);
  const int passes = std::clamp(shared * kStretch / size, shared, kMostPasses);
  MixedRun mixed(model, company_, passes);
  for (std::size_t s = stretch.first; s < stretch.last; ++s) {
    mixed.add(
        {samples_[s].kind, static_cast<std::uint16_t>(place(samples_[s]))});
  }
  return mixed.ns_per_access();
}

FineNanos Savings::saved_in(std::size_t number,
                            std::span<const TierId> placement) const {
  const Stretch& stretch = stretches_[number];
  if (!stretch.saves) return 0;
  ByTier placed{}, samples{};
  for (std::size_t s = stretch.first; s < stretch.last; ++s) {
    if (!counts(s)) continue;
    const TierId tier = placement[samples_[s].object];
    placed[tier] += times_[samples_[s].kind][tier];
    samples[tier] += 1;
  }
  const double count = std::accumulate(samples.begin(), samples.end(), 0.0);
  if (*std::max_element(samples.begin(), samples.end()) == count) return 0;
  const auto in = in_tiers(number);
  double time = 0, weights = 0;
  for (std::size_t m = 0; m < models_.size(); ++m) {
    const auto alone = runs(number, m);
    if (!differ(alone)) continue;
    const auto at = [&](double core) {  // of the time between fast and slow
      return in.front().time +
             (in.back().time - in.front().time) *
                 ((core - alone.front()) / (alone.back() - alone.front()));
    };
    double one = at(core_run(models_[m], stretch, [&](const Placeable& sample) {
      return placement[sample.object];
    }));
    for (std::size_t t = 1; t + 1 < tiers_; ++t) {
      if (samples[t] > 0) {
        one += samples[t] / count * (in[t].time - at(alone[t]));
      }
    }
    time += models_[m].weight * one;
    weights += models_[m].weight;
  }
  time /= weights;  // of one at least: else the stretch does not save
  double apart = 0;
  for (std::size_t t = 0; t < tiers_; ++t) {
    apart += placed[t] * scale(number, t);
  }
  return to_fine(apart - time);
}

Savings::Stretch Savings::next_stretch(std::size_t at) const {
  if (order_.empty()) return {at, at, std::min(at + kStretch, samples_.size())};
  const std::size_t before = stretches_.empty() ? at : stretches_.back().first;
  return {before, at, *std::upper_bound(ends_.begin(), ends_.end(), at)};
}

void Savings::end_window(const ByTier& scale) {
  const std::size_t first = stretches_.size();
  std::size_t at = stretches_.empty() ? 0 : stretches_.back().last;
  while (at < samples_.size()) {
    const Stretch next = next_stretch(at);
    for (std::size_t t = 0; t < tiers_; ++t) {
      double sum = 0;
      for (std::size_t s = next.first; s < next.last; ++s) {
        if (counts(s)) sum += times_[samples_[s].kind][t];
      }
      in_tiers_.push_back({sum, sum * scale[t]});
    }
    for (std::size_t m = 0; m < models_.size(); ++m) {
      for (std::size_t t = 0; t < tiers_; ++t) {
        runs_.push_back(
            core_run(models_[m], next, [t](const Placeable&) { return t; }));
      }
    }
    stretches_.push_back(next);
    at = next.last;
  }
  if (!order_.empty()) share_out_by_runs(first);
  for (std::size_t n = first; n < stretches_.size(); ++n) {
    const auto in = in_tiers(n);
    if (in.back().time <= in.front().time) continue;
    for (std::size_t m = 0; m < models_.size(); ++m) {
      stretches_[n].saves |= differ(runs(n, m));
    }
  }
  windows_.push_back(stretches_.size());
}

// What the stretches from `first` on took in each tier, by their core runs
// rather than by kinds.
void Savings::share_out_by_runs(std::size_t first) {
  for (std::size_t t = 0; t < tiers_; ++t) {
    double time = 0, run = 0;
    const auto run_of = [&](std::size_t n) {
      const Stretch& one = stretches_[n];
      return runs(n, 0)[t] * static_cast<double>(one.last - one.first);
    };
    for (std::size_t n = first; n < stretches_.size(); ++n) {
      time += in_tiers(n)[t].time;
      run += run_of(n);
    }
    for (std::size_t n = first; n < stretches_.size(); ++n) {
      InTier& in = in_tiers_[n * tiers_ + t];
      if (in.sum > 0 && run > 0) in.time = time * run_of(n) / run;
    }
  }
}

std::vector<ObjectId> Savings::objects_of(const Stretch& stretch) const {
  std::vector<ObjectId> out;
  for (std::size_t s = stretch.before; s < stretch.last; ++s) {
    out.push_back(samples_[s].object);
  }
  std::sort(out.begin(), out.end());
  return out;
}

void Savings::index(std::size_t objects) {
  // Visits each object of each stretch that may save once.
  const auto each = [&](const auto& visit) {
    for (std::size_t n = 0; n < stretches_.size(); ++n) {
      if (!stretches_[n].saves) continue;
      const auto all = objects_of(stretches_[n]);
      if (all.front() == all.back()) continue;  // never in two tiers
      for (auto at = all.begin(); at != all.end();) {
        const auto next = std::upper_bound(at, all.end(), *at);
        visit(*at, n, static_cast<std::uint32_t>(next - at));
        at = next;
      }
    }
  };
  first_.assign(objects + 1, 0);
  each([&](ObjectId object, std::size_t, std::uint32_t) {
    ++first_[object + 1];
  });
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  parts_.resize(first_.back());
  std::vector<std::size_t> next = first_;
  each([&](ObjectId object, std::size_t stretch, std::uint32_t samples) {
    parts_[next[object]++] = {static_cast<std::uint32_t>(stretch), samples};
  });
}

std::span<const Savings::Part> Savings::parts_of(ObjectId object) const {
  return std::span(parts_).subspan(first_[object],
                                   first_[object + 1] - first_[object]);
}

double Savings::saved_ns(std::size_t w,
                         std::span<const TierId> placement) const {
  if (w >= windows_.size()) return 0;
  FineNanos saved = 0;
  for (std::size_t g = w == 0 ? 0 : windows_[w - 1]; g < windows_[w]; ++g) {
    saved += saved_in(g, placement);
  }
  return to_ns(saved);
}

FineNanos Savings::saved(std::span<const TierId> placement) const {
  const auto sum = [&](std::size_t first, std::size_t last) {
    FineNanos saved = 0;
    for (std::size_t s = first; s < last; ++s) saved += saved_in(s, placement);
    return saved;
  };
  if (stretches_.size() < 2 * kWorthAThread) return sum(0, stretches_.size());
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  const std::size_t parts = std::min(cores, stretches_.size() / kWorthAThread);
  if (parts < 2) return sum(0, stretches_.size());
  std::vector<std::future<FineNanos>> others;
  for (std::size_t p = 1; p < parts; ++p) {
    others.push_back(std::async(std::launch::async, sum,
                                stretches_.size() * p / parts,
                                stretches_.size() * (p + 1) / parts));
  }
  FineNanos saved = sum(0, stretches_.size() / parts);
  for (auto& other : others) saved += other.get();
  return saved;
}

void Savings::take_from(std::span<FineNanos> totals,
                        std::span<const TierId> placements,
                        unsigned threads) const {
  CHECK(threads >= 1);
  if (totals.empty() || stretches_.empty()) return;
  const std::size_t objects = placements.size() / totals.size();
  CHECK(placements.size() == totals.size() * objects);
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  const auto work = [&] {
    std::vector<FineNanos> saved(totals.size(), 0);
    std::unordered_map<std::string, FineNanos> known;  // by its objects' tiers
    std::string tiers;
    for (std::size_t n; (n = next++) < stretches_.size();) {
      if (!stretches_[n].saves) continue;
      auto all = objects_of(stretches_[n]);
      all.erase(std::unique(all.begin(), all.end()), all.end());
      known.clear();
      tiers.resize(all.size());
      for (std::size_t p = 0; p < totals.size(); ++p) {
        const auto placement = placements.subspan(p * objects, objects);
        for (std::size_t o = 0; o < all.size(); ++o) {
          tiers[o] = static_cast<char>(placement[all[o]]);
        }
        if (tiers.find_first_not_of(tiers[0]) == tiers.npos) continue;
        const auto [at, fresh] = known.try_emplace(tiers, 0);
        if (fresh) at->second = saved_in(n, placement);
        saved[p] += at->second;
      }
    }
    const std::lock_guard lock(mutex);
    for (std::size_t p = 0; p < totals.size(); ++p) totals[p] -= saved[p];
  };
  std::vector<std::thread> others;
  for (unsigned i = 1; i < threads; ++i) others.emplace_back(work);
  work();
  for (auto& one : others) one.join();
}

}  // namespace thermocline
