#include "policies/packing.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "policies/best_fit.h"
#include "policies/claim_heaps.h"
#include "policies/packing_passes.h"
#include "policies/tier_use.h"

namespace thermocline {
namespace {

// Taking so many from a heap costs more than looking at one that stays.
constexpr std::size_t kPassedOver = 64;

// Fits `bytes` into `limit` of which `used` is taken, without overflow.
bool fits(Bytes used, Bytes bytes, Bytes limit) {
  return used <= limit && bytes <= limit - used;
}

// Large and wanted again in the next window: kept, for fresh memory costs more
// than the decision.
struct Scratch {
  std::vector<Bytes> bytes;
  std::vector<TierId> tier;
  Marks given;
  std::vector<double> padded;
  std::vector<double> keys;
  BestFit best;
  Marks movable;
  Marks idle;
  Marks up;
  Marks down;
  std::vector<TierId> target;
};

// What the view says, in columns.
ObjectColumns columns_of(const View& view, std::vector<Bytes>& used,
                         Scratch& scratch) {
  scratch.bytes.clear();
  scratch.tier.clear();
  scratch.given.clear();
  for (const ObjectView& one : view.objects) {
    scratch.bytes.push_back(one.bytes);
    scratch.tier.push_back(one.tier);
    scratch.given.push_back(one.movable && one.bytes > 0 ? 1 : 0);
  }
  used = tier_use(view);
  return {scratch.bytes, scratch.tier, scratch.given, used};
}

// One call's worth of bookkeeping. plan() decides where everything would lie
// with an unlimited budget; drain() and promote() make as much of it true as
// the budget allows, and demote nothing that no promotion needs.
//
// Objects of no value in the slowest tier stay there and are looked at once.
class Packer {
 public:
  Packer(const View& view, const ObjectColumns& columns,
         std::span<const double> score, const PackOptions& options,
         Scratch& scratch)
      : view_(view),
        columns_(columns),
        count_(view.objects.size()),
        bytes_(columns.bytes.data()),
        tier_(columns.tier.data()),
        movable_(columns.movable.data()),
        scratch_(scratch),
        score_(padded(score)),
        target_(scratch.target),
        stay_(1 + std::max(0.0, options.hysteresis)),
        fill_(std::clamp(options.fill, 0.0, 1.0)),
        budget_(view.budget),
        used_(columns.used.begin(), columns.used.end()),
        before_(used_),
        idle_moves_(view.tiers.size(), 0),
        leavers_(view.tiers.size()) {}

  std::vector<Move> run() {
    gather_all();
    for (TierId t = 0; t < last(); ++t) plan(t);
    sort_out();
    drain();
    promote();
    demotions_.insert(demotions_.end(), promotions_.begin(), promotions_.end());
    return std::move(demotions_);
  }

 private:
  TierId last() const { return static_cast<TierId>(view_.tiers.size() - 1); }

  // Scores of all objects: those beyond have none.
  const double* padded(std::span<const double> score) {
    if (score.size() >= count_) return score.data();
    scratch_.padded.assign(score.begin(), score.end());
    scratch_.padded.resize(count_, 0);
    return scratch_.padded.data();
  }
  // Bounded, so that score * bytes stays finite; below zero and NaN are 0.
  double score(ObjectId i) const {
    return score_[i] > 0 ? std::min(score_[i], packing::kMostWorth) : 0;
  }
  static double value(const Claim& claim) {
    return claim.key * static_cast<double>(claim.bytes);
  }
  bool has_room(TierId t, Bytes bytes) const {
    return t == last() || fits(before_[t], bytes, view_.tiers[t].capacity);
  }

  void gather_all() {
    for (auto* marks :
         {&scratch_.movable, &scratch_.idle, &scratch_.up, &scratch_.down}) {
      marks->resize(count_);
    }
    scratch_.keys.resize(count_);
    target_.resize(count_);
    packing::gather(count_, movable_, tier_, score_, last(),
                    scratch_.movable.data(), scratch_.idle.data(),
                    target_.data());
  }

  // What is of no value only keeps its place, or a slower one: by tier and id.
  void keep_idle(TierId t, Bytes lying, BytesLeft& room) {
    for (TierId from = 0; from < t; ++from) {
      if (idle_moves_[from] != 0) keep_idle_of(from, t, room);
    }
    if (lying == 0) return;
    if (!room.fits({0, lying, 0, t, true})) {
      idle_moves_[t] = 1;
      return keep_idle_of(t, t, room);
    }
    room.taken += lying;
    auto& stays = scratch_.up;
    for (std::size_t i = 0; i < count_; ++i) {
      stays[i] = scratch_.idle[i] & static_cast<std::uint8_t>(tier_[i] == t);
    }
    packing::put(t, count_, stays.data(), target_.data());
  }
  void keep_idle_of(TierId from, TierId t, BytesLeft& room) {
    for_each_marked(scratch_.idle, [&](ObjectId i) {
      if (tier_[i] != from || target_[i] != last()) return;
      if (!room.fits({0, bytes_[i], i, from, from == t})) return;
      room.taken += bytes_[i];
      target_[i] = t;
    });
  }

  void plan(TierId t) {
    const Bytes capacity = view_.tiers[t].capacity;
    const packing::Lying here =
        packing::lying_in(t, count_, tier_, bytes_, scratch_.movable.data(),
                          scratch_.idle.data());
    BytesLeft room{used_[t] - here.movable, capacity, capacity};
    if (fill_ < 1) {
      room.for_newcomers = static_cast<Bytes>(
          std::min(static_cast<double>(capacity) * fill_, 9e18));
    }
    packing::mark_claims(count_, target_.data(), last(),
                         scratch_.movable.data(), scratch_.idle.data(),
                         scratch_.up.data());
    packing::claim(t, stay_, count_, score_, tier_, scratch_.up.data(),
                   scratch_.keys.data());
    scratch_.best.offer(scratch_.keys, columns_, t, room);
    packing::put(t, count_, scratch_.best.chosen().data(), target_.data());
    keep_idle(t, here.idle, room);
  }

  bool overfull() const {
    for (TierId t = 0; t < last(); ++t) {
      if (used_[t] > view_.tiers[t].capacity) return true;
    }
    return false;
  }

  // Notes what has to move for the plan to come true.
  void sort_out() {
    packing::compare(count_, tier_, target_.data(), scratch_.up.data(),
                     scratch_.down.data());
    const auto claim_of = [this](ObjectId i) -> Claim {
      return {score(i), bytes_[i], i, tier_[i], false};
    };
    for_each_marked(scratch_.up, [&](ObjectId i) { wanted_.add(claim_of(i)); });
    if (wanted_.empty() && !overfull()) return;  // nobody has to make room
    for_each_marked(scratch_.down,
                    [&](ObjectId i) { leavers_[tier_[i]].add(claim_of(i)); });
    for (auto& out : leavers_) out.arrange();
  }

  void demote(const Claim& claim) {
    // As planned, or slower if that is full.
    TierId to = target_[claim.id];
    while (!has_room(to, claim.bytes)) ++to;
    demotions_.push_back({claim.id, claim.tier, to});
    for (auto* used : {&used_, &before_}) {
      (*used)[claim.tier] -= claim.bytes;
      (*used)[to] += claim.bytes;
    }
    budget_ -= claim.bytes;
  }

  // Brings overfull tiers back to their capacity, slowest first so that they
  // have room for what comes from above.
  void drain() {
    for (TierId t = last(); t-- > 0;) {
      std::size_t too_large = 0;
      while (used_[t] > view_.tiers[t].capacity) {
        const Claim* one = leavers_[t].at(too_large);
        if (one == nullptr) break;
        if (one->bytes > budget_) {
          ++too_large;
          continue;
        }
        demote(*one);
        leavers_[t].go_one(too_large);
      }
    }
  }

  // False where not even leavers of just the right size would leave enough of
  // the budget. What is refused so is refused for good: a move takes at least
  // as much from the budget as it can make room.
  bool affords(const Claim& claim) const {
    const TierId to = target_[claim.id];
    const Bytes used = used_[to];
    const Bytes capacity = view_.tiers[to].capacity;
    const Bytes free = capacity > used ? capacity - used : 0;
    const Bytes short_of = claim.bytes > free ? claim.bytes - free : 0;
    return fits(claim.bytes, short_of, budget_);
  }

  // The least valuable leavers of tier t that make room for `bytes`; false
  // when even all of them would not.
  bool victims(TierId t, Bytes bytes, std::vector<Claim>& chosen) {
    chosen.clear();
    Bytes used = used_[t];
    while (!fits(used, bytes, view_.tiers[t].capacity)) {
      const Claim* one = leavers_[t].at(chosen.size());
      if (one == nullptr) return false;
      used -= one->bytes;
      chosen.push_back(*one);
    }
    return true;
  }

  // Adds to group_, whose claims gain `gain` together, others that share what
  // `room` its victims leave, the densest first, until all are worth more than
  // `needed`. False, and nothing is added, where they never are.
  bool share(TierId to, Bytes room, Bytes budget, double gain, double needed) {
    const std::size_t alone = group_.size();
    passed_.clear();
    while (gain <= needed && passed_.size() <= kPassedOver) {
      if (wanted_.empty()) break;
      const Claim& next = wanted_.top();
      if (gain + next.key * static_cast<double>(room) <= needed) break;
      const bool joins =
          target_[next.id] == to && next.bytes <= room && next.bytes <= budget;
      if (joins) {
        gain += value(next);
        room -= next.bytes;
        budget -= next.bytes;
      }
      (joins ? group_ : passed_).push_back(next);
      wanted_.pop();
    }
    for (const Claim& claim : passed_) wanted_.push(claim);
    if (gain > needed) return true;
    for (std::size_t i = alone; i < group_.size(); ++i) wanted_.push(group_[i]);
    group_.resize(alone);
    return false;
  }

  // The victims, and all of group_ in their place.
  void exchange(TierId to, const std::vector<Claim>& victims) {
    for (const Claim& victim : victims) demote(victim);
    leavers_[to].go(victims.size());
    for (const Claim& claim : group_) {
      promotions_.push_back({claim.id, claim.tier, to});
      used_[to] += claim.bytes;
      before_[to] += claim.bytes;
      used_[claim.tier] -= claim.bytes;
      budget_ -= claim.bytes;
    }
  }

  void promote() {
    const Bytes smallest = wanted_.smallest();
    wanted_.arrange();
    std::vector<Claim> chosen;
    // By tier: so many victims were worth more than all that fits in their
    // place, and are, until some of them have gone.
    std::vector<std::size_t> worth_more(view_.tiers.size(), 0);
    std::size_t too_dear = 0;
    while (!wanted_.empty() && smallest <= budget_) {
      const Claim claim = wanted_.top();
      wanted_.pop();
      const TierId to = target_[claim.id];
      if (!affords(claim)) {
        if (++too_dear * kPassedOver < wanted_.size()) continue;
        // Many are left, and the budget is for few of them.
        wanted_.keep([this](const Claim& one) { return affords(one); });
        too_dear = 0;
        continue;
      }
      if (!victims(to, claim.bytes, chosen)) continue;
      Bytes cost = claim.bytes;
      Bytes used = used_[to] + claim.bytes;
      double lost = 0;
      for (const Claim& victim : chosen) {
        cost += victim.bytes;
        used -= victim.bytes;
        lost += value(victim);
      }
      if (cost > budget_) continue;
      group_.assign(1, claim);
      // Sizes differ: a small hot object must not put out a large warm one, but
      // several of them may, a huge page's worth.
      const double needed = lost * stay_;
      if (lost > 0 && value(claim) <= needed &&
          (chosen.size() == worth_more[to] ||
           !share(to, view_.tiers[to].capacity - used, budget_ - cost,
                  value(claim), needed))) {
        worth_more[to] = chosen.size();
        continue;
      }
      exchange(to, chosen);
      worth_more[to] = 0;
    }
  }

  const View& view_;
  const ObjectColumns& columns_;
  std::size_t count_;
  const Bytes* bytes_;  // by object
  const TierId* tier_;
  const std::uint8_t* movable_;
  Scratch& scratch_;
  const double* score_;
  std::vector<TierId>& target_;
  double stay_;
  double fill_;
  Bytes budget_;
  std::vector<Bytes> used_;  // by tier, as the moves so far leave it
  // The same without the room that promotions free: demotions go first, and
  // must not count on it.
  std::vector<Bytes> before_;
  // By tier: whether some that is of no value there may have to go.
  std::vector<std::uint8_t> idle_moves_;
  Wanted wanted_;
  std::vector<Claim> group_;      // that goes up together
  std::vector<Claim> passed_;     // and those that do not fit beside it
  std::vector<Leavers> leavers_;  // by tier
  std::vector<Move> demotions_;
  std::vector<Move> promotions_;
};

}  // namespace

std::vector<Move> pack(const View& view, const ObjectColumns& columns,
                       std::span<const double> score,
                       const PackOptions& options) {
  if (view.tiers.size() < 2) return {};
  static thread_local Scratch scratch;
  return Packer(view, columns, score, options, scratch).run();
}

std::vector<Move> pack(const View& view, std::span<const double> score,
                       const PackOptions& options) {
  static thread_local Scratch scratch;
  std::vector<Bytes> used;
  const ObjectColumns columns = columns_of(view, used, scratch);
  return pack(view, columns, score, options);
}

std::vector<Move> pack_full(const View& view, std::span<const double> score,
                            double hysteresis) {
  return pack(view, score, {hysteresis, 1.0});
}

}  // namespace thermocline
