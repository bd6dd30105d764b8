#include "daemon/fast_shares.h"

#include <algorithm>

namespace thermocline {
namespace {

// Gives `left` to those who want more, by weight. Returns what nobody wants.
double pour(double left, std::span<const FastClaim> claims,
            std::vector<double>& given) {
  for (std::size_t round = 0; round < claims.size() && left >= 1; ++round) {
    double weights = 0;
    for (std::size_t i = 0; i < claims.size(); ++i) {
      if (given[i] < static_cast<double>(claims[i].wants)) {
        weights += claims[i].share.weight;
      }
    }
    if (weights <= 0) return left;
    const double each = left / weights;
    for (std::size_t i = 0; i < claims.size(); ++i) {
      const double more = static_cast<double>(claims[i].wants) - given[i];
      if (more <= 0) continue;
      const double part = std::min(more, each * claims[i].share.weight);
      given[i] += part;
      left -= part;
    }
  }
  return left;
}

}  // namespace

std::vector<Bytes> divide_fast(Bytes bytes, std::span<const FastClaim> claims) {
  std::vector<double> given;
  double promised = 0;
  double weights = 0;
  for (const auto& claim : claims) {
    const Bytes sure = std::min(claim.share.minimum, claim.wants);
    given.push_back(static_cast<double>(sure));
    promised += given.back();
    weights += claim.share.weight;
  }
  const auto all = static_cast<double>(bytes);
  if (promised > all) {
    for (auto& part : given) part *= all / promised;
    promised = all;
  }
  const double rest = pour(all - promised, claims, given);
  std::vector<Bytes> out;
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const double spare =
        weights > 0 ? rest * claims[i].share.weight / weights : 0;
    out.push_back(static_cast<Bytes>(std::max(0.0, given[i] + spare)));
  }
  return out;
}

}  // namespace thermocline
