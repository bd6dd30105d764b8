#include "policies/partition_plan.h"

#include <algorithm>
#include <numeric>

namespace thermocline {

PartitionPlan::PartitionPlan(const Iteration& iteration, const Room& room,
                             std::vector<std::size_t> begins)
    : iteration_(iteration),
      capacity_(room.capacity.front()),
      ns_per_byte_(1e9 / room.copy_bytes_per_s),
      slow_(static_cast<TierId>(iteration.tiers() - 1)),
      begins_(std::move(begins)),
      base_(iteration.operators() + 1, 0),
      used_(base_) {
  CHECK(!begins_.empty() && begins_.front() == 0);
}

std::size_t PartitionPlan::part_of(std::size_t op) const {
  return static_cast<std::size_t>(
      std::upper_bound(begins_.begin(), begins_.end(), op) - begins_.begin() -
      1);
}

std::vector<std::size_t> PartitionPlan::parts_of(
    const Iteration::Tensor& one) const {
  std::vector<std::size_t> out;
  const auto add = [&](std::size_t from, std::size_t to) {
    for (std::size_t p = part_of(from); from < to && p <= part_of(to - 1); ++p)
      out.push_back(p);
  };
  const bool divided = one.wraps && !one.persistent;
  add(one.born, divided ? iteration_.operators() : one.dies);
  if (divided) add(0, one.dies);
  return out;
}

double PartitionPlan::gain(const Iteration::Tensor& one, std::size_t from,
                           std::size_t to) const {
  double out = 0;
  for (const auto& use : one.uses) {
    if (use.op >= from && use.op < to) {
      out += std::max(0.0, use.penalty_ns[slow_]);
    }
  }
  return out;
}

PartitionPlan::Span PartitionPlan::span(const Unit& unit, std::uint32_t tensor,
                                        std::size_t slot) const {
  const auto& one = iteration_.tensor(tensor);
  const std::size_t end = iteration_.operators();
  const std::size_t part = unit.parts[slot];
  Span out{begins_[part], part + 1 < parts() ? begins_[part + 1] : end, false};
  if (unit.persistent) {
    out.end = part == 0;
    return out;
  }
  if (slot == 0) out.from = one.born;
  const bool last = slot + 1 == unit.parts.size();
  if (last && (!one.wraps || slot > 0) && one.dies > out.from) {
    out.to = std::min(out.to, one.dies);
  }
  const bool head = one.wraps && slot > 0 && part == 0;
  out.end = head || (last && out.to == end);
  return out;
}

std::size_t PartitionPlan::before(const Unit& unit, std::size_t slot) const {
  if (slot > 0) return slot - 1;
  return unit.persistent ? unit.parts.size() - 1 : kNone;
}

std::size_t PartitionPlan::after(const Unit& unit, std::size_t slot) const {
  if (slot + 1 < unit.parts.size()) return slot + 1;
  return unit.persistent ? 0 : kNone;
}

bool PartitionPlan::comes(const Unit& unit, std::size_t slot) const {
  const std::size_t last = before(unit, slot);
  return unit.fast[slot] && last != kNone && !unit.fast[last];
}

void PartitionPlan::change(const Span& at, Bytes bytes, bool take) {
  const auto one = [&](std::size_t k) {
    const bool was = used_[k] > capacity_;
    used_[k] = take ? used_[k] + bytes : used_[k] - bytes;
    const bool is = used_[k] > capacity_;
    if (is && !was) ++over_;
    if (was && !is) --over_;
  };
  for (std::size_t k = at.from; k < at.to; ++k) one(k);
  if (at.end) one(iteration_.operators());
}

void PartitionPlan::change(const Unit& unit, std::size_t slot, bool take) {
  for (const auto t : unit.tensors) {
    change(span(unit, t, slot), iteration_.tensor(t).bytes, take);
  }
}

void PartitionPlan::reserve(std::vector<std::uint32_t> tensors) {
  CHECK(units_.empty() && reserved_.empty());
  const auto density = [&](std::uint32_t t) {
    const auto& one = iteration_.tensor(t);
    return gain(one, 0, iteration_.operators()) /
           static_cast<double>(one.bytes);
  };
  std::stable_sort(tensors.begin(), tensors.end(),
                   [&](auto a, auto b) { return density(a) > density(b); });
  for (const auto t : tensors) {
    const auto& one = iteration_.tensor(t);
    CHECK(!one.wraps);
    const Span life{one.born, one.dies, one.dies == iteration_.operators()};
    change(life, one.bytes, true);
    if (has_room()) {
      reserved_.push_back(t);
    } else {
      change(life, one.bytes, false);
    }
  }
  for (std::size_t p = 0; p < parts(); ++p) {
    const auto from = static_cast<std::ptrdiff_t>(begins_[p]);
    const auto to =
        p + 1 < parts()
            ? used_.begin() + static_cast<std::ptrdiff_t>(begins_[p + 1])
            : used_.end();
    const Bytes most = *std::max_element(used_.begin() + from, to);
    std::fill(used_.begin() + from, to, most);
    most_reserved_ = std::max(most_reserved_, most);
  }
  base_ = used_;
}

void PartitionPlan::add(std::vector<std::uint32_t> tensors) {
  Unit unit;
  unit.tensors = std::move(tensors);
  const auto& first = iteration_.tensor(unit.tensors.front());
  unit.persistent = first.persistent;
  unit.parts = parts_of(first);
  for (std::size_t j = 0; j < unit.parts.size(); ++j) {
    double sum = 0;
    for (const auto t : unit.tensors) {
      const Span at = span(unit, t, j);
      sum += gain(iteration_.tensor(t), at.from, at.to);
    }
    unit.gain.push_back(sum);
  }
  for (const auto t : unit.tensors) unit.bytes += iteration_.tensor(t).bytes;
  units_.push_back(std::move(unit));
}

void PartitionPlan::decide(const Choice& choice) {
  used_ = base_;
  over_ = 0;
  for (Unit& unit : units_) {
    unit.fast.assign(unit.parts.size(), false);
    unit.start.assign(unit.parts.size(), {});
  }
  choose(choice);
  start_copies();
  bridge();
}

void PartitionPlan::add_stays(std::size_t u, const Choice& choice,
                              std::vector<Stay>& out) const {
  const Unit& unit = units_[u];
  const std::size_t slots = unit.parts.size();
  std::vector<std::size_t> used;
  for (std::size_t j = 0; j < slots; ++j) {
    if (unit.gain[j] > 0 && !choice.left.contains({u, j})) used.push_back(j);
  }
  if (used.empty()) return;
  // From the one after a long absence, and around the circle if it has one.
  const auto away = [&](std::size_t from, std::size_t to) {
    return to > from ? to - from : to + slots - from;
  };
  const auto per = [&](std::size_t count) {
    return choice.large_first ? 1 : static_cast<double>(unit.bytes * count);
  };
  std::size_t offset = 0;
  if (unit.persistent) {
    while (offset < used.size() &&
           away(used[(offset + used.size() - 1) % used.size()], used[offset]) <=
               choice.keep) {
      ++offset;
    }
    if (offset == used.size()) {  // never away for long
      const double all =
          std::accumulate(unit.gain.begin(), unit.gain.end(), 0.0);
      out.push_back({u, 0, slots, all / per(slots)});
      return;
    }
  }
  for (std::size_t i = 0; i < used.size();) {
    Stay stay{u, used[(offset + i) % used.size()], 1, 0};
    double gain = unit.gain[stay.first];
    std::size_t last = stay.first;
    for (++i; i < used.size(); ++i) {
      const std::size_t next = used[(offset + i) % used.size()];
      if (away(last, next) > choice.keep) break;
      stay.slots += away(last, next);
      gain += unit.gain[next];
      last = next;
    }
    // Birth and death are as good as uses, but for what they gain.
    if (!unit.persistent && stay.first <= choice.keep) {
      stay.slots += stay.first;
      stay.first = 0;
    }
    if (!unit.persistent && slots - 1 - last <= choice.keep) {
      stay.slots += slots - 1 - last;
    }
    const bool born = !unit.persistent && stay.first == 0;
    if (!born && gain < choice.least_gain * copy_ns(unit)) continue;
    stay.order = gain / per(stay.slots);
    out.push_back(stay);
  }
}

bool PartitionPlan::take(Unit& unit, std::size_t first, std::size_t slots) {
  const std::size_t all = unit.parts.size();
  for (std::size_t i = 0; i < slots; ++i) change(unit, (first + i) % all, true);
  if (!has_room()) {
    for (std::size_t i = 0; i < slots; ++i) {
      change(unit, (first + i) % all, false);
    }
    return false;
  }
  for (std::size_t i = 0; i < slots; ++i) unit.fast[(first + i) % all] = true;
  return true;
}

void PartitionPlan::choose(const Choice& choice) {
  std::vector<Stay> order;
  for (std::size_t u = 0; u < units_.size(); ++u) add_stays(u, choice, order);
  std::stable_sort(
      order.begin(), order.end(),
      [](const Stay& a, const Stay& b) { return a.order > b.order; });
  for (const Stay& one : order) take(units_[one.unit], one.first, one.slots);
}

std::vector<PartitionPlan::Gap> PartitionPlan::gaps() const {
  std::vector<Gap> out;
  for (std::size_t u = 0; u < units_.size(); ++u) {
    const Unit& unit = units_[u];
    const std::size_t slots = unit.parts.size();
    const auto some = std::find(unit.fast.begin(), unit.fast.end(), true);
    if (some == unit.fast.end()) {
      out.push_back({u, 0, slots, false});
      continue;
    }
    // Around the circle, beginning with a slot that is no gap.
    const auto offset = unit.persistent
                            ? static_cast<std::size_t>(some - unit.fast.begin())
                            : 0;
    for (std::size_t i = 0; i < slots;) {
      std::size_t length = 0;
      while (i + length < slots && !unit.fast[(offset + i + length) % slots]) {
        ++length;
      }
      const bool inner = unit.persistent || (i > 0 && i + length < slots);
      if (length > 0) out.push_back({u, (offset + i) % slots, length, inner});
      i += length + 1;
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const Gap& a, const Gap& b) {
    return a.inner != b.inner ? a.inner : a.slots < b.slots;
  });
  return out;
}

void PartitionPlan::bridge() {
  for (const Gap& gap : gaps()) {
    Unit& unit = units_[gap.unit];
    const std::size_t slots = unit.parts.size();
    const std::size_t next =
        gap.slots == slots ? kNone
                           : after(unit, (gap.first + gap.slots - 1) % slots);
    if (next != kNone) ahead(unit, next, false);
    const bool taken = take(unit, gap.first, gap.slots);
    if (next == kNone) continue;
    if (taken) unit.start[next].clear();
    if (!taken) ahead(unit, next, true);
  }
}

}  // namespace thermocline
