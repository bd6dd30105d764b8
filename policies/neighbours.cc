#include "policies/neighbours.h"

#include <algorithm>
#include <numeric>

namespace thermocline {
namespace {

// Whether b lies right behind a, give or take a page.
bool adjacent(const Iteration& iteration, const Copy& a, const Copy& b,
              Bytes page) {
  const auto& one = iteration.tensor(a.tensor);
  const auto& two = iteration.tensor(b.tensor);
  return one.address > 0 && two.address >= one.address + one.bytes &&
         two.address - one.address - one.bytes < page;
}

// Copies by direction and address.
std::vector<std::size_t> by_address(const Plan& plan,
                                    const Iteration& iteration) {
  std::vector<std::size_t> out(plan.moves.size());
  std::iota(out.begin(), out.end(), 0);
  std::stable_sort(out.begin(), out.end(), [&](std::size_t a, std::size_t b) {
    const Copy& one = plan.moves[a];
    const Copy& two = plan.moves[b];
    if (one.to != two.to) return one.to < two.to;
    return iteration.tensor(one.tensor).address <
           iteration.tensor(two.tensor).address;
  });
  return out;
}

double length(const Copy& copy) {
  return static_cast<double>(copy.needed - copy.start + 1);
}

}  // namespace

std::size_t join_neighbours(Plan& plan, const Iteration& iteration,
                            double share, Bytes page) {
  const auto order = by_address(plan, iteration);
  std::size_t joined = 0;
  std::vector<bool> done(plan.moves.size(), false);
  // A tensor may have several copies; each looks for the first of the next
  // tensor's that it has enough time in common with.
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (done[order[i]]) continue;
    std::vector<std::size_t> run{order[i]};
    Copy common = plan.moves[order[i]];
    double shortest = length(common);
    for (std::size_t j = i + 1; j < order.size(); ++j) {
      const Copy& last = plan.moves[run.back()];
      const Copy& next = plan.moves[order[j]];
      if (next.to != last.to) break;
      const auto& reached = iteration.tensor(last.tensor);
      if (iteration.tensor(next.tensor).address >=
          reached.address + reached.bytes + page) {
        break;
      }
      if (done[order[j]] || !adjacent(iteration, last, next, page)) continue;
      Copy both = common;
      both.start = std::max(common.start, next.start);
      both.needed = std::min(common.needed, next.needed);
      const double least = std::min(shortest, length(next));
      if (both.start > both.needed || length(both) < share * least) continue;
      common.start = both.start;
      common.needed = both.needed;
      shortest = least;
      run.push_back(order[j]);
    }
    for (const std::size_t m : run) {
      done[m] = true;
      plan.moves[m].start = common.start;
      plan.moves[m].needed = common.needed;
    }
    joined += run.size() - 1;
  }
  // Those of one time: out before in, and by address.
  std::stable_sort(plan.moves.begin(), plan.moves.end(),
                   [&](const Copy& a, const Copy& b) {
                     if (a.to != b.to) return a.to > b.to;
                     return iteration.tensor(a.tensor).address <
                            iteration.tensor(b.tensor).address;
                   });
  put_in_order(plan.moves);
  return joined;
}

std::size_t extents(const Plan& plan, const Iteration& iteration, Bytes page) {
  auto order = by_address(plan, iteration);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) {
                     const Copy& one = plan.moves[a];
                     const Copy& two = plan.moves[b];
                     return one.needed != two.needed ? one.needed < two.needed
                            : one.start != two.start ? one.start < two.start
                                                     : one.to < two.to;
                   });
  std::size_t out = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Copy& now = plan.moves[order[i]];
    const Copy* last = i > 0 ? &plan.moves[order[i - 1]] : nullptr;
    out += last == nullptr || last->to != now.to || last->start != now.start ||
           last->needed != now.needed || !adjacent(iteration, *last, now, page);
  }
  return out;
}

}  // namespace thermocline
