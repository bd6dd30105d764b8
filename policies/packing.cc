#include "policies/packing.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "policies/best_fit.h"
#include "policies/tier_use.h"

namespace thermocline {
namespace {

constexpr double kMostWorth = 1e100;

// Fits `bytes` into `limit` of which `used` is taken, without overflow.
bool fits(Bytes used, Bytes bytes, Bytes limit) {
  return used <= limit && bytes <= limit - used;
}

// Least valuable first, and only as far as it is asked: a budget seldom lets
// more than a few of them go.
class Leavers {
 public:
  void add(const Claim& claim) { heap_.push_back(claim); }
  void arrange() { std::make_heap(heap_.begin(), heap_.end(), later); }

  /// The n-th of those that have not gone, or nullptr.
  const Claim* at(std::size_t n) {
    while (gone_ + n >= order_.size()) {
      if (heap_.empty()) return nullptr;
      std::pop_heap(heap_.begin(), heap_.end(), later);
      order_.push_back(heap_.back());
      heap_.pop_back();
    }
    return &order_[gone_ + n];
  }
  /// The first n have gone.
  void go(std::size_t n) { gone_ += n; }
  void go_one(std::size_t n) {
    order_.erase(order_.begin() + static_cast<std::ptrdiff_t>(gone_ + n));
  }

 private:
  static bool later(const Claim& a, const Claim& b) {
    return a.key != b.key ? a.key > b.key : a.id < b.id;
  }
  std::vector<Claim> heap_;
  std::vector<Claim> order_;
  std::size_t gone_ = 0;
};

// Large and wanted again in the next window: kept, for fresh memory costs more
// than the decision.
struct Scratch {
  std::vector<Claim> valued;
  std::vector<Claim> some;
  std::vector<double> padded;
  std::vector<ObjectId> idle;
  std::vector<ObjectId> chosen;
  std::vector<TierId> target;
};

// One call's worth of bookkeeping. plan() decides where everything would lie
// with an unlimited budget; drain() and promote() make as much of it true as
// the budget allows, and demote nothing that no promotion needs.
//
// Objects of no value in the slowest tier stay there and are looked at once.
class Packer {
 public:
  Packer(const View& view, const ObjectColumns* columns,
         std::span<const double> score, const PackOptions& options,
         Scratch& scratch)
      : view_(view),
        columns_(columns),
        score_(score),
        scratch_(scratch),
        target_(scratch.target),
        stay_(1 + std::max(0.0, options.hysteresis)),
        fill_(std::clamp(options.fill, 0.0, 1.0)),
        budget_(view.budget),
        used_(view.tiers.size(), 0),
        fixed_(view.tiers.size(), 0),
        idle_bytes_(view.tiers.size(), 0),
        leavers_(view.tiers.size()) {}

  std::vector<Move> run() {
    if (view_.tiers.size() < 2) return {};
    if (columns_ != nullptr) {
      const Bytes* const bytes = columns_->bytes.data();
      const TierId* const tier = columns_->tier.data();
      const std::uint8_t* const movable = columns_->movable.data();
      gather([=](std::size_t i) -> Row {
        return {bytes[i], tier[i], movable[i] != 0};
      });
    } else {
      gather([this](std::size_t i) -> Row {
        const ObjectView& one = view_.objects[i];
        return {one.bytes, one.tier, one.movable};
      });
    }
    target_.assign(view_.objects.size(), last());
    for (TierId t = 0; t < last(); ++t) plan(t);
    for (const Claim& claim : valued_) sort_out(claim);
    for (const ObjectId i : idle_) {
      const Claim claim = idle_claim(i);
      if (idle_bytes_[claim.tier] > 0) sort_out(claim);
    }
    for (auto& out : leavers_) out.arrange();
    drain();
    promote();
    demotions_.insert(demotions_.end(), promotions_.begin(), promotions_.end());
    return std::move(demotions_);
  }

 private:
  TierId last() const { return static_cast<TierId>(view_.tiers.size() - 1); }

  // 1 for what is more than zero, 0 for all else and NaN. By its bits, so that
  // the compiler makes no branch of it: which of 100,000 objects are worth
  // something cannot be guessed, and wrong guesses took half of the time.
  static std::size_t positive(double score) {
    constexpr auto kInfinity =
        std::bit_cast<std::uint64_t>(std::numeric_limits<double>::infinity());
    return std::bit_cast<std::uint64_t>(score) - 1 < kInfinity ? 1 : 0;
  }
  // Bounded, so that score * bytes stays finite; below zero and NaN are 0.
  double score(ObjectId i) const {
    return i < score_.size() && score_[i] > 0 ? std::min(score_[i], kMostWorth)
                                              : 0;
  }
  // Scores of so many objects: those beyond have none.
  const double* padded(std::size_t count) {
    if (score_.size() >= count) return score_.data();
    scratch_.padded.assign(score_.begin(), score_.end());
    scratch_.padded.resize(count, 0);
    return scratch_.padded.data();
  }
  static double value(const Claim& claim) {
    return claim.key * static_cast<double>(claim.bytes);
  }
  bool has_room(TierId t, Bytes bytes) const {
    return t == last() || fits(before_[t], bytes, view_.tiers[t].capacity);
  }

  struct Row {
    Bytes bytes = 0;
    TierId tier = 0;
    bool movable = false;
  };
  // Which of the two lists an object is for is anyone's guess: it is written
  // to both, and counted in one.
  template <typename RowOf>
  void gather(const RowOf& row_of) {
    const std::size_t count = view_.objects.size();
    auto& valued = scratch_.valued;
    auto& idle = scratch_.idle;
    // One more, for what is written and not counted.
    if (valued.size() <= count) valued.resize(count + 1);
    if (idle.size() <= count) idle.resize(count + 1);
    Claim* claim = valued.data();
    ObjectId* idler = idle.data();
    const double* const scores = padded(count);
    const std::size_t tiers = used_.size();
    const std::size_t slowest = last();
    const double stays[] = {stay_, 1};
    TierSums used(tiers);
    TierSums idle_bytes(tiers);
    for (std::size_t k = 0; k < count; ++k) {
      const Row one = row_of(k);
      const auto id = static_cast<ObjectId>(k);
      if (one.tier >= tiers) continue;
      used.add(k, one.tier, one.bytes);
      if (!one.movable || one.bytes == 0) {
        fixed_[one.tier] += one.bytes;
        continue;
      }
      const double worth = std::min(scores[k], kMostWorth);
      const std::size_t worthy = positive(worth);
      const std::size_t above = one.tier < slowest;
      *claim = {worth * stays[one.tier != 0], one.bytes, id, one.tier,
                one.tier == 0};
      *idler = id;
      idle_bytes.add(k, one.tier, (worthy - 1) & one.bytes);
      claim += worthy;
      idler += above & (worthy ^ 1);
    }
    valued_ = {valued.data(), claim};
    idle_ = {idle.data(), idler};
    for (std::size_t t = 0; t < tiers; ++t) {
      const Bytes sum = used.of(t);
      used_[t] = std::max(sum, view_.tiers[t].used);
      fixed_[t] += used_[t] - sum;
      idle_bytes_[t] = idle_bytes.of(t);
    }
    before_ = used_;
  }

  Claim idle_claim(ObjectId i) const {
    const ObjectView& one = view_.objects[i];
    return {0, one.bytes, i, one.tier, false};
  }

  // Claims to tier t of those that no faster tier took: an object is worth
  // more where it already is.
  std::span<const Claim> valued_claims(TierId t) {
    if (t == 0) return valued_;
    auto& some = scratch_.some;
    some.clear();
    for (Claim claim : valued_) {
      if (target_[claim.id] != last()) continue;
      claim.inside = claim.tier == t;
      claim.key = score(claim.id) * (claim.tier <= t ? stay_ : 1);
      some.push_back(claim);
    }
    return some;
  }

  // The same of objects of no value, which only keep their place, or a slower
  // one: by tier and id.
  void keep_idle(TierId t, BytesLeft& room, std::vector<ObjectId>& chosen) {
    for (TierId from = 0; from <= t; ++from) {
      if (idle_bytes_[from] == 0) continue;
      if (from == t && room.fits({0, idle_bytes_[t], 0, t, true})) {
        room.taken += idle_bytes_[t];
        idle_bytes_[t] = 0;  // all stay: nothing more to decide on them
        continue;
      }
      for (const ObjectId i : idle_) {
        Claim claim = idle_claim(i);
        claim.inside = from == t;
        if (claim.tier != from || target_[i] != last()) continue;
        if (!room.fits(claim)) continue;
        room.taken += claim.bytes;
        chosen.push_back(i);
      }
    }
  }

  // Notes what has to move for the plan to come true.
  void sort_out(Claim claim) {
    const TierId to = target_[claim.id];
    claim.key = score(claim.id);
    if (to < claim.tier) wanted_.push_back(claim);
    if (to > claim.tier) leavers_[claim.tier].add(claim);
  }

  void plan(TierId t) {
    const Bytes capacity = view_.tiers[t].capacity;
    BytesLeft room{fixed_[t], capacity, capacity};
    if (fill_ < 1) {
      room.for_newcomers = static_cast<Bytes>(
          std::min(static_cast<double>(capacity) * fill_, 9e18));
    }
    auto& chosen = scratch_.chosen;
    chosen.clear();
    take_best(valued_claims(t), room, chosen);
    keep_idle(t, room, chosen);
    for (const ObjectId i : chosen) target_[i] = t;
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

  void promote() {
    const auto later = [](const Claim& a, const Claim& b) {
      return a.key != b.key ? a.key < b.key : a.id > b.id;
    };
    Bytes smallest = std::numeric_limits<Bytes>::max();
    for (const Claim& claim : wanted_) {
      smallest = std::min(smallest, claim.bytes);
    }
    std::make_heap(wanted_.begin(), wanted_.end(), later);
    std::vector<Claim> chosen;
    for (auto end = wanted_.end();
         end != wanted_.begin() && smallest <= budget_;) {
      std::pop_heap(wanted_.begin(), end, later);
      const Claim& claim = *--end;
      const TierId to = target_[claim.id];
      if (claim.bytes > budget_) continue;
      if (!victims(to, claim.bytes, chosen)) continue;
      Bytes cost = claim.bytes;
      double lost = 0;
      for (const Claim& victim : chosen) {
        cost += victim.bytes;
        lost += value(victim);
      }
      // Sizes differ: a small hot object must not put out a large warm one.
      if (cost > budget_ || (lost > 0 && value(claim) <= lost * stay_)) {
        continue;
      }
      for (const Claim& victim : chosen) demote(victim);
      leavers_[to].go(chosen.size());
      promotions_.push_back({claim.id, claim.tier, to});
      used_[to] += claim.bytes;
      before_[to] += claim.bytes;
      used_[claim.tier] -= claim.bytes;
      budget_ -= claim.bytes;
    }
  }

  const View& view_;
  const ObjectColumns* columns_;  // none: all is read from the view
  std::span<const double> score_;
  Scratch& scratch_;
  std::vector<TierId>& target_;
  double stay_;
  double fill_;
  Bytes budget_;
  std::vector<Bytes> used_;  // by tier, as the moves so far leave it
  // The same without the room that promotions free: demotions go first, and
  // must not count on it.
  std::vector<Bytes> before_;
  std::vector<Bytes> fixed_;        // by tier, what cannot be moved
  std::span<const Claim> valued_;   // movable, of some value
  std::span<const ObjectId> idle_;  // of none, and not in the slowest tier
  // Of those, by tier, that may have to go; 0 once it is known that all stay.
  std::vector<Bytes> idle_bytes_;
  std::vector<Claim> wanted_;
  std::vector<Leavers> leavers_;  // by tier
  std::vector<Move> demotions_;
  std::vector<Move> promotions_;
};

}  // namespace

std::vector<Move> pack(const View& view, std::span<const double> score,
                       const PackOptions& options) {
  static thread_local Scratch scratch;
  return Packer(view, nullptr, score, options, scratch).run();
}

std::vector<Move> pack(const View& view, const ObjectColumns& columns,
                       std::span<const double> score,
                       const PackOptions& options) {
  static thread_local Scratch scratch;
  return Packer(view, &columns, score, options, scratch).run();
}

std::vector<Move> pack_full(const View& view, std::span<const double> score,
                            double hysteresis) {
  return pack(view, score, {hysteresis, 1.0});
}

}  // namespace thermocline
