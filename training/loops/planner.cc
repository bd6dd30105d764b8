#include "training/loops/planner.h"

#include <algorithm>
#include <optional>

#include "training/loops/skew.h"

namespace thermocline {
namespace {

bool all_zero_in(const std::vector<Dependence>& found, std::size_t dim) {
  return std::all_of(found.begin(), found.end(), [dim](const Dependence& d) {
    return d.by[dim].is_zero();
  });
}

std::vector<std::int64_t> unit(std::size_t dims, std::size_t dim) {
  std::vector<std::int64_t> out(dims, 0);
  out[dim] = 1;
  return out;
}

// Dimensions, longest first: long ones are cut, short ones rotate.
std::vector<std::size_t> by_extent(const Loop& loop) {
  std::vector<std::size_t> out(loop.dims());
  for (std::size_t k = 0; k < out.size(); ++k) out[k] = k;
  std::stable_sort(out.begin(), out.end(), [&](std::size_t a, std::size_t b) {
    return loop.extent[a] > loop.extent[b];
  });
  return out;
}

bool not_negative(const Distance& d) {
  return d.kind != Distance::Kind::kAny && d.number >= 0;
}

// Whether tiles over i and j, of which those with the same part of i or of j
// never run together, keep the dependences; for an ordered loop also that the
// wavefront meets them in their order.
bool fits_2d(const std::vector<Dependence>& found, std::size_t i, std::size_t j,
             bool ordered) {
  return std::all_of(found.begin(), found.end(), [&](const Dependence& d) {
    if (!d.by[i].is_zero() && !d.by[j].is_zero()) return false;
    return !ordered || (not_negative(d.by[i]) && not_negative(d.by[j]));
  });
}

Error refusal(const Loop& loop, const std::vector<Dependence>& found) {
  // The one of which the least is known.
  const auto open = [](const Dependence& d) {
    return std::count_if(d.by.begin(), d.by.end(), [](const Distance& one) {
      return one.kind != Distance::Kind::kNumber;
    });
  };
  const auto worst = std::max_element(
      found.begin(), found.end(),
      [&](const auto& a, const auto& b) { return open(a) < open(b); });
  const ArrayAccess& a = loop.accesses[worst->first];
  const ArrayAccess& b = loop.accesses[worst->second];
  std::string what = "the loop cannot run in parallel: " + text_of(a) +
                     " and " + text_of(b) + " meet at distance " +
                     text_of(*worst);
  if (loop.dims() == 1) what += " in the loop's only dimension";
  return unsupported(what + "; write " + a.array +
                     " through a buffer if a delay is harmless, or give it "
                     "subscripts by which iterations can be told apart");
}

std::string letters(const std::vector<std::int64_t>& row) {
  ArrayAccess as_access{"", ArrayAccess::Mode::kRead, {affine(row)}};
  const std::string text = text_of(as_access);  // "[2i+j]"
  return text.substr(1, text.size() - 2);
}

}  // namespace

const char* scheme_name(Scheme scheme) {
  switch (scheme) {
    case Scheme::kNaive: return "naive";
    case Scheme::k1D: return "1d";
    case Scheme::k2DUnordered: return "2d_unordered";
    case Scheme::k2DOrdered: return "2d_ordered";
    case Scheme::kUnimodular: return "unimodular";
  }
  return "unknown";
}

Result<LoopPlan> plan_loop(const Loop& loop) {
  if (auto ok = validate(loop); !ok) return ok.error();
  LoopPlan plan;
  plan.dependences = dependences(loop);
  const std::size_t dims = loop.dims();
  const auto& found = plan.dependences;
  const auto order = by_extent(loop);
  plan.space = unit(dims, order.front());
  if (found.empty()) return plan;
  for (const std::size_t i : order) {
    if (!all_zero_in(found, i)) continue;
    plan.scheme = Scheme::k1D;
    plan.space = unit(dims, i);
    return plan;
  }
  for (const std::size_t i : order) {
    for (const std::size_t j : order) {
      if (i == j || !fits_2d(found, i, j, loop.ordered)) continue;
      plan.scheme = loop.ordered ? Scheme::k2DOrdered : Scheme::k2DUnordered;
      plan.space = unit(dims, i);
      plan.time = unit(dims, j);
      return plan;
    }
  }
  const auto rows = skew(loop, found);
  if (!rows) return refusal(loop, found);
  plan.scheme = Scheme::kUnimodular;
  plan.time = rows->first;
  plan.space = rows->second;
  plan.transform = complete(plan.time, plan.space);
  return plan;
}

std::string text_of(const LoopPlan& plan, const Loop& loop) {
  std::string out = scheme_name(plan.scheme);
  out += "(" + letters(plan.space);
  if (!plan.time.empty()) out += ", " + letters(plan.time);
  out += ")";
  for (std::size_t n = 0; n < plan.dependences.size(); ++n) {
    const Dependence& d = plan.dependences[n];
    out += n == 0 ? ": " : "; ";
    out += text_of(loop.accesses[d.first]) + " and " +
           text_of(loop.accesses[d.second]) + " at " + text_of(d);
  }
  return out;
}

}  // namespace thermocline
