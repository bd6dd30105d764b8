#include "policies/tensor_ilp.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace thermocline {
namespace {

constexpr double kMiB = 1 << 20;  // so that numbers are of like size

double mib(Bytes bytes) { return static_cast<double>(bytes) / kMiB; }

bool within(const std::vector<int>& a, const std::vector<int>& b) {
  return std::includes(b.begin(), b.end(), a.begin(), a.end());
}

}  // namespace

TensorIlp::TensorIlp(const Iteration& iteration, const Room& room,
                     const std::vector<Bytes>& limits, Moves moves)
    : iteration_(iteration),
      moves_(moves),
      slow_(static_cast<TierId>(iteration.tiers() - 1)),
      ns_per_byte_(1e9 / room.copy_bytes_per_s),
      limits_(limits),
      spells_(iteration.tensors()) {
  CHECK(limits.size() == iteration.operators());
  for (std::size_t t = 0; t < iteration.tensors(); ++t) add_tensor(t);
  add_rows(room, limits);
}

int TensorIlp::add_column(std::size_t t, double cost) {
  mip_.cost.push_back(cost);
  tensor_of_.push_back(t);
  return static_cast<int>(mip_.cost.size() - 1);
}

double TensorIlp::copy_ns(std::size_t t, TierId from, TierId to) const {
  return std::max(
      iteration_.times().copy_ns(t, from, to),
      ns_per_byte_ * static_cast<double>(iteration_.tensor(t).bytes));
}

// In the order of its life; a persistent one's begins with its first use. Uses
// are at odd places: a gap is between two, before the first and after the last.
std::vector<TensorIlp::Spell> TensorIlp::spells_of(
    const Iteration::Tensor& one) const {
  const std::size_t n = iteration_.operators();
  const std::size_t begin = one.persistent ? one.first_use() : one.born;
  const std::size_t end = one.persistent ? begin + n
                          : one.wraps    ? n + one.dies
                                         : one.dies;
  std::vector<Spell> out;
  std::size_t at = begin;
  for (const auto& use : one.uses) {
    const std::size_t op = use.op < begin ? use.op + n : use.op;
    out.push_back({at, op - at, kNever});
    out.push_back({op, 1, kNever});
    at = op + 1;
  }
  out.push_back({at, end - at, kNever});
  return out;
}

void TensorIlp::add_tensor(std::size_t t) {
  const auto& one = iteration_.tensor(t);
  auto& spells = spells_[t];
  spells = spells_of(one);
  double all = 0;
  for (const auto& use : one.uses) all += std::max(0.0, use.penalty_ns[slow_]);
  mip_.constant += all;
  if (one.bytes > *std::max_element(limits_.begin(), limits_.end())) return;
  if (moves_ == Moves::kNone || one.uses.empty()) {
    const int column = add_column(t, -all);
    for (Spell& spell : spells) spell.column = column;
    return;
  }
  for (std::size_t s = 0; s < spells.size(); ++s) {
    const bool use = s % 2 == 1;
    // Before the first use of its life there may be nothing.
    if (!use && spells[s].length == 0 && (s == 0 || s + 1 == spells.size()) &&
        !(one.persistent && s > 0)) {
      continue;
    }
    spells[s].column = add_column(
        t, use ? -std::max(0.0, one.uses[s / 2].penalty_ns[slow_]) : 0);
  }
  price_moves(t);
}

// A copy at each border costs what the use has and the gap has not. Where
// copies are kept, ways out are priced by stretches.
void TensorIlp::price_moves(std::size_t t) {
  const auto& spells = spells_[t];
  const bool turns = iteration_.tensor(t).persistent;
  const double in = copy_ns(t, slow_, 0);
  const bool keeps = moves_ == Moves::kKeepingCopies;
  const double out = keeps ? 0 : copy_ns(t, 0, slow_);
  const auto border = [&](int use, int gap, double ns) {
    if (gap == kNever) return;
    mip_.cost[static_cast<std::size_t>(use)] += ns;
    mip_.cost[static_cast<std::size_t>(gap)] -= ns;
    mip_.rows.push_back({{use, gap}, {1, -1}, 0, 1});
  };
  for (std::size_t s = 1; s < spells.size(); s += 2) {
    const bool first = s == 1;
    border(spells[s].column,
           first && turns ? spells.back().column : spells[s - 1].column, in);
    border(spells[s].column, spells[s + 1].column, out);
  }
  if (keeps) price_stretches(t);
}

// From each write to the next. A tensor that passes is as good as written when
// it is born; one that persists has no beginning, so its last stretch goes on
// until its first write.
void TensorIlp::price_stretches(std::size_t t) {
  const auto& one = iteration_.tensor(t);
  const auto spells = spells_[t];
  int start = kNever;
  if (!one.persistent) {
    start = spells[0].column == kNever ? spells[1].column : spells[0].column;
  }
  std::vector<int> gaps;
  std::vector<int> before;  // of a persistent one's first write
  for (std::size_t s = 1; s < spells.size(); ++s) {
    if (s % 2 == 0) {
      if (spells[s].column != kNever) gaps.push_back(spells[s].column);
      continue;
    }
    if (!one.uses[s / 2].written) continue;
    if (start == kNever) before = gaps;
    if (start != kNever) stays(start, gaps, t);
    start = spells[s].column;
    gaps.clear();
  }
  if (start == kNever) return;
  gaps.insert(gaps.end(), before.begin(), before.end());
  stays(start, gaps, t);
}

// One copy, unless what is fast at the start is so in all gaps.
void TensorIlp::stays(int start, const std::vector<int>& gaps, std::size_t t) {
  if (gaps.empty()) return;
  const double out = copy_ns(t, 0, slow_);
  mip_.cost[static_cast<std::size_t>(start)] += out;
  if (gaps.size() == 1 && gaps[0] == start + 1) {  // never fast by itself
    mip_.cost[static_cast<std::size_t>(gaps[0])] -= out;
    return;
  }
  const int all = add_column(t, -out);
  mip_.rows.push_back({{start, all}, {1, -1}, 0, 1});
  for (const int gap : gaps) mip_.rows.push_back({{gap, all}, {1, -1}, 0, 1});
}

void TensorIlp::add_rows(const Room& room, const std::vector<Bytes>& limits) {
  const std::size_t n = iteration_.operators();
  std::vector<std::vector<int>> alive(n);
  for (const auto& spells : spells_) {
    for (const Spell& spell : spells) {
      if (spell.column == kNever) continue;
      for (std::size_t k = spell.op; k < spell.op + spell.length; ++k) {
        alive[k % n].push_back(spell.column);
      }
    }
  }
  const auto bytes = [&](int column) {
    return iteration_.tensor(tensor_of_[static_cast<std::size_t>(column)])
        .bytes;
  };
  std::optional<std::size_t> kept;
  for (std::size_t k = 0; k < n; ++k) {
    std::sort(alive[k].begin(), alive[k].end());
    if (k + 1 < n) std::sort(alive[k + 1].begin(), alive[k + 1].end());
    Bytes all = 0;
    for (const int column : alive[k]) all += bytes(column);
    const Bytes live = iteration_.live_bytes(k);
    const bool crowds_slow = live > room.capacity[slow_];
    if (!crowds_slow) {
      if (all <= limits[k]) continue;
      if (k + 1 < n && limits[k + 1] <= limits[k] &&
          within(alive[k], alive[k + 1])) {
        continue;
      }
      if (kept && limits[*kept] <= limits[k] && within(alive[k], alive[*kept]))
        continue;
    }
    kept = k;
    Mip::Row row;
    row.columns = alive[k];
    for (const int column : alive[k]) row.factors.push_back(mib(bytes(column)));
    // All sums of sizes are multiples of what divides each, so the row may as
    // well be, and the relaxation is nearer to the optimum.
    Bytes unit = 0;
    for (const int column : alive[k]) unit = std::gcd(unit, bytes(column));
    row.most = mib(limits[k] / unit * unit);
    if (crowds_slow) {
      const Bytes least = live - room.capacity[slow_];
      row.least = mib((least + unit - 1) / unit * unit);
    }
    mip_.rows.push_back(std::move(row));
  }
}

std::vector<std::uint8_t> TensorIlp::greedy() const {
  std::vector<double> saved(spells_.size(), 0);
  std::vector<TierId> birth(spells_.size(), slow_);
  std::vector<std::size_t> order;
  for (std::size_t c = 0; c < tensor_of_.size(); ++c) {
    if (order.empty() || order.back() != tensor_of_[c]) {
      order.push_back(tensor_of_[c]);
    }
    saved[tensor_of_[c]] -= mip_.cost[c];
  }
  const auto per_byte = [&](std::size_t t) {
    return saved[t] / static_cast<double>(iteration_.tensor(t).bytes);
  };
  std::stable_sort(
      order.begin(), order.end(),
      [&](std::size_t a, std::size_t b) { return per_byte(a) > per_byte(b); });
  std::vector<Bytes> left = limits_;
  const std::size_t n = left.size();
  for (const std::size_t t : order) {
    const auto each = [&](const auto& act) {
      return std::all_of(
          spells_[t].begin(), spells_[t].end(), [&](const Spell& spell) {
            for (std::size_t k = spell.op; k < spell.op + spell.length; ++k) {
              if (!act(left[k % n])) return false;
            }
            return true;
          });
    };
    const Bytes bytes = iteration_.tensor(t).bytes;
    if (!each([&](Bytes room) { return room >= bytes; })) continue;
    each([&](Bytes& room) {
      room -= bytes;
      return true;
    });
    birth[t] = 0;
  }
  return still(birth);
}

std::vector<std::uint8_t> TensorIlp::still(
    const std::vector<TierId>& birth) const {
  std::vector<std::uint8_t> out;
  for (const std::size_t t : tensor_of_) out.push_back(birth[t] == 0);
  return out;
}

Plan TensorIlp::plan(const std::vector<std::uint8_t>& values) const {
  Plan out;
  std::vector<Copy> coming;
  const std::size_t n = iteration_.operators();
  for (std::size_t t = 0; t < spells_.size(); ++t) {
    const auto tier = [&](const Spell& spell) {
      return spell.column != kNever &&
                     values[static_cast<std::size_t>(spell.column)]
                 ? TierId{0}
                 : slow_;
    };
    std::vector<Spell> lived;
    for (const Spell& spell : spells_[t]) {
      if (spell.length > 0) lived.push_back(spell);
    }
    // What a persistent one is at last, it is when the next step begins.
    TierId now =
        tier(iteration_.tensor(t).persistent ? lived.back() : lived.front());
    out.birth.push_back(now);
    for (const Spell& spell : lived) {
      const TierId next = tier(spell);
      if (next == now) continue;
      now = next;
      // One that leaves with the last operator does so before the step ends.
      const bool last = spell.op == n && next != 0;
      const std::size_t op = last ? n : spell.op % n;
      (next == 0 ? coming : out.moves).push_back({t, next, op, op});
    }
  }
  // At one operator, room is made before it is taken.
  out.keeps_copies = moves_ == Moves::kKeepingCopies;
  out.moves.insert(out.moves.end(), coming.begin(), coming.end());
  put_in_order(out.moves);
  return out;
}

}  // namespace thermocline
