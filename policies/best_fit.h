// take_best(): of many claims to limited room, the best that fit.
//
// The same as sorting all claims and offering the room to each in turn, but
// without the sorting, which for 100,000 regions takes longer than a decision
// may: claims are counted into buckets by key, whole buckets are taken as long
// as they fit, and only the bucket in which room runs out is looked at closer.
//
// Thread safety: pure functions. Units: bytes.
#pragma once

#include <span>
#include <vector>

#include "traces/types.h"

namespace thermocline {

struct Claim {
  double key = 0;  // finite, at least 0; the highest goes first
  Bytes bytes = 0;
  ObjectId id = 0;      // ties: the lower tier first, then the lower id
  TierId tier = 0;      // where it lies
  bool inside = false;  // lies in the room already
};

// What a tier still has. What is inside already may use all of it; what would
// come in leaves something free.
struct BytesLeft {
  Bytes taken = 0;
  Bytes for_newcomers = 0;
  Bytes for_all = 0;

  bool fits(const Claim& claim) const {
    const Bytes limit = claim.inside ? for_all : for_newcomers;
    return taken <= limit && claim.bytes <= limit - taken;
  }
};

/// Offers the room to the claims, best first, and appends to `out` the ids of
/// those that got it (in no particular order). One that does not fit is passed
/// over, and smaller ones after it may still fit. Requires: claims are in the
/// order of their ids. Cost: O(claims) where few sizes occur; at worst that of
/// sorting.
void take_best(std::span<const Claim> claims, BytesLeft& room,
               std::vector<ObjectId>& out);

}  // namespace thermocline
