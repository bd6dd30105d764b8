// RegionExtents: objects that lie side by side, to be moved as one.
//
// What goes the same way is joined along ObjectView::after. A small object
// between two of them that was not meant to move comes along, if it lies in the
// same tier and its copy costs less than a second extent would.
//
// Thread safety: none. Units: bytes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "policies/best_fit.h"
#include "policies/policy.h"

namespace thermocline {

class RegionExtents {
 public:
  struct Limits {
    Bytes bytes = 0;         // of an extent of several objects, at most
    Bytes gap_bytes = 0;     // of what comes along between two
    bool contiguous = true;  // false: every object is an extent
  };

  /// Joins the objects `chosen`. `density`: by object, the value of a byte.
  /// Requires: they are movable and have bytes, each is named once.
  void join(const View& view, std::span<const ObjectId> chosen,
            std::span<const double> density, const Limits& limits);

  /// As claims whose ids are extents; key: the value of a byte, of what was
  /// chosen in it.
  std::span<Claim> claims() { return claims_; }
  std::size_t size() const { return claims_.size(); }
  /// By address. Requires: extent < size() of the join.
  std::span<const ObjectId> members(ObjectId extent) const {
    return std::span(members_).subspan(begins_[extent],
                                       begins_[extent + 1] - begins_[extent]);
  }

 private:
  ObjectId next(const View& view, ObjectId object) const {
    const ObjectId after = view.objects[object].after;
    return after < view.objects.size() ? after : kNoObject;
  }
  enum Mark : std::uint8_t { kChosen = 1, kPreceded = 2, kTaken = 4 };
  bool is(ObjectId object, Mark mark) const { return marks_[object] & mark; }
  void walk(const View& view, ObjectId first, std::span<const double> density,
            const Limits& limits);
  ObjectId beyond(const View& view, ObjectId object,
                  const Limits& limits) const;

  std::vector<ObjectId> members_;
  std::vector<std::size_t> begins_;
  std::vector<Claim> claims_;
  std::vector<std::uint8_t> marks_;
};

}  // namespace thermocline
