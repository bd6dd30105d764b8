// Whether a placement was chosen by the samples that are to judge it.
#include "estimator/chosen_elsewhere.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

namespace thermocline {
namespace {

constexpr std::size_t kPages = 2048;
constexpr Address kBase = Address{1} << 32;

// Pages whose heat differs, and two runs that sample it.
class Sampled {
 public:
  explicit Sampled(double samples_a_page) {
    std::mt19937_64 random(4);
    std::lognormal_distribution<double> heat(0, 1);
    for (std::size_t p = 0; p < kPages; ++p) {
      heat_.push_back(heat(random));
      regions_.push_back({page(p), page(p + 1)});
    }
    std::discrete_distribution<std::size_t> pick(heat_.begin(), heat_.end());
    for (Trace& run : runs_) {
      for (double i = 0; i < samples_a_page * kPages; ++i) {
        Sample sample;
        sample.address = page(pick(random)) + random() % 4096;
        run.samples.push_back(sample);
      }
    }
  }

  const std::vector<double>& heat() const { return heat_; }
  std::vector<double> counts(std::size_t run) const {
    std::vector<double> out(kPages, 0);
    for (const Sample& sample : runs_[run].samples) {
      ++out[(sample.address - kBase) / 4096];
    }
    return out;
  }
  // The half of all pages that `by` says is the hottest lies in fast memory.
  bool elsewhere(const std::vector<double>& by) const {
    std::vector<std::size_t> order(kPages);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](auto a, auto b) { return by[a] > by[b]; });
    std::vector<double> slowness(kPages, 1);
    for (std::size_t i = 0; i < kPages / 2; ++i) slowness[order[i]] = 0;
    const Trace* both[] = {&runs_[0], &runs_[1]};
    return ChosenElsewhere(both, regions_)(slowness);
  }

 private:
  static Address page(std::size_t number) { return kBase + number * 4096; }

  std::vector<double> heat_;
  std::vector<Region> regions_;
  std::array<Trace, 2> runs_;
};

TEST(ChosenElsewhere, TellsWhoseLuckAPlacementPicked) {
  for (const double samples : {0.5, 2.0, 8.0}) {
    const Sampled job(samples);
    EXPECT_TRUE(job.elsewhere(job.heat())) << samples;
    auto both = job.counts(0);
    for (const std::size_t run : {0U, 1U}) {
      EXPECT_FALSE(job.elsewhere(job.counts(run))) << samples;
    }
    const auto fast = job.counts(1);
    for (std::size_t p = 0; p < kPages; ++p) both[p] += fast[p];
    EXPECT_FALSE(job.elsewhere(both)) << samples;
  }
}

TEST(ChosenElsewhere, WhatFollowsNoHeatIsNot) {
  const Sampled job(2);
  std::vector<double> by_address(kPages), at_random(kPages);
  std::iota(by_address.begin(), by_address.end(), 0);
  std::mt19937_64 random(5);
  for (double& one : at_random) one = static_cast<double>(random());
  EXPECT_FALSE(job.elsewhere(by_address));
  EXPECT_FALSE(job.elsewhere(at_random));
  EXPECT_FALSE(job.elsewhere(std::vector<double>(kPages, 0)));
}

TEST(ChosenElsewhere, NothingIsKnownWithoutSamples) {
  const Sampled job(0);
  EXPECT_FALSE(job.elsewhere(job.heat()));
  EXPECT_FALSE(ChosenElsewhere({}, {})({}));
}

}  // namespace
}  // namespace thermocline
