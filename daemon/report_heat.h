// HeatMap: which memory a job used when.
//
// Two maps of one trace. By address: rows of equally many touched pages, in
// order of address, so that a row's colour is heat per byte; what was never
// sampled is squeezed out. By tensor: those of one size that lived at one
// address one after another are one row (a placement moves them alike), the
// most used first, all others together in the last.
//
// Accesses are estimates: samples times their period, without those that a
// cache served. A trace without samples has a map by tensor only, of the lines
// that its operators read and wrote.
//
// Thread safety: pure functions, plain values.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "daemon/report_bins.h"

namespace thermocline {

struct HeatRow {
  std::string name;       // "tensor:12", a mapping's name, or empty
  std::string label;      // of tensors, when known
  Address start = 0;      // of a row by address: from its first touched page
  Address end = 0;        // ... to the end of its last
  Bytes bytes = 0;        // touched pages, or the tensor
  std::size_t count = 1;  // tensors, or touched pages
  std::vector<double> loads;  // by bin
  std::vector<double> stores;
};

struct HeatMap {
  bool sampled = true;  // false: counted from operators
  std::vector<HeatRow> rows;
};

// About as many rows as a screen can tell apart.
inline constexpr std::size_t kAddressRows = 160;
inline constexpr std::size_t kTensorRows = 60;

/// Both: requires a sorted trace; cost O(n log n) in samples and tensors.
HeatMap heat_by_address(const Trace& trace, const TimeBins& bins,
                        std::size_t rows = kAddressRows);
HeatMap heat_by_tensor(const Trace& trace, const TimeBins& bins,
                       std::size_t rows = kTensorRows);

/// Cells are whole numbers up to 9999, in units of "unit" accesses; what is
/// less than one unit but more than nothing counts as one.
nlohmann::ordered_json to_json(const HeatMap& map, const TimeBins& bins);

}  // namespace thermocline
