#include "policies/best_fit.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "policies/capped_sum.h"
#include "traces/wide.h"

namespace thermocline {
namespace {

constexpr int kBucketBits = 11;
constexpr std::size_t kBuckets = std::size_t{1} << kBucketBits;
// Rounds of passing over what does not fit, before the rest is sorted.
constexpr int kRounds = 8;

// Doubles that are not negative are ordered as their bits are.
std::uint64_t bits(const Claim& claim) {
  return std::bit_cast<std::uint64_t>(claim.key + 0.0);
}

class Taker {
 public:
  Taker(BytesLeft& room, std::vector<ObjectId>& out) : room_(room), out_(out) {}

  void offer_all(std::span<const Claim> claims) {
    for (int round = 0; !claims.empty(); ++round) {
      if (round == kRounds) return offer_sorted(claims);
      std::vector<Claim> left = offer_buckets(claims);
      rest_.swap(left);
      claims = rest_;
    }
  }

 private:
  void take(const Claim& claim) {
    room_.taken += claim.bytes;
    out_.push_back(claim.id);
  }
  void offer(const Claim& claim) {
    if (room_.fits(claim)) take(claim);
  }

  void offer_sorted(std::span<const Claim> claims) {
    std::vector<Claim> sorted(claims.begin(), claims.end());
    std::sort(sorted.begin(), sorted.end(), [](const Claim& a, const Claim& b) {
      if (a.key != b.key) return a.key > b.key;
      return a.tier != b.tier ? a.tier < b.tier : a.id < b.id;
    });
    for (const Claim& claim : sorted) offer(claim);
  }

  // Of one key: by tier, then as they come, which is by id.
  void offer_equals(std::span<const Claim> claims, TierId last_tier) {
    for (int tier = 0; tier <= last_tier; ++tier) {
      for (const Claim& claim : claims) {
        if (claim.tier == tier) offer(claim);
      }
    }
  }

  struct Extent {
    std::uint64_t low = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t high = 0;
    Bytes bytes = 0;
    Bytes smallest = kTooMuch;
    TierId last_tier = 0;
    bool all_inside = true;
  };
  static Extent extent(std::span<const Claim> claims) {
    Extent out;
    for (const Claim& claim : claims) {
      const auto key = bits(claim);
      out.low = std::min(out.low, key);
      out.high = std::max(out.high, key);
      out.bytes = capped_sum(out.bytes, claim.bytes);
      out.smallest = std::min(out.smallest, claim.bytes);
      out.last_tier = std::max(out.last_tier, claim.tier);
      out.all_inside = out.all_inside & claim.inside;
    }
    return out;
  }

  // One pass from the best to the worst bucket; returns the claims behind the
  // bucket in which room ran out that would still fit.
  std::vector<Claim> offer_buckets(std::span<const Claim> claims) {
    const Extent all = extent(claims);
    const Bytes limit = all.all_inside ? room_.for_all : room_.for_newcomers;
    const Bytes free = limit > room_.taken ? limit - room_.taken : 0;
    if (all.bytes <= free && all.bytes != kTooMuch) {
      for (const Claim& claim : claims) take(claim);
      return {};
    }
    if (all.low == all.high) {
      offer_equals(claims, all.last_tier);
      return {};
    }
    const int width = static_cast<int>(std::bit_width(all.high - all.low));
    const int shift = std::max(0, width - kBucketBits);
    const auto bucket = [&](const Claim& claim) {
      return static_cast<std::size_t>((all.high - bits(claim)) >> shift);
    };
    std::array<Bytes, kBuckets> held{};
    std::array<std::uint32_t, kBuckets> count{};
    for (const Claim& claim : claims) {
      const std::size_t at = bucket(claim);
      held[at] = capped_sum(held[at], claim.bytes);
      ++count[at];
    }
    std::size_t last = 0;  // where room runs out
    std::size_t before = 0;
    for (Bytes used = 0; last + 1 < kBuckets; ++last) {
      used = capped_sum(used, held[last]);
      if (used > free || used == kTooMuch) break;
      before += count[last];
    }
    std::vector<Claim> close(count[last] + 1);
    take_before(claims, last, before, bucket, close);
    Taker(room_, out_).offer_all(close);
    std::vector<Claim> rest;
    const Bytes most = std::max(room_.for_all, room_.for_newcomers);
    if (room_.taken > most || all.smallest > most - room_.taken) return rest;
    for (const Claim& claim : claims) {
      if (bucket(claim) > last && room_.fits(claim)) rest.push_back(claim);
    }
    return rest;
  }

  // Takes all of the buckets before `last`, which are so many, and collects
  // that one. Which side a claim is on is anyone's guess: no branch asks for
  // it, and what belongs to neither is written over.
  template <typename Bucket>
  void take_before(std::span<const Claim> claims, std::size_t last,
                   std::size_t before, const Bucket& bucket,
                   std::vector<Claim>& close) {
    const std::size_t old = out_.size();
    out_.resize(old + before + 1);
    ObjectId* taken = out_.data() + old;
    Claim* near = close.data();
    Bytes bytes = 0;
    for (const Claim& claim : claims) {
      const auto at = bucket(claim);
      *taken = claim.id;
      *near = claim;
      taken += at < last ? 1 : 0;
      near += at == last ? 1 : 0;
      bytes += at < last ? claim.bytes : 0;
    }
    room_.taken += bytes;
    out_.pop_back();
    close.pop_back();
  }

  BytesLeft& room_;
  std::vector<ObjectId>& out_;
  std::vector<Claim> rest_;
};

// Makes the bucket of nothing the last of the sums.
constexpr std::size_t kMask = 0xfff;

// Who has room, all beyond the bucket `last`, and for whom it is close.
THERMOCLINE_WIDE
void split(std::size_t count, const std::uint16_t* bucket, std::int16_t last,
           std::uint8_t* chosen, std::uint8_t* near) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::int16_t>(bucket[i]);
    chosen[i] = at > last ? 1 : 0;
    near[i] = at == last ? 1 : 0;
  }
}

// Who is in a lower bucket, but no lower than `first`, and small enough.
struct Between {
  int first = 0;
  int last = 0;
};
THERMOCLINE_WIDE
void mark_lower(std::size_t count, const std::uint16_t* bucket,
                const Bytes* bytes, Between in, Bytes left,
                std::uint8_t* near) {
  const auto first = static_cast<std::uint16_t>(in.first);
  const auto last = static_cast<std::uint16_t>(in.last);
  for (std::size_t i = 0; i < count; ++i) {
    const bool lower = (bucket[i] < last) & (bucket[i] >= first);
    near[i] = lower & (bytes[i] <= left);
  }
}

}  // namespace

void take_best(std::span<const Claim> claims, BytesLeft& room,
               std::vector<ObjectId>& out) {
  Taker(room, out).offer_all(claims);
}

void BestFit::count(std::span<const double> keys, const ObjectColumns& columns,
                    TierId home, int least) {
  held_.resize((kMask + 1) * kLanes);
  order_.sort(keys);
  const Bytes* const bytes = columns.bytes.data();
  const TierId* const tier = columns.tier.data();
  const std::uint16_t* const bucket = order_.of().data();
  Bytes* const held = held_.data();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::size_t lane = (tier[i] == home ? 0 : 2) + i % 2;
    const int at = bucket[i] >= least ? bucket[i] : KeyBuckets::kNothing;
    Bytes& in = held[(static_cast<std::size_t>(at) & kMask) * kLanes + lane];
    in = capped_sum(in, bytes[i]);
  }
}

int BestFit::cut(int least, BytesLeft& room) {
  // A claim's bucket is not negative as a signed number, that of nothing is.
  int low = KeyBuckets::kNothing;
  int high = -1;
  for (const std::uint16_t at : order_.of()) {
    low = std::min<int>(low, at);
    high = std::max<int>(high, static_cast<std::int16_t>(at));
  }
  int out = least - 1;
  for (int at = high; at >= std::max(low, least); --at) {
    Bytes* const held = &held_[static_cast<std::size_t>(at) * kLanes];
    const Bytes inside = capped_sum(held[0], held[1]);
    const Bytes outside = capped_sum(held[2], held[3]);
    std::fill_n(held, kLanes, Bytes{0});
    if (out >= least) continue;
    const Claim all{0, capped_sum(inside, outside), 0, 0, outside == 0};
    if (room.fits(all) && all.bytes != kTooMuch) {
      room.taken += all.bytes;
    } else if (all.bytes > 0) {
      out = at;
    }
  }
  std::fill_n(&held_[kMask * kLanes], kLanes, Bytes{0});
  return out;
}

void BestFit::close(BytesLeft& room) {
  taken_.clear();
  take_best(claims_, room, taken_);
  for (const ObjectId i : taken_) chosen_[i] = 1;
}

void BestFit::offer(std::span<const double> keys, const ObjectColumns& columns,
                    TierId home, BytesLeft& room, double least) {
  const std::size_t count_of_all = keys.size();
  const int first = least > 0 ? KeyBuckets::bucket(least) : 0;
  count(keys, columns, home, first);
  const auto last = static_cast<std::int16_t>(cut(first, room));
  chosen_.resize(count_of_all);
  near_.resize(count_of_all);
  const std::uint16_t* const bucket = order_.of().data();
  std::uint8_t* const near = near_.data();
  split(count_of_all, bucket, last, chosen_.data(), near);
  if (last < first) return;
  const auto claim = [&](ObjectId i) {
    const TierId tier = columns.tier[i];
    return Claim{keys[i], columns.bytes[i], i, tier, tier == home};
  };
  claims_.clear();
  for_each_marked(near_, [&](ObjectId i) { claims_.push_back(claim(i)); });
  close(room);
  const Bytes most = std::max(room.for_all, room.for_newcomers);
  if (room.taken >= most) return;
  const Bytes left = most - room.taken;
  const Bytes* const bytes = columns.bytes.data();
  mark_lower(count_of_all, bucket, bytes, {first, last}, left, near);
  claims_.clear();
  for_each_marked(near_, [&](ObjectId i) {
    const Claim one = claim(i);
    if (room.fits(one)) claims_.push_back(one);
  });
  close(room);
}

}  // namespace thermocline
