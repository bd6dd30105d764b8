// DamonRegions: what DAMON saw of a run of addresses, as samples.
//
// In each snapshot DAMON says of a region in how many of its checks a page of
// it had been accessed, taking all its pages to be alike. Each such region
// becomes a few samples, spread evenly over its addresses, which together
// stand for (accesses seen) x (pages): then samples counted by page or by byte
// give the heat that DAMON saw. DAMON cannot tell loads from stores.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "tracer/importer.h"

namespace thermocline {

struct DamonRegion {
  Nanos time = 0;  // when the snapshot ended
  Address start = 0;
  Address end = 0;
  std::uint64_t accesses = 0;  // checks that found an access
  std::uint32_t target = 0;    // by target_number()
};

class DamonRegions {
 public:
  /// `points`: samples of a region in a snapshot, at most.
  explicit DamonRegions(std::int64_t points) : points_(points) {}

  /// A short number for a target, counted from 0.
  std::uint32_t target_number(const std::string& target);
  /// Errors: kCorrupt when the region ends before it starts.
  Status add(const DamonRegion& region, ImportedTrace& out);
  /// After the last: notes and marks. Errors: kCorrupt if there was none.
  Status finish(ImportedTrace& out) const;

 private:
  std::int64_t points_;
  std::unordered_map<std::string, std::uint32_t> targets_;
  std::uint64_t regions_ = 0;
  Nanos first_ = INT64_MAX;
  Nanos last_ = 0;
};

}  // namespace thermocline
