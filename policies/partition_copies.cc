// When PartitionPlan's copies are made: what comes ahead of its part where
// there is room, what leaves after its last use.
#include <algorithm>

#include "policies/partition_plan.h"

namespace thermocline {

double PartitionPlan::copy_ns(const Unit& unit) const {
  double out = 0;
  for (const auto t : unit.tensors) {
    out += std::max(
        iteration_.times().copy_ns(t, slow_, 0),
        ns_per_byte_ * static_cast<double>(iteration_.tensor(t).bytes));
  }
  return out;
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
      out.push_back({u, j, unit.parts[j], copy_ns(unit),
                     unit.gain[j] / static_cast<double>(unit.bytes)});
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
