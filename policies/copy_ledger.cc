#include "policies/copy_ledger.h"

#include <algorithm>

namespace thermocline {
namespace {

constexpr double kNothing = 1e-9;  // share of a copy

}  // namespace

CopyLedger::CopyLedger(const Iteration& iteration, const Room& room,
                       Bytes bytes)
    : iteration_(iteration),
      size_(iteration.operators()),
      capacity_(bytes),
      slow_(static_cast<TierId>(iteration.tiers() - 1)),
      limit_ns_per_byte_(1e9 / room.copy_bytes_per_s),
      used_(size_ + 1, 0),
      time_(size_, 0),
      free_in_(size_, 0),
      free_out_(size_, 0),
      unused_(size_, 1) {}

void CopyLedger::set_times_of(std::size_t k,
                              std::span<const TierId> placement) {
  const auto& times = iteration_.times();
  const auto link = [&](TierId tier, bool written) {
    return times.link_ns(k, placement, tier, written);
  };
  time_[k] = times.operator_ns(k, placement);
  free_in_[k] =
      std::max(0.0, time_[k] - std::max(link(slow_, false), link(0, true)));
  free_out_[k] =
      std::max(0.0, time_[k] - std::max(link(0, false), link(slow_, true)));
}

// Its operators, in one piece or more; no division for each of them.
template <typename Act>
void CopyLedger::for_each_piece(const Hold& hold, const Act& act) const {
  for (std::size_t from = hold.from; from < hold.to;) {
    const std::size_t begin = from % size_;
    const std::size_t count = std::min(hold.to - from, size_ - begin);
    act(begin, begin + count);
    from += count;
  }
}

bool CopyLedger::fits(const Hold& hold, Bytes bytes) const {
  if (bytes > capacity_ || (hold.end && !has(size_, bytes))) return false;
  const Bytes most = capacity_ - bytes;
  bool out = true;
  for_each_piece(hold, [&](std::size_t begin, std::size_t end) {
    Bytes over = 0;  // no branch: several operators an instruction
    for (std::size_t p = begin; p < end; ++p) over |= most - used_[p];
    out = out && over >> 63 == 0;
  });
  return out;
}

void CopyLedger::take(const Hold& hold, Bytes bytes) {
  for_each_piece(hold, [&](std::size_t begin, std::size_t end) {
    for (std::size_t p = begin; p < end; ++p) used_[p] += bytes;
  });
  if (hold.end) used_[size_] += bytes;
}

void CopyLedger::give_back(const Hold& hold, Bytes bytes) {
  for_each_piece(hold, [&](std::size_t begin, std::size_t end) {
    for (std::size_t p = begin; p < end; ++p) used_[p] -= bytes;
  });
  if (hold.end) used_[size_] -= bytes;
}

void CopyLedger::book_at(std::size_t k, const std::vector<double>& free,
                         double link_ns, double limit_ns, double& left,
                         Booking& out) {
  double share = free[k] / std::max(link_ns, 1e-300);
  if (limit_ns > 0) share = std::min(share, time_[k] / limit_ns);
  if (share <= 0 || unused_[k] <= 0) return;
  const double taken = std::min(unused_[k], left / share);
  unused_[k] -= taken;
  left -= taken * share;
  out.shares.emplace_back(static_cast<std::uint32_t>(k), taken);
}

std::size_t CopyLedger::book_in(std::uint32_t tensor, std::size_t earliest,
                                std::size_t needed, Booking& out) {
  const Bytes bytes = iteration_.tensor(tensor).bytes;
  const double link = iteration_.times().copy_ns(tensor, slow_, 0);
  const double limit = limit_ns_per_byte_ * static_cast<double>(bytes);
  out.copy_ns = std::max(link, limit);
  double left = out.copy_ns > 0 ? 1 : 0;
  std::size_t p = needed;
  while (p > earliest && left > kNothing && has((p - 1) % size_, bytes)) {
    --p;
    book_at(p % size_, free_in_, link, limit, left, out);
  }
  out.exposed_ns = left > kNothing ? left * out.copy_ns : 0;
  return p;
}

std::size_t CopyLedger::book_out(std::uint32_t tensor, std::size_t start,
                                 std::size_t latest, Booking& out) {
  const Bytes bytes = iteration_.tensor(tensor).bytes;
  const double link = iteration_.times().copy_ns(tensor, 0, slow_);
  const double limit = limit_ns_per_byte_ * static_cast<double>(bytes);
  out.copy_ns = std::max(link, limit);
  double left = out.copy_ns > 0 ? 1 : 0;
  std::size_t p = start;
  while (p < latest && left > kNothing && has(p % size_, bytes)) {
    book_at(p % size_, free_out_, link, limit, left, out);
    ++p;
  }
  out.exposed_ns = left > kNothing ? left * out.copy_ns : 0;
  return p;
}

void CopyLedger::cancel(const Booking& booking) {
  for (const auto& [k, share] : booking.shares) unused_[k] += share;
}

void CopyLedger::book_again(const Booking& booking) {
  for (const auto& [k, share] : booking.shares) unused_[k] -= share;
}

}  // namespace thermocline
