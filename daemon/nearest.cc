#include "daemon/nearest.h"

#include <algorithm>
#include <vector>

namespace thermocline {
namespace {

constexpr std::size_t kLongest = 64;  // more is nobody's option

// Optimal string alignment distance.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(
      a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = a[i - 1] == b[j - 1] ? 0 : 1;
      d[i][j] = std::min(
          {d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + changed});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

std::string nearest(std::string_view mistyped,
                    std::span<const std::string> names) {
  if (mistyped.size() > kLongest) return {};
  std::string best;
  std::size_t least = kLongest;
  for (const auto& name : names) {
    if (name.size() > kLongest) continue;
    const auto steps = distance(mistyped, name);
    if (steps >= least || 3 * steps > name.size()) continue;
    least = steps;
    best = name;
  }
  return best;
}

}  // namespace thermocline
