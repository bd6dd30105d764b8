// Who of many gets limited room: the best that fit.
//
// The same as sorting all claims and offering the room to each in turn, but
// without the sorting, which for 100,000 regions takes longer than a decision
// may: claims are counted into buckets by key, whole buckets are taken as long
// as they fit, and only the bucket in which room runs out is looked at closer.
//
// Thread safety: none but that of plain values. Units: bytes.
#pragma once

#include <span>
#include <vector>

#include "policies/key_buckets.h"
#include "policies/marks.h"
#include "policies/object_columns.h"
#include "traces/types.h"

namespace thermocline {

struct Claim {
  double key = 0;  // finite; the highest goes first
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
/// order of their ids, their keys at least 0. Cost: O(claims) where few sizes
/// occur; at worst that of sorting.
void take_best(std::span<const Claim> claims, BytesLeft& room,
               std::vector<ObjectId>& out);

// The same for the objects of a view: keys in a column beside the view's own.
// No list of claims is made of them but for the few that it is close for. Keeps
// its memory from call to call.
class BestFit {
 public:
  /// keys[i] is that of object i: finite, at least 0; 0 claims nothing. `home`:
  /// what lies in that tier is inside. Who is in a lower bucket than `least`
  /// claims nothing either. Requires: a row for each key.
  void offer(std::span<const double> keys, const ObjectColumns& columns,
             TierId home, BytesLeft& room, double least = 0);

  /// Of the last offer: who got room.
  const Marks& chosen() const { return chosen_; }
  /// Likewise the order of the keys.
  KeyBuckets& order() { return order_; }

 private:
  // Two sums of what is inside, and two of what is not: neighbours are often
  // alike and would wait for one another's sum.
  static constexpr std::size_t kLanes = 4;

  void count(std::span<const double> keys, const ObjectColumns& columns,
             TierId home, int least);
  // The bucket in which room runs out, the one before `least` where all fit.
  // Takes what those after it hold, and empties all of them.
  int cut(int least, BytesLeft& room);
  void close(BytesLeft& room);

  KeyBuckets order_;
  std::vector<Bytes> held_;  // by bucket and lane; all 0 in between
  Marks chosen_;
  Marks near_;
  std::vector<Claim> claims_;
  std::vector<ObjectId> taken_;
};

}  // namespace thermocline
