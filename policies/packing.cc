#include "policies/packing.h"

#include <algorithm>
#include <cmath>

namespace thermocline {
namespace {

// One call's worth of bookkeeping. plan() decides where everything would lie
// with an unlimited budget; schedule() makes as much of it true as the budget
// allows, and demotes nothing that no promotion needs.
class Packer {
 public:
  Packer(const View& view, std::span<const double> score,
         const PackOptions& options)
      : view_(view),
        stay_(1 + std::max(0.0, options.hysteresis)),
        fill_(std::clamp(options.fill, 0.0, 1.0)),
        budget_(view.budget),
        used_(view.tiers.size(), 0),
        fixed_(view.tiers.size(), 0),
        target_(view.objects.size(), kNoTier),
        score_(view.objects.size(), 0) {
    for (std::size_t i = 0; i < score_.size() && i < score.size(); ++i) {
      // Bounded, so that value = score * bytes stays finite; NaN becomes 0.
      if (score[i] > 0) score_[i] = std::min(score[i], 1e100);
    }
    count_room();
  }

  std::vector<Move> run() {
    if (view_.tiers.size() < 2) return {};
    for (std::size_t t = 0; t + 1 < view_.tiers.size(); ++t) plan(tier(t));
    for (const ObjectId i : movable_) {
      if (target_[i] == kNoTier) target_[i] = last();
    }
    drain();
    promote();
    demotions_.insert(demotions_.end(), promotions_.begin(), promotions_.end());
    return std::move(demotions_);
  }

 private:
  static TierId tier(std::size_t t) { return static_cast<TierId>(t); }
  TierId last() const { return tier(view_.tiers.size() - 1); }
  const ObjectView& object(ObjectId i) const { return view_.objects[i]; }

  double value(ObjectId i) const {
    return score_[i] * static_cast<double>(object(i).bytes);
  }

  // Fits `bytes` into `limit` of which `used` is taken, without overflow.
  static bool fits(Bytes used, Bytes bytes, Bytes limit) {
    return used <= limit && bytes <= limit - used;
  }
  bool has_room(TierId t, Bytes bytes) const {
    return t == last() || fits(before_[t], bytes, view_.tiers[t].capacity);
  }

  void count_room() {
    std::vector<Bytes> movable(used_.size(), 0);
    for (std::size_t i = 0; i < view_.objects.size(); ++i) {
      const ObjectView& one = view_.objects[i];
      if (one.tier >= used_.size()) continue;
      used_[one.tier] += one.bytes;
      if (!one.movable || one.bytes == 0) continue;
      movable[one.tier] += one.bytes;
      movable_.push_back(static_cast<ObjectId>(i));
    }
    for (std::size_t t = 0; t < used_.size(); ++t) {
      used_[t] = std::max(used_[t], view_.tiers[t].used);
      fixed_[t] = used_[t] - movable[t];
    }
    before_ = used_;
  }

  // What an object is worth to tier t: more where it already is.
  double key(ObjectId i, TierId t) const {
    return object(i).tier <= t ? score_[i] * stay_ : score_[i];
  }

  void plan(TierId t) {
    std::vector<ObjectId> order;
    for (const ObjectId i : movable_) {
      const bool wants = score_[i] > 0 || object(i).tier <= t;
      if (target_[i] == kNoTier && wants) order.push_back(i);
    }
    std::sort(order.begin(), order.end(), [&](ObjectId a, ObjectId b) {
      const double x = key(a, t);
      const double y = key(b, t);
      if (x != y) return x > y;
      if (object(a).tier != object(b).tier) {
        return object(a).tier < object(b).tier;
      }
      return a < b;
    });
    const Bytes capacity = view_.tiers[t].capacity;
    const Bytes filled =
        fill_ >= 1 ? capacity
                   : static_cast<Bytes>(
                         std::min(static_cast<double>(capacity) * fill_, 9e18));
    Bytes taken = fixed_[t];
    for (const ObjectId i : order) {
      const Bytes limit = object(i).tier == t ? capacity : filled;
      if (!fits(taken, object(i).bytes, limit)) continue;
      taken += object(i).bytes;
      target_[i] = t;
    }
  }

  // Objects that the plan sends out of tier t, the least valuable last.
  std::vector<ObjectId> leaving(TierId t) const {
    std::vector<ObjectId> out;
    for (const ObjectId i : movable_) {
      if (object(i).tier == t && target_[i] > t) out.push_back(i);
    }
    std::sort(out.begin(), out.end(), [&](ObjectId a, ObjectId b) {
      return score_[a] != score_[b] ? score_[a] > score_[b] : a < b;
    });
    return out;
  }

  // Where a demoted object goes now: as planned, or slower if that is full.
  TierId refuge(ObjectId i) const {
    TierId to = target_[i];
    while (!has_room(to, object(i).bytes)) ++to;
    return to;
  }

  void demote(ObjectId i) {
    const ObjectView& one = object(i);
    const TierId to = refuge(i);
    demotions_.push_back({i, one.tier, to});
    for (auto* used : {&used_, &before_}) {
      (*used)[one.tier] -= one.bytes;
      (*used)[to] += one.bytes;
    }
    budget_ -= one.bytes;
  }

  // Brings overfull tiers back to their capacity, slowest first so that they
  // have room for what comes from above.
  void drain() {
    for (TierId t = last(); t-- > 0;) {
      auto out = leaving(t);
      while (!out.empty() && used_[t] > view_.tiers[t].capacity) {
        if (object(out.back()).bytes <= budget_) {
          demote(out.back());
          target_[out.back()] = t;  // has left: no longer "leaving"
        }
        out.pop_back();
      }
    }
  }

  // The least valuable leavers of tier t that make room for `bytes`; empty
  // and false when even all of them would not.
  bool victims(TierId t, Bytes bytes, const std::vector<ObjectId>& out,
               std::vector<ObjectId>& chosen) const {
    chosen.clear();
    Bytes used = used_[t];
    for (std::size_t left = out.size();
         !fits(used, bytes, view_.tiers[t].capacity);) {
      if (left-- == 0) return false;
      used -= object(out[left]).bytes;
      chosen.push_back(out[left]);
    }
    return true;
  }

  void promote() {
    std::vector<ObjectId> wanted;
    for (const ObjectId i : movable_) {
      if (target_[i] < object(i).tier) wanted.push_back(i);
    }
    std::sort(wanted.begin(), wanted.end(), [&](ObjectId a, ObjectId b) {
      return score_[a] != score_[b] ? score_[a] > score_[b] : a < b;
    });
    std::vector<std::vector<ObjectId>> out;
    for (std::size_t t = 0; t < used_.size(); ++t) {
      out.push_back(leaving(tier(t)));
    }
    std::vector<ObjectId> chosen;
    for (const ObjectId i : wanted) {
      const TierId to = target_[i];
      const Bytes bytes = object(i).bytes;
      if (bytes > budget_) continue;
      if (!victims(to, bytes, out[to], chosen)) continue;
      Bytes cost = bytes;
      double lost = 0;
      for (const ObjectId v : chosen) {
        cost += object(v).bytes;
        lost += value(v);
      }
      // Sizes differ: a small hot object must not put out a large warm one.
      if (cost > budget_ || (lost > 0 && value(i) <= lost * stay_)) continue;
      for (const ObjectId v : chosen) demote(v);
      out[to].resize(out[to].size() - chosen.size());
      promotions_.push_back({i, object(i).tier, to});
      used_[to] += bytes;
      before_[to] += bytes;
      used_[object(i).tier] -= bytes;
      budget_ -= bytes;
    }
  }

  const View& view_;
  double stay_;
  double fill_;
  Bytes budget_;
  std::vector<Bytes> used_;  // by tier, as the moves so far leave it
  // The same without the room that promotions free: demotions go first, and
  // must not count on it.
  std::vector<Bytes> before_;
  std::vector<Bytes> fixed_;  // by tier, what cannot be moved
  std::vector<TierId> target_;
  std::vector<double> score_;
  std::vector<ObjectId> movable_;
  std::vector<Move> demotions_;
  std::vector<Move> promotions_;
};

}  // namespace

std::vector<Move> pack(const View& view, std::span<const double> score,
                       const PackOptions& options) {
  return Packer(view, score, options).run();
}

}  // namespace thermocline
