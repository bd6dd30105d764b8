// Place: a part of a target's address space that was asked for, and what is
// known of it.
//
// Thread safety: as the service's; a Place is good until the service changes.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "daemon/service.h"

namespace thermocline {

struct Place {
  const Managed* managed = nullptr;
  Address start = 0;
  Address end = 0;
  std::vector<ObjectId> regions;  // those that it touches
};

// What is known of a place: of each region the part that the place covers.
struct PlaceFigures {
  std::vector<double> bytes_by_tier;
  double heat_ns = 0;
  double loads = 0;
  double stores = 0;
  double bytes() const;
  /// Of most bytes, the faster of equals; none are resident: the first.
  TierId tier() const;
};

/// A number, "17", "0x7f00", or (where the key is "tensor") "tensor:17".
Result<std::uint64_t> number_of(const nlohmann::json& value,
                                const std::string& key);

/// A range of a target, with the regions that it touches.
/// Cost: the regions of the range, at most all of the target's.
Place place_of(const Managed& managed, Address start, Bytes bytes);

/// What a request names by "address" or "tensor" and, if it likes, "pid".
/// `told` gets what the place is. Errors: kInvalid, kNotFound; an unknown
/// field is one.
Result<Place> read_place(Service& service, const nlohmann::json& request,
                         nlohmann::json& told);

PlaceFigures figures_of(const Place& place, std::size_t tiers);

/// Adds the place and its figures, under the keys of API.md.
void describe(const Service& service, const Place& place, nlohmann::json& out);

}  // namespace thermocline
