#include "policies/reduced_mip.h"

#include <cmath>

namespace thermocline {
namespace {

constexpr double kSlack = 1e-7;  // relative

// What the row can reach, given what is fixed.
struct Reach {
  double least = 0;
  double most = 0;
};

Reach reach(const Mip::Row& row, const std::vector<std::int8_t>& fixed) {
  Reach out;
  for (std::size_t i = 0; i < row.columns.size(); ++i) {
    const double factor = row.factors[i];
    const auto is = fixed[static_cast<std::size_t>(row.columns[i])];
    if (is == 1 || (is == ReducedMip::kFree && factor < 0)) out.least += factor;
    if (is == 1 || (is == ReducedMip::kFree && factor > 0)) out.most += factor;
  }
  return out;
}

// Fixes what the row leaves no choice; false where it cannot be kept.
bool narrow(const Mip::Row& row, std::vector<std::int8_t>& fixed,
            bool& changed) {
  Reach can = reach(row, fixed);
  const double slack = kSlack * (1 + std::abs(can.least) + std::abs(can.most));
  if (can.least > row.most + slack || can.most < row.least - slack) {
    return false;
  }
  if (can.most <= row.most + slack && can.least >= row.least - slack) {
    return true;
  }
  for (std::size_t i = 0; i < row.columns.size(); ++i) {
    auto& is = fixed[static_cast<std::size_t>(row.columns[i])];
    if (is != ReducedMip::kFree) continue;
    const double size = std::abs(row.factors[i]);
    const bool up = row.factors[i] > 0;
    // At its larger contribution it breaks `most`, at its smaller `least`.
    const bool low = can.least + size > row.most + slack;
    const bool high = can.most - size < row.least - slack;
    if (!low && !high) continue;
    is = (low ? !up : up) ? 1 : 0;
    can = reach(row, fixed);
    changed = true;
  }
  return true;
}

}  // namespace

std::optional<ReducedMip> ReducedMip::make(const Mip& mip,
                                           std::vector<std::int8_t> fixed) {
  for (bool changed = true; changed;) {
    changed = false;
    for (const Mip::Row& row : mip.rows) {
      if (!narrow(row, fixed, changed)) return std::nullopt;
    }
  }
  ReducedMip out;
  out.mip_.constant = mip.constant;
  std::vector<int> place(fixed.size(), 0);
  for (std::size_t i = 0; i < fixed.size(); ++i) {
    if (fixed[i] == 1) out.mip_.constant += mip.cost[i];
    if (fixed[i] != kFree) continue;
    place[i] = static_cast<int>(out.free_.size());
    out.free_.push_back(i);
    out.mip_.cost.push_back(mip.cost[i]);
  }
  for (const Mip::Row& row : mip.rows) {
    const Reach can = reach(row, fixed);
    if (can.most <= row.most && can.least >= row.least) continue;
    Mip::Row rest;
    double settled = 0;
    for (std::size_t i = 0; i < row.columns.size(); ++i) {
      const auto column = static_cast<std::size_t>(row.columns[i]);
      if (fixed[column] == 1) settled += row.factors[i];
      if (fixed[column] != kFree) continue;
      rest.columns.push_back(place[column]);
      rest.factors.push_back(row.factors[i]);
    }
    if (rest.columns.empty()) continue;
    rest.least = row.least - settled;
    rest.most = row.most - settled;
    out.mip_.rows.push_back(std::move(rest));
  }
  out.fixed_ = std::move(fixed);
  return out;
}

std::vector<std::uint8_t> ReducedMip::whole(
    const std::vector<std::uint8_t>& values) const {
  std::vector<std::uint8_t> out;
  for (const auto is : fixed_) out.push_back(is == 1);
  for (std::size_t i = 0; i < values.size(); ++i) out[free_[i]] = values[i];
  return out;
}

}  // namespace thermocline
