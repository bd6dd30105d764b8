// The contract of Policy as checks, for any policy, registered or not.
//
//   EXPECT_EQ(broken_rule(view, moves), "");
//   EXPECT_EQ(contract_violation(make, seed), "");
//
// A SyntheticTarget stands for a process under a policy: seeded, hostile
// (zero capacities and budgets, immovable and empty objects, objects that
// appear, moves that fail), and never consults a clock.
#pragma once

#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "policies/policy.h"

namespace thermocline {

/// The first rule of Policy::decide that these moves break, or "". A tier that
/// is overfull without the policy's doing may stay so but must not grow; this
/// is asked after every move, so that demotions do come first.
std::string broken_rule(const View& view, const std::vector<Move>& moves);

class SyntheticTarget {
 public:
  explicit SyntheticTarget(std::uint64_t seed);
  const View& view() const { return view_; }
  /// Carries out moves (some fail), lets objects come, grow and vanish, and
  /// goes to the next window.
  void step(const std::vector<Move>& moves);

 private:
  std::uint64_t pick(std::uint64_t below) { return random_() % below; }
  Bytes pick_bytes();
  void touch();
  void join();
  void refresh();

  std::mt19937_64 random_;
  std::vector<ObjectView> objects_;
  std::vector<ObjectView> joined_;  // those in one huge page as one
  std::vector<ObjectId> whole_;
  std::vector<TierView> tiers_;
  View view_;
};

using MakePolicy = std::function<std::unique_ptr<Policy>()>;

/// Runs two instances of a policy on one seeded target for `windows` windows
/// and returns the first breach: a broken rule, moves that differ between the
/// instances, an empty explanation, a heat that is negative or no number.
std::string contract_violation(const MakePolicy& make, std::uint64_t seed,
                               int windows = 12);

}  // namespace thermocline
