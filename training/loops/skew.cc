#include "training/loops/skew.h"

#include <algorithm>
#include <numeric>

#include "training/loops/planner.h"

namespace thermocline {
namespace {

using Row = std::vector<std::int64_t>;

constexpr std::int64_t kSmall = 3;     // factors that are tried
constexpr std::size_t kMostTried = 4;  // dimensions in which they are

// The least that the row makes of the distance; all of it must be known.
bool points_forward(const Row& row, const Dependence& d) {
  std::int64_t sum = 0;
  for (std::size_t k = 0; k < row.size(); ++k) {
    if (row[k] == 0) continue;
    switch (d.by[k].kind) {
      case Distance::Kind::kNumber: sum += row[k] * d.by[k].number; break;
      case Distance::Kind::kAtLeast:
        if (row[k] < 0) return false;
        sum += row[k] * d.by[k].number;
        break;
      case Distance::Kind::kAny: return false;
    }
  }
  return sum >= 0;
}

bool points_forward(const Row& row, const std::vector<Dependence>& all) {
  return std::all_of(all.begin(), all.end(), [&row](const Dependence& d) {
    return points_forward(row, d);
  });
}

std::int64_t minors_divisor(const Row& a, const Row& b) {
  std::int64_t divisor = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = i + 1; j < a.size(); ++j) {
      divisor = std::gcd(divisor, a[i] * b[j] - a[j] * b[i]);
    }
  }
  return divisor;
}

// How many values the coordinate has: the shorter, the fewer waits.
std::int64_t length(const Row& row, const Loop& loop) {
  std::int64_t out = 1;
  for (std::size_t k = 0; k < row.size(); ++k) {
    out += std::abs(row[k]) * (loop.extent[k] - 1);
  }
  return out;
}

// Rows with small factors in the dimensions that are known throughout.
std::vector<Row> small_rows(const Loop& loop, std::vector<std::size_t> usable) {
  usable.resize(std::min(usable.size(), kMostTried));
  std::vector<Row> out{Row(loop.dims(), 0)};
  for (const std::size_t k : usable) {
    const std::vector<Row> shorter = std::move(out);
    out.clear();
    for (Row row : shorter) {
      for (row[k] = -kSmall; row[k] <= kSmall; ++row[k]) out.push_back(row);
    }
  }
  return out;
}

// Distances beyond the small rows: the first dimension, and the first times so
// much that it outweighs the second.
void add_steep_rows(std::vector<Row>& rows, const Loop& loop,
                    const std::vector<Dependence>& all,
                    const std::vector<std::size_t>& usable) {
  for (const std::size_t first : usable) {
    for (const std::size_t second : usable) {
      if (first == second) continue;
      Row row(loop.dims(), 0);
      row[second] = 1;
      for (const Dependence& d : all) {
        const std::int64_t ahead = d.by[first].number;
        if (ahead <= 0) continue;
        row[first] =
            std::max(row[first], (ahead - 1 - d.by[second].number) / ahead);
      }
      rows.push_back(row);
    }
  }
}

}  // namespace

std::optional<Rows> skew(const Loop& loop, const std::vector<Dependence>& all) {
  std::vector<std::size_t> usable;
  for (std::size_t k = 0; k < loop.dims(); ++k) {
    if (std::none_of(all.begin(), all.end(), [k](const Dependence& d) {
          return d.by[k].kind == Distance::Kind::kAny;
        })) {
      usable.push_back(k);
    }
  }
  if (usable.size() < 2) return std::nullopt;
  std::vector<Row> rows = small_rows(loop, usable);
  add_steep_rows(rows, loop, all, usable);
  std::erase_if(rows, [&](const Row& row) {
    return std::all_of(row.begin(), row.end(), [](auto f) { return f == 0; }) ||
           !points_forward(row, all);
  });
  std::stable_sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
    const auto of_a = length(a, loop);
    const auto of_b = length(b, loop);
    return of_a != of_b ? of_a < of_b : a > b;
  });
  for (std::size_t b = 1; b < rows.size(); ++b) {
    for (std::size_t a = 0; a < b; ++a) {
      if (minors_divisor(rows[a], rows[b]) == 1) return Rows{rows[a], rows[b]};
    }
  }
  return std::nullopt;
}

// Column operations bring the two rows to (1 0 0 ...), (0 1 0 ...); undone on
// the unit matrix, they are its completion.
Matrix complete(const Row& first, const Row& second) {
  const std::size_t n = first.size();
  Matrix rows{first, second};
  Matrix undone(n, Row(n, 0));
  for (std::size_t k = 0; k < n; ++k) undone[k][k] = 1;
  // Column `to` minus `times` column `from`.
  const auto subtract = [&](std::size_t to, std::size_t from,
                            std::int64_t times) {
    for (Row& row : rows) row[to] -= times * row[from];
    for (std::size_t c = 0; c < n; ++c) {
      undone[from][c] += times * undone[to][c];
    }
  };
  for (std::size_t r = 0; r < 2; ++r) {
    for (std::size_t k = r + 1; k < n; ++k) {
      // Euclid on columns r and k.
      while (rows[r][k] != 0) {
        subtract(r, k, rows[r][r] / rows[r][k]);
        for (Row& row : rows) std::swap(row[r], row[k]);
        std::swap(undone[r], undone[k]);
      }
    }
    CHECK(rows[r][r] == 1 || rows[r][r] == -1);
    if (rows[r][r] < 0) {
      for (Row& row : rows) row[r] = -row[r];
      for (std::int64_t& value : undone[r]) value = -value;
    }
  }
  subtract(0, 1, rows[1][0]);
  return undone;
}

}  // namespace thermocline
