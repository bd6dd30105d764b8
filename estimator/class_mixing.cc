#include "estimator/class_mixing.h"

#include <numeric>

namespace thermocline {
namespace {

constexpr double kRare = 0.005;  // share of all samples
// Of how often chance has two classes follow each other.
constexpr double kTogether = 0.5;

std::uint32_t first_of(std::vector<std::uint32_t>& company, std::uint32_t c) {
  while (company[c] != c) c = company[c] = company[company[c]];
  return c;
}

}  // namespace

std::vector<std::uint32_t> companies(std::span<const std::uint32_t> of_sample,
                                     std::size_t classes) {
  std::vector<double> count(classes, 0);
  std::vector<std::vector<double>> neighbours(classes, count);
  for (std::size_t s = 0; s < of_sample.size(); ++s) {
    ++count[of_sample[s]];
    if (s == 0) continue;
    ++neighbours[of_sample[s - 1]][of_sample[s]];
    ++neighbours[of_sample[s]][of_sample[s - 1]];
  }
  const auto all = static_cast<double>(of_sample.size());
  std::vector<std::uint32_t> company(classes);
  std::iota(company.begin(), company.end(), 0U);
  for (std::uint32_t a = 0; a < classes; ++a) {
    for (std::uint32_t b = a + 1; b < classes; ++b) {
      if (count[a] < kRare * all || count[b] < kRare * all) continue;
      const double chance = 2 * count[a] * count[b] / all;
      if (neighbours[a][b] > kTogether * chance) {
        company[first_of(company, a)] = first_of(company, b);
      }
    }
  }
  std::vector<std::uint32_t> out(classes, kAnyCompany);
  for (std::uint32_t c = 0; c < classes; ++c) {
    if (count[c] >= kRare * all && count[c] > 0) out[c] = first_of(company, c);
  }
  return out;
}

}  // namespace thermocline
