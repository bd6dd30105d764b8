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

void PartitionPlan::decide(std::size_t keep, const Slots& left) {
  used_ = base_;
  over_ = 0;
  for (Unit& unit : units_) {
    unit.fast.assign(unit.parts.size(), false);
    unit.start.assign(unit.parts.size(), {});
  }
  choose(left);
  bridge(keep);
  start_copies();
  bridge(kNone);
}

void PartitionPlan::choose(const Slots& left) {
  std::vector<std::pair<std::size_t, std::size_t>> order;
  for (std::size_t u = 0; u < units_.size(); ++u) {
    for (std::size_t j = 0; j < units_[u].parts.size(); ++j) {
      if (units_[u].gain[j] > 0 && !left.contains({u, j})) {
        order.emplace_back(u, j);
      }
    }
  }
  const auto density = [&](const auto& at) {
    return units_[at.first].gain[at.second] /
           static_cast<double>(units_[at.first].bytes);
  };
  std::stable_sort(
      order.begin(), order.end(),
      [&](const auto& a, const auto& b) { return density(a) > density(b); });
  for (const auto& [u, j] : order) {
    change(units_[u], j, true);
    if (has_room()) {
      units_[u].fast[j] = true;
    } else {
      change(units_[u], j, false);
    }
  }
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

void PartitionPlan::bridge(std::size_t shorter_than) {
  for (const Gap& gap : gaps()) {
    // Short absences only of what comes back; all else may wait for the rest.
    if (shorter_than != kNone && (!gap.inner || gap.slots >= shorter_than)) {
      continue;
    }
    try_bridge(gap);
  }
}

void PartitionPlan::try_bridge(const Gap& gap) {
  Unit& unit = units_[gap.unit];
  const std::size_t slots = unit.parts.size();
  const std::size_t next =
      gap.slots == slots ? kNone
                         : after(unit, (gap.first + gap.slots - 1) % slots);
  if (next != kNone) ahead(unit, next, false);
  const auto all = [&](bool take) {
    for (std::size_t i = 0; i < gap.slots; ++i) {
      change(unit, (gap.first + i) % slots, take);
    }
  };
  all(true);
  if (!has_room()) {
    all(false);
    if (next != kNone) ahead(unit, next, true);
    return;
  }
  for (std::size_t i = 0; i < gap.slots; ++i) {
    unit.fast[(gap.first + i) % slots] = true;
  }
  if (next != kNone) unit.start[next].clear();
}

// Room for copies that are under way before `slot` begins.
void PartitionPlan::ahead(Unit& unit, std::size_t slot, bool take) {
  if (unit.start[slot].empty()) return;
  for (std::size_t i = 0; i < unit.tensors.size(); ++i) {
    const std::uint32_t t = unit.tensors[i];
    const Span last = span(unit, t, before(unit, slot));
    change({unit.start[slot][i], last.to, false}, iteration_.tensor(t).bytes,
           take);
  }
}

void PartitionPlan::start_copies() {
  for (const Arrival& one : arrivals()) {
    Unit& unit = units_[one.unit];
    const std::size_t from = before(unit, one.slot);
    for (const auto t : unit.tensors) {
      const auto& tensor = iteration_.tensor(t);
      const Span last = span(unit, t, from);
      // At its birth a tensor cannot be copied yet.
      const bool newborn = !unit.persistent && from == 0;
      const std::size_t first =
          std::min(last.to, newborn ? tensor.born + 1 : last.from);
      std::size_t start = last.to;
      while (start > first && used_[start - 1] <= capacity_ &&
             tensor.bytes <= capacity_ - used_[start - 1]) {
        --start;
      }
      unit.start[one.slot].push_back(start);
      change({start, last.to, false}, tensor.bytes, true);
    }
  }
}

std::vector<PartitionPlan::Arrival> PartitionPlan::arrivals() const {
  std::vector<Arrival> out;
  for (std::size_t u = 0; u < units_.size(); ++u) {
    const Unit& unit = units_[u];
    for (std::size_t j = 0; j < unit.parts.size(); ++j) {
      if (!comes(unit, j)) continue;
      Arrival one{u, j, unit.parts[j], 0,
                  unit.gain[j] / static_cast<double>(unit.bytes)};
      for (const auto t : unit.tensors) {
        one.copy_ns += std::max(
            iteration_.times().copy_ns(t, slow_, 0),
            ns_per_byte_ * static_cast<double>(iteration_.tensor(t).bytes));
      }
      out.push_back(one);
    }
  }
  std::stable_sort(
      out.begin(), out.end(), [](const Arrival& a, const Arrival& b) {
        return a.part != b.part ? a.part < b.part
                                : a.gain_per_byte > b.gain_per_byte;
      });
  return out;
}

// The copy out: after the last use in `slot`, and while nothing needs the room
// it may take as long as the part after it.
void PartitionPlan::depart(const Unit& unit, std::size_t slot,
                           std::uint32_t tensor, std::vector<Bytes>& used,
                           std::vector<Copy>& moves) const {
  const auto& one = iteration_.tensor(tensor);
  const Span at = span(unit, tensor, slot);
  const std::size_t next = after(unit, slot);
  std::size_t start = !unit.persistent && slot == 0 ? one.born + 1 : at.from;
  for (const auto& use : one.uses) {
    if (use.op >= at.from && use.op < at.to) {
      start = std::max<std::size_t>(start, use.op + 1);
    }
  }
  std::size_t needed = at.to;
  if (needed < iteration_.operators() && !is_fast(unit, after(unit, next))) {
    const Span rest = span(unit, tensor, next);
    const std::size_t last = after(unit, next) == kNone ? rest.to - 1 : rest.to;
    while (needed < last && used[needed] <= capacity_ &&
           one.bytes <= capacity_ - used[needed]) {
      used[needed++] += one.bytes;
    }
  }
  moves.push_back({tensor, slow_, std::min(start, needed), needed});
}

Plan PartitionPlan::plan() const {
  Plan out;
  out.birth.assign(iteration_.tensors(), slow_);
  for (const auto t : reserved_) out.birth[t] = 0;
  std::vector<Bytes> used = used_;
  std::vector<Copy> in;
  for (const Unit& unit : units_) {
    for (std::size_t j = 0; j < unit.parts.size(); ++j) {
      const std::size_t last = before(unit, j);
      const std::size_t next = after(unit, j);
      const bool leaves = unit.fast[j] && next != kNone && !unit.fast[next];
      for (std::size_t i = 0; i < unit.tensors.size(); ++i) {
        const std::uint32_t t = unit.tensors[i];
        if (leaves) depart(unit, j, t, used, out.moves);
        if (!comes(unit, j)) continue;
        in.push_back({t, 0, unit.start[j][i], span(unit, t, last).to});
      }
    }
    if (!unit.fast.empty() && unit.fast.front()) {
      for (const auto t : unit.tensors) out.birth[t] = 0;
    }
  }
  // What leaves makes room for what comes.
  out.moves.insert(out.moves.end(), in.begin(), in.end());
  put_in_order(out.moves);
  return out;
}

}  // namespace thermocline
