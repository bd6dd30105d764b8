#include "training/parameters/row_heat.h"

#include <algorithm>

namespace thermocline {
namespace {

std::size_t granules(std::size_t lead, std::size_t bytes) {
  return (lead + bytes + kGranule - 1) / kGranule;
}

// Bytes from a boundary of 64 KiB to where the rows begin: the daemon's regions
// end at such boundaries, and what is told belongs to one of them.
std::size_t lead_of(std::span<const std::byte> rows) {
  return reinterpret_cast<std::uintptr_t>(rows.data()) % kGranule;
}

}  // namespace

Result<RowHeat> RowHeat::make(Ranks& ranks, std::span<const std::byte> rows,
                              AccessListener& listener) {
  RowHeat out;
  out.rank_ = ranks.rank();
  out.rows_ = rows;
  out.listener_ = &listener;
  const auto all = ranks.gather(static_cast<std::int64_t>(rows.size()));
  if (!all) return all.error();
  const auto leads = ranks.gather(static_cast<std::int64_t>(lead_of(rows)));
  if (!leads) return leads.error();
  for (std::size_t r = 0; r < all->size(); ++r) {
    out.leads_.push_back(static_cast<std::size_t>((*leads)[r]));
    const auto bytes = static_cast<std::size_t>((*all)[r]);
    out.counts_.emplace_back(2 * granules(out.leads_[r], bytes));
  }
  auto window =
      ranks.window(2 * granules(lead_of(rows), rows.size()) * sizeof(float));
  if (!window) return window.error().within("heat of rows");
  out.window_ = *std::move(window);
  return out;
}

void RowHeat::count(int rank, std::size_t offset, std::size_t which,
                    double lines) {
  const auto r = static_cast<std::size_t>(rank);
  const std::size_t granule = (leads_[r] + offset) / kGranule;
  counts_[r][2 * granule + which] += static_cast<float>(lines);
}

void RowHeat::read(int rank, std::size_t offset, std::size_t bytes) {
  count(rank, offset, 0, lines_of(bytes));
}

void RowHeat::changed(int rank, std::size_t offset, std::size_t bytes) {
  count(rank, offset, 1, lines_of(bytes));
}

Status RowHeat::tell() {
  if (!listener_->due()) return {};
  if (auto ok = hand_over(); !ok) return ok;
  if (auto ok = take(); !ok) return ok;
  listener_->tell();
  return {};
}

Status RowHeat::hand_over() {
  for (std::size_t rank = 0; rank < counts_.size(); ++rank) {
    const Counts& counts = counts_[rank];
    for (std::size_t i = 0; i < counts.size(); i += 2) {
      if (counts[i] == 0 && counts[i + 1] == 0) continue;
      window_->add(static_cast<int>(rank), i * sizeof(float),
                   std::span(counts).subspan(i, 2));
    }
  }
  if (auto ok = window_->flush(); !ok) return ok;
  for (Counts& counts : counts_) std::fill(counts.begin(), counts.end(), 0.0F);
  return {};
}

// What is subtracted is what was read: what others add meanwhile stays.
Status RowHeat::take() {
  Counts here(counts_[static_cast<std::size_t>(rank_)].size());
  if (here.empty()) return {};
  window_->read(rank_, 0, here);
  if (auto ok = window_->flush(); !ok) return ok;
  Counts less = here;
  for (float& one : less) one = -one;
  window_->add(rank_, 0, less);
  if (auto ok = window_->flush(); !ok) return ok;
  for (std::size_t i = 0; i < here.size(); i += 2) {
    if (here[i] <= 0 && here[i + 1] <= 0) continue;
    const std::size_t lead = lead_of(rows_);
    const std::size_t from = std::max(lead, i / 2 * kGranule) - lead;
    const std::size_t to =
        std::min(rows_.size(), (i / 2 + 1) * kGranule - lead);
    listener_->touch(rows_.data() + from, to - from,
                     static_cast<double>(std::max(0.0F, here[i])),
                     static_cast<double>(std::max(0.0F, here[i + 1])));
  }
  return {};
}

}  // namespace thermocline
