#include "tests/contract/policy_contract.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "policies/wholes.h"

namespace thermocline {
namespace {

std::string say(const Move& move) {
  return "object " + std::to_string(move.object) + " from tier " +
         std::to_string(move.from) + " to " + std::to_string(move.to);
}

std::vector<Bytes> used_of(const View& view) {
  std::vector<Bytes> used(view.tiers.size(), 0);
  for (const auto& object : view.objects) used[object.tier] += object.bytes;
  for (std::size_t t = 0; t < used.size(); ++t) {
    used[t] = std::max(used[t], view.tiers[t].used);
  }
  return used;
}

std::string broken_alone(const View& view, const Move& move) {
  if (move.object >= view.objects.size()) return "no such object";
  const ObjectView& object = view.objects[move.object];
  if (move.to >= view.tiers.size()) return "no such tier";
  if (!object.movable) return "not movable";
  if (object.bytes == 0) return "nothing to move";
  if (object.tier != move.from) return "does not lie there";
  if (move.from == move.to) return "moves nowhere";
  return "";
}

}  // namespace

std::string broken_rule(const View& view, const std::vector<Move>& moves) {
  const std::vector<Bytes> before = used_of(view);
  std::vector<Bytes> used = before;
  std::set<ObjectId> moved;
  Bytes budget = view.budget;
  for (const Move& move : moves) {
    if (auto why = broken_alone(view, move); !why.empty()) {
      return say(move) + ": " + why;
    }
    if (!moved.insert(move.object).second) return say(move) + ": moved twice";
    const Bytes bytes = view.objects[move.object].bytes;
    if (bytes > budget) return say(move) + ": over the budget";
    budget -= bytes;
    used[move.from] -= bytes;
    used[move.to] += bytes;
    const bool slowest = move.to + std::size_t{1} == used.size();
    const Bytes most = std::max(view.tiers[move.to].capacity, before[move.to]);
    if (!slowest && used[move.to] > most) {
      return say(move) + ": overfills its tier";
    }
  }
  return "";
}

SyntheticTarget::SyntheticTarget(std::uint64_t seed) : random_(seed) {
  tiers_.resize(2 + pick(3));
  for (std::size_t t = 0; t < tiers_.size(); ++t) {
    TierView& tier = tiers_[t];
    tier.capacity = pick(4) == 0 ? 0 : pick(64) * 65536;
    const auto slow = static_cast<double>(t + 1);
    const bool known = seed % 3 != 0;
    tier.read_ns = known ? 80 * slow : 0;
    tier.write_ns = known ? 80 * slow : 0;
    tier.read_bytes_per_s = known ? 1e10 / slow : 0;
    tier.write_bytes_per_s = known ? 1e10 / (slow * slow) : 0;
  }
  if (pick(2) == 0) tiers_.back().capacity = ~Bytes{0};
  const std::uint64_t objects = pick(5) == 0 ? 0 : pick(60);
  for (std::uint64_t i = 0; i < objects; ++i) {
    ObjectView object;
    object.id = static_cast<ObjectId>(i);
    object.bytes = pick_bytes();
    object.tier = static_cast<TierId>(pick(tiers_.size()));
    object.movable = pick(8) != 0;
    objects_.push_back(object);
  }
  refresh();
}

Bytes SyntheticTarget::pick_bytes() {
  switch (pick(4)) {
    case 0: return 0;
    case 1: return 4096 * (1 + pick(16));
    case 2: return 1 + pick(3 * 65536);
    default: return 65536;
  }
}

void SyntheticTarget::touch() {
  for (auto& object : objects_) {
    // Skewed, with many at zero and, now and then, a new hot set.
    const auto heat = static_cast<double>(pick(3) == 0 ? pick(1000) : 0);
    object.loads = pick(4) == 0 ? heat : object.loads / 2;
    object.stores = pick(8) == 0 ? heat : object.stores / 2;
  }
}

// Now and then some lie in one huge page, others than before.
void SyntheticTarget::join() {
  view_.parts = {};
  view_.whole = {};
  view_.objects = objects_;
  if (objects_.empty() || pick(2) == 0) return;
  whole_.clear();
  for (ObjectView& one : objects_) {
    const bool joins = one.id > 0 && pick(3) == 0;
    whole_.push_back(joins ? whole_.back() : one.id);
    if (joins) one.tier = objects_[whole_.back()].tier;
  }
  joined_ = objects_;
  join_parts(joined_, whole_);
  view_.objects = joined_;
  view_.parts = objects_;
  view_.whole = whole_;
}

void SyntheticTarget::refresh() {
  touch();
  // Neighbours in runs; some claim one that lies elsewhere, or is none.
  for (ObjectView& object : objects_) {
    const auto next = object.id % 11 == 7 ? object.id / 2 : object.id + 1;
    object.after = object.id % 5 == 4 ? kNoObject : next;
  }
  join();
  std::vector<Bytes> used(tiers_.size(), 0);
  for (const auto& object : objects_) used[object.tier] += object.bytes;
  for (std::size_t t = 0; t < tiers_.size(); ++t) {
    // Memory of the target that is in no object counts in `used` too.
    tiers_[t].used = used[t] + (pick(5) == 0 ? 40960 : 0);
  }
  const Bytes budgets[] = {0, 4096, 300'000, 2'000'000, ~Bytes{0}};
  view_.budget = budgets[pick(5)];
  view_.window_ns = 10'000'000;
  view_.tiers = tiers_;
}

void SyntheticTarget::step(const std::vector<Move>& moves) {
  for (const Move& move : moves) {
    if (pick(10) == 0) continue;
    objects_[move.object].tier = move.to;
    for (std::size_t i = 0; i < view_.whole.size(); ++i) {
      if (view_.whole[i] == move.object) objects_[i].tier = move.to;
    }
  }
  for (auto& object : objects_) {
    if (pick(20) == 0) object.bytes = pick_bytes();
    if (pick(20) == 0) object.movable = !object.movable;
  }
  for (std::uint64_t more = pick(6); more > 0; --more) {
    ObjectView object;
    object.id = static_cast<ObjectId>(objects_.size());
    object.bytes = pick_bytes();
    object.tier = static_cast<TierId>(pick(tiers_.size()));
    objects_.push_back(object);
  }
  ++view_.window;
  refresh();
}

std::string contract_violation(const MakePolicy& make, std::uint64_t seed,
                               int windows) {
  SyntheticTarget target(seed);
  const auto one = make();
  const auto two = make();
  if (!one || !two) return "cannot be made";
  for (int w = 0; w < windows; ++w) {
    const std::string at =
        "seed " + std::to_string(seed) + ", window " + std::to_string(w) + ": ";
    const auto moves = one->decide(target.view());
    if (auto rule = broken_rule(target.view(), moves); !rule.empty()) {
      return at + rule;
    }
    if (moves != two->decide(target.view())) return at + "not deterministic";
    const auto objects = target.view().objects.size();
    for (std::size_t i = 0; i <= objects; ++i) {  // one that never was, too
      const auto object = static_cast<ObjectId>(i);
      if (one->explain(object).empty()) return at + "explains nothing";
      const double heat = one->heat(object);
      if (!std::isfinite(heat) || heat < 0) return at + "heat is no heat";
    }
    target.step(moves);
  }
  const TierId birth = one->birth_tier(target.view().tiers.size());
  if (birth != kNoTier && birth >= target.view().tiers.size()) {
    return "birth_tier is no tier";
  }
  return "";
}

}  // namespace thermocline
