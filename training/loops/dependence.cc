#include "training/loops/dependence.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace thermocline {
namespace {

using Row = std::vector<std::int64_t>;  // factors, then the right-hand side

std::int64_t factor_of(const Subscript& s, std::size_t k) {
  return k < s.factors.size() ? s.factors[k] : 0;
}

bool same_factors(const Subscript& a, const Subscript& b, std::size_t dims) {
  for (std::size_t k = 0; k < dims; ++k) {
    if (factor_of(a, k) != factor_of(b, k)) return false;
  }
  return true;
}

// Whether the two may be the same place for iterations that are unrelated.
bool may_meet(const Subscript& a, const Subscript& b, const Loop& loop) {
  std::int64_t divisor = 0;
  std::int64_t low = a.offset - b.offset;
  std::int64_t high = low;
  for (std::size_t k = 0; k < loop.dims(); ++k) {
    const std::int64_t last = loop.extent[k] - 1;
    for (const std::int64_t factor : {factor_of(a, k), -factor_of(b, k)}) {
      divisor = std::gcd(divisor, factor);
      low += std::min<std::int64_t>(0, factor * last);
      high += std::max<std::int64_t>(0, factor * last);
    }
  }
  const std::int64_t offset = b.offset - a.offset;
  const bool divides = divisor == 0 ? offset == 0 : offset % divisor == 0;
  return divides && low <= 0 && high >= 0;
}

void reduce(Row& row) {
  std::int64_t divisor = 0;
  for (const std::int64_t value : row) divisor = std::gcd(divisor, value);
  if (divisor > 1) {
    for (std::int64_t& value : row) value /= divisor;
  }
}

// Gauss and Jordan in whole numbers: after it, each row's leading column is 0
// in every other row.
void eliminate(std::vector<Row>& rows, std::size_t dims) {
  std::size_t top = 0;
  for (std::size_t k = 0; k < dims && top < rows.size(); ++k) {
    const auto found =
        std::find_if(rows.begin() + static_cast<std::ptrdiff_t>(top),
                     rows.end(), [k](const Row& row) { return row[k] != 0; });
    if (found == rows.end()) continue;
    std::iter_swap(rows.begin() + static_cast<std::ptrdiff_t>(top), found);
    const Row pivot = rows[top];
    for (std::size_t r = 0; r < rows.size(); ++r) {
      if (r == top || rows[r][k] == 0) continue;
      const std::int64_t factor = rows[r][k];
      bool fits = true;
      for (std::size_t c = 0; c <= dims; ++c) {
        std::int64_t left = 0;
        std::int64_t right = 0;
        fits = fits && !__builtin_mul_overflow(rows[r][c], pivot[k], &left) &&
               !__builtin_mul_overflow(pivot[c], factor, &right) &&
               !__builtin_sub_overflow(left, right, &rows[r][c]);
      }
      // An equation that is too large is given up: less is known then.
      if (!fits) rows[r].assign(dims + 1, 0);
      reduce(rows[r]);
    }
    ++top;
  }
}

// The distances that solve the equations; nothing if none do.
std::optional<std::vector<Distance>> solve(std::vector<Row> rows,
                                           const Loop& loop) {
  const std::size_t dims = loop.dims();
  eliminate(rows, dims);
  std::vector<Distance> out(dims);
  for (const Row& row : rows) {
    std::int64_t divisor = 0;
    std::size_t open = 0;
    std::size_t which = 0;
    for (std::size_t k = 0; k < dims; ++k) {
      divisor = std::gcd(divisor, row[k]);
      if (row[k] == 0) continue;
      ++open;
      which = k;
    }
    if (open == 0) {
      if (row[dims] != 0) return std::nullopt;
      continue;
    }
    if (row[dims] % divisor != 0) return std::nullopt;
    if (open > 1) continue;
    const std::int64_t number = row[dims] / row[which];
    if (std::abs(number) >= loop.extent[which]) return std::nullopt;
    out[which] = {Distance::Kind::kNumber, number};
  }
  return out;
}

std::optional<std::vector<Distance>> distances(const ArrayAccess& a,
                                               const ArrayAccess& b,
                                               const Loop& loop) {
  std::vector<Row> rows;
  for (std::size_t s = 0; s < a.at.size(); ++s) {
    const Subscript& x = a.at[s];
    const Subscript& y = b.at[s];
    if (x.kind != Subscript::Kind::kAffine ||
        y.kind != Subscript::Kind::kAffine) {
      continue;
    }
    if (!may_meet(x, y, loop)) return std::nullopt;
    if (!same_factors(x, y, loop.dims())) continue;
    Row row;
    for (std::size_t k = 0; k < loop.dims(); ++k) {
      row.push_back(factor_of(x, k));
    }
    row.push_back(x.offset - y.offset);
    rows.push_back(std::move(row));
  }
  return solve(std::move(rows), loop);
}

// The same distances seen from the other iteration.
std::vector<Distance> turned(std::vector<Distance> by) {
  for (Distance& d : by) d.number = -d.number;
  return by;
}

// The cases of the distances in which the second iteration is the later one,
// or the same. Requires: numbers and "any" only.
void normalise(std::vector<Distance> by, std::size_t from,
               std::vector<std::vector<Distance>>& out) {
  while (from < by.size() && by[from].is_zero()) ++from;
  if (from == by.size()) return out.push_back(std::move(by));
  if (by[from].kind == Distance::Kind::kNumber) {
    return out.push_back(by[from].number > 0 ? by : turned(by));
  }
  const auto rest = by.begin() + static_cast<std::ptrdiff_t>(from) + 1;
  if (std::all_of(rest, by.end(), [](const auto& d) { return d.is_zero(); })) {
    by[from] = {Distance::Kind::kAtLeast, 0};
    return out.push_back(std::move(by));
  }
  for (std::vector<Distance> one : {by, turned(by)}) {
    one[from] = {Distance::Kind::kAtLeast, 1};
    out.push_back(std::move(one));
  }
  by[from] = {Distance::Kind::kNumber, 0};
  normalise(std::move(by), from + 1, out);
}

bool writes(const ArrayAccess& access) {
  return access.mode == ArrayAccess::Mode::kWrite ||
         access.mode == ArrayAccess::Mode::kUpdate;
}

}  // namespace

std::vector<Dependence> dependences(const Loop& loop) {
  std::vector<Dependence> out;
  const auto& all = loop.accesses;
  for (std::size_t a = 0; a < all.size(); ++a) {
    for (std::size_t b = a; b < all.size(); ++b) {
      if (all[a].array != all[b].array) continue;
      if (!writes(all[a]) && !writes(all[b])) continue;
      if (all[a].mode == ArrayAccess::Mode::kBuffered ||
          all[b].mode == ArrayAccess::Mode::kBuffered) {
        continue;
      }
      const auto open = distances(all[a], all[b], loop);
      if (!open) continue;
      std::vector<std::vector<Distance>> cases;
      normalise(*open, 0, cases);
      for (auto& by : cases) {
        const bool known = std::any_of(
            out.begin(), out.end(),
            [&by](const Dependence& other) { return other.by == by; });
        if (!known) out.push_back({std::move(by), a, b});
      }
    }
  }
  return out;
}

std::string text_of(const Dependence& dependence) {
  std::string out = "(";
  for (const Distance& d : dependence.by) {
    if (out.size() > 1) out += ", ";
    switch (d.kind) {
      case Distance::Kind::kNumber: out += std::to_string(d.number); break;
      case Distance::Kind::kAny: out += "any"; break;
      case Distance::Kind::kAtLeast:
        out += ">=" + std::to_string(d.number);
        break;
    }
  }
  return out + ")";
}

}  // namespace thermocline
