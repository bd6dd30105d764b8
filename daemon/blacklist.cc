#include "daemon/blacklist.h"

#include <algorithm>
#include <cerrno>

namespace thermocline {
namespace {

constexpr int kMostDoublings = 6;
constexpr std::int64_t kLongest = 1024;  // windows

}  // namespace

Failure classify_failure(int error_number) {
  switch (error_number) {
    case ENOMEM:
    case ENODEV: return Failure::kNoSpace;
    case ESRCH: return Failure::kGone;
    case EBUSY:
    case EAGAIN:
    case EIO: return Failure::kBusy;
    default: return Failure::kUnmovable;
  }
}

std::map<Address, Blacklist::Range>::const_iterator Blacklist::at(
    Address page) const {
  auto next = ranges_.upper_bound(page);
  if (next == ranges_.begin()) return ranges_.end();
  --next;
  return page < next->second.end ? next : ranges_.end();
}

bool Blacklist::resting(Address page, std::int64_t window) const {
  const auto range = at(page);
  return range != ranges_.end() && window < range->second.until;
}

std::size_t Blacklist::leave_out(std::vector<Address>& pages,
                                 std::int64_t window) const {
  if (ranges_.empty()) return 0;
  return std::erase_if(pages,
                       [&](Address page) { return resting(page, window); });
}

void Blacklist::failed(std::span<const Address> pages, int error_number,
                       std::int64_t window) {
  const auto kind = classify_failure(error_number);
  if (kind == Failure::kNoSpace || kind == Failure::kGone) return;
  const auto wait = kind == Failure::kBusy ? options_.busy : options_.unmovable;
  for (std::size_t i = 0; i < pages.size();) {
    std::size_t next = i + 1;
    while (next < pages.size() && pages[next] == pages[next - 1] + page_) {
      ++next;
    }
    add(pages[i], pages[next - 1] + page_, wait, window);
    i = next;
  }
}

void Blacklist::add(Address start, Address end, std::int64_t wait,
                    std::int64_t window) {
  // Whatever it overlaps is replaced; the longest history counts.
  int doublings = -1;
  auto first = ranges_.lower_bound(start);
  if (first != ranges_.begin() && std::prev(first)->second.end > start) {
    --first;
  }
  while (first != ranges_.end() && first->first < end) {
    doublings = std::max<int>(doublings, first->second.doublings);
    start = std::min(start, first->first);
    end = std::max(end, first->second.end);
    first = ranges_.erase(first);
  }
  if (ranges_.size() >= kMost) return;
  doublings = std::min(doublings + 1, kMostDoublings);
  const auto rest = std::min(wait << doublings, std::max(wait, kLongest));
  ranges_[start] = {end, window + rest, window + 2 * rest,
                    static_cast<std::uint8_t>(doublings)};
}

std::vector<Blacklist::Memory> Blacklist::memory(std::int64_t window) const {
  std::vector<Memory> out;
  for (const auto& [start, range] : ranges_) {
    out.push_back(
        {start, range.end, std::max<std::int64_t>(0, range.until - window),
         std::max<std::int64_t>(0, range.forget - window), range.doublings});
  }
  return out;
}

void Blacklist::recall(std::span<const Memory> ranges, std::int64_t window) {
  const auto most = 2 * std::max({options_.busy, options_.unmovable, kLongest});
  for (const auto& one : ranges) {
    const auto next = ranges_.lower_bound(one.start);
    const bool overlaps = (next != ranges_.end() && next->first < one.end) ||
                          at(one.start) != ranges_.end();
    if (one.end <= one.start || overlaps || ranges_.size() >= kMost) continue;
    ranges_[one.start] = {
        one.end, window + std::clamp<std::int64_t>(one.rest, 0, most),
        window + std::clamp<std::int64_t>(one.forget, 0, most),
        std::min<std::uint8_t>(one.doublings, kMostDoublings)};
  }
}

void Blacklist::end_window(std::int64_t window) {
  std::erase_if(ranges_, [&](const auto& range) {
    return range.second.forget <= window;
  });
}

}  // namespace thermocline
