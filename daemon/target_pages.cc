// Where a target's pages lie: asked by turns, a share of them in each window.
#include <algorithm>
#include <utility>

#include "daemon/huge_pages.h"
#include "daemon/page_nodes.h"
#include "daemon/target.h"

namespace thermocline {

void Target::want(ObjectId id) {
  if (id >= seen_.size() || seen_[id].queued) return;
  seen_[id].queued = true;
  queue_.push_back(id);
}

// Its mapping is new. A large one waits for its turn, or for a sample: there
// may be thousands that nobody has ever touched.
void Target::ask_soon(ObjectId id) {
  if (map_.region(id).bytes() > map_.region_bytes()) return;
  seen_[id].wait = 1;
  want(id);
}

void Target::ask_again_later(ObjectId id) {
  constexpr std::uint8_t kLongest = 8;
  auto& seen = seen_[id];
  if (seen.wait == 0 || seen.due > window_) return;
  if (seen.wait > kLongest || bytes(id) == map_.region(id).bytes()) {
    seen.wait = 0;
    return;
  }
  seen.due = window_ + seen.wait;
  seen.wait = static_cast<std::uint8_t>(seen.wait * 2);
  again_.emplace(seen.due, id);
}

// As many as a region of the grid has, if it is clipped: so a window asks about
// as many regions, whatever they are.
std::uint64_t Target::pages_to_ask(ObjectId id) const {
  const Bytes bytes = std::max(map_.region_bytes(), map_.region(id).bytes());
  return std::max<std::uint64_t>(1, bytes / page_bytes_);
}

Status Target::ask() {
  std::uint64_t left = options_.pages_per_window;
  std::vector<ObjectId> ids;
  const auto take = [&](ObjectId id) {
    const auto pages = std::min(pages_to_ask(id), left);
    left -= pages;
    ids.push_back(id);
    return pages;
  };
  while (!queue_.empty() &&
         (ids.empty() || pages_to_ask(queue_.front()) <= left)) {
    seen_[queue_.front()].queued = false;
    take(queue_.front());
    queue_.pop_front();
  }
  auto again = left / 2;
  while (!again_.empty() && again_.begin()->first <= window_ &&
         pages_to_ask(again_.begin()->second) <= again) {
    const auto [due, id] = *again_.begin();
    again_.erase(again_.begin());
    if (id < seen_.size() && seen_[id].due == due) again -= take(id);
  }
  auto slice = std::min(slice_, left);
  for (std::size_t i = 0; i < size(); ++i) {
    const std::size_t next = rolling_ + 1 < size() ? rolling_ + 1 : 0;
    const auto id = static_cast<ObjectId>(next);
    // At least one, however small the slice.
    if (i > 0 && pages_to_ask(id) > slice) break;
    if (i == 0 && pages_to_ask(id) > left && !ids.empty()) break;
    rolling_ = next;
    if (seen_[next].queued || map_.region(id).bytes() == 0) continue;
    slice -= std::min(slice, take(id));
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  const auto changed = ask_about(ids);
  if (!changed) return changed.error();
  settle(*changed);
  return {};
}

void Target::settle(bool changed) {
  const Bytes grown =
      std::max(resident_, settled_at_) - std::min(resident_, settled_at_);
  settled_at_ = resident_;
  if (changed || grown >= map_.region_bytes()) {
    slice_ = options_.pages_per_window;
  } else if (slice_ > options_.pages_when_steady) {
    slice_ = std::max(slice_ / 2, options_.pages_when_steady);
  }
}

// Some thousands of pages at a time: what is asked stays in the cache.
Result<bool> Target::ask_about(std::span<const ObjectId> ids) {
  std::vector<Address> pages;
  std::vector<std::size_t> ends;
  bool changed = false;
  HugePages huge(*kernel_, memory_id_);
  while (!ids.empty()) {
    pages.clear();
    ends.clear();
    while (ends.size() < ids.size() && pages.size() < kPagesPerQuery) {
      for_each_page(ids[ends.size()],
                    [&](Address page) { pages.push_back(page); });
      ends.push_back(pages.size());
    }
    const auto nodes = page_nodes(*kernel_, memory_id_, pages);
    if (!nodes) return nodes.error();
    std::size_t page = 0;
    for (std::size_t i = 0; i < ends.size(); ++i) {
      const auto region = std::span(pages).subspan(page, ends[i] - page);
      changed |=
          take_over(ids[i], region, std::span(*nodes).subspan(page), huge);
      page = ends[i];
    }
    ids = ids.subspan(ends.size());
  }
  return changed;
}

bool Target::take_over(ObjectId id, std::span<const Address> pages,
                       std::span<const int> nodes, HugePages& huge) {
  std::vector<std::uint32_t> counts(tiers_, 0);
  bool first = true;
  for (std::size_t i = 0; i < pages.size(); ++i) {
    if (nodes[i] < 0) continue;
    if (std::exchange(first, false)) {
      const bool in_huge = huge.block_of(pages[i]) != 0;
      if (huge.bytes() > 0) see_huge(id, in_huge);
    }
    const TierId tier = machine_->tier_of_node(nodes[i]);
    if (tier != kNoTier) ++counts[tier];
  }
  bool changed = false;
  seen_[id].looked = window_;
  for (std::size_t t = 0; t < tiers_; ++t) {
    changed |= set_pages(id, static_cast<TierId>(t), counts[t]);
  }
  ask_again_later(id);
  return changed;
}

void Target::see_huge(ObjectId id, bool huge) {
  // A mover that met EBUSY where another moves pages, too, takes them for parts
  // of a huge page, even on a kernel that has none.
  huge = huge && huge_bytes_ > 0;
  huge_regions_ += huge ? 1 : 0;
  huge_regions_ -= std::exchange(seen_[id].huge, huge) ? 1 : 0;
}

template <typename Each>
void Target::for_each_page(ObjectId id, Each each) const {
  const auto& region = map_.region(id);
  auto area = std::upper_bound(
      areas_.begin(), areas_.end(), region.start,
      [](Address at, const Area& other) { return at < other.end; });
  for (; area != areas_.end() && area->start < region.end; ++area) {
    const Address end = std::min(area->end, region.end);
    for (auto at = std::max(area->start, region.start); at < end;
         at += page_bytes_) {
      each(at);
    }
  }
}

std::vector<Address> Target::pages(ObjectId id) const {
  std::vector<Address> out;
  for_each_page(id, [&](Address page) { out.push_back(page); });
  return out;
}

bool Target::set_pages(ObjectId id, TierId tier, std::uint32_t pages) {
  auto& now = pages_[id * tiers_ + tier];
  pages_in_[tier] += pages;
  pages_in_[tier] -= now;
  return std::exchange(now, pages) != pages;
}

Bytes Target::footprint() const {
  Bytes sum = 0;
  for (TierId t = 0; t < tiers_; ++t) sum += footprint(t);
  return sum;
}

void Target::note(const MoveOutcome& outcome) {
  if (outcome.pages_by_tier.empty()) return;
  seen_[outcome.object].looked = -1;
  for (TierId t = 0; t < tiers_; ++t) {
    set_pages(outcome.object, t,
              static_cast<std::uint32_t>(outcome.pages_by_tier[t]));
  }
  if (outcome.moved > 0) see_huge(outcome.object, outcome.huge);
  if (!outcome.huge || huge_bytes_ == 0) return;
  // Neighbours within the huge page moved too.
  const auto& region = map_.region(outcome.object);
  const Bytes tail = huge_bytes_ - 1;
  map_.each(region.start & ~tail, (region.end + tail) & ~tail,
            [&](ObjectId id) {
              see_huge(id, true);
              want(id);
            });
}

}  // namespace thermocline
