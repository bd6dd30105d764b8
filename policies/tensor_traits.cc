#include "policies/tensor_traits.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace thermocline {
namespace {

constexpr const char* kNames[kTraits] = {"reads", "writes", "reuse", "life",
                                         "size"};

// By operator, the time of all before it when all is fast; at the end, of all.
std::vector<double> clock_of(const Iteration& iteration) {
  const std::vector<TierId> fast(iteration.tensors(), 0);
  std::vector<double> out{0};
  for (std::size_t k = 0; k < iteration.operators(); ++k) {
    out.push_back(out.back() + iteration.times().operator_ns(k, fast));
  }
  return out;
}

// From the end of one use to the beginning of the other, which may be in the
// next step.
double between(const std::vector<double>& clock, std::size_t first,
               std::size_t then) {
  const double wait = clock[then] - clock[first + 1];
  return std::max(0.0, then > first ? wait : wait + clock.back());
}

double wait_of(const Iteration::Tensor& one, std::size_t use,
               const std::vector<double>& clock) {
  const std::size_t uses = one.uses.size();
  double out = clock.back();
  if (use + 1 < uses || one.persistent) {
    const auto& next = one.uses[(use + 1) % uses];
    out = between(clock, one.uses[use].op, next.op);
  }
  if (use > 0 || one.persistent) {
    const auto& last = one.uses[(use + uses - 1) % uses];
    out = std::min(out, between(clock, last.op, one.uses[use].op));
  }
  return out;
}

double life_of(const Iteration& iteration, const Iteration::Tensor& one) {
  const std::size_t n = iteration.operators();
  if (one.persistent) return static_cast<double>(n);
  return static_cast<double>(one.wraps ? n - one.born + one.dies
                                       : one.dies - one.born);
}

// By use: what it loses, apart for those that write.
std::vector<Traits> accesses_of(const Iteration& iteration,
                                const Iteration::Tensor& one, Accesses kind) {
  const auto slow = static_cast<TierId>(iteration.tiers() - 1);
  const double per =
      kind == Accesses::kInAll ? 1 : static_cast<double>(one.bytes);
  std::vector<Traits> out;
  Traits sum{};
  for (const auto& use : one.uses) {
    Traits lost{};
    lost[use.written ? 1 : 0] = std::max(0.0, use.penalty_ns[slow]) / per;
    for (std::size_t i = 0; i < 2; ++i) sum[i] += lost[i];
    out.push_back(lost);
  }
  if (kind != Accesses::kWhole) return out;
  const double life = life_of(iteration, one);
  for (std::size_t i = 0; i < 2; ++i) sum[i] /= life;
  return std::vector<Traits>(one.uses.size(), sum);
}

// In place of what each use loses per byte: the share of all bytes used that
// lose less, and half of those that lose as much.
void rank(const Iteration& iteration, std::vector<TensorUse>& uses) {
  std::vector<TensorUse*> order;
  for (TensorUse& one : uses) order.push_back(&one);
  const auto lost = [](const TensorUse* one) {
    return one->traits[0] + one->traits[1];
  };
  std::ranges::stable_sort(order, {}, lost);
  double all = 0;
  const auto bytes = [&](const TensorUse* one) {
    return static_cast<double>(iteration.tensor(one->tensor).bytes);
  };
  for (const TensorUse* one : order) all += bytes(one);
  double less = 0;
  for (auto first = order.begin(); first != order.end();) {
    const double here = lost(*first);
    auto last = first;
    double equal = 0;
    for (; last != order.end() && lost(*last) == here; ++last) {
      equal += bytes(*last);
    }
    const double share = (less + equal / 2) / all;
    for (; first != last; ++first) {
      for (std::size_t i = 0; i < 2; ++i) {
        if ((*first)->traits[i] > 0) (*first)->traits[i] = share;
      }
    }
    less += equal;
  }
}

}  // namespace

const char* trait_name(Trait trait) {
  return kNames[static_cast<std::size_t>(trait)];
}

std::string describe_weights(const Traits& weights) {
  std::string out;
  for (std::size_t i = 0; i < kTraits; ++i) {
    char text[32];
    std::snprintf(text, sizeof text, "%s%s %.2f", i > 0 ? ", " : "", kNames[i],
                  weights[i]);
    out += text;
  }
  return out;
}

std::vector<TensorUse> traits_of(const Iteration& iteration, Accesses kind) {
  const auto slow = static_cast<TierId>(iteration.tiers() - 1);
  const auto n = static_cast<double>(iteration.operators());
  const auto clock = clock_of(iteration);
  std::vector<TensorUse> out;
  double most_lost = 0;
  double largest = 2;
  for (std::uint32_t t = 0; t < iteration.tensors(); ++t) {
    const auto& one = iteration.tensor(t);
    largest = std::max(largest, static_cast<double>(one.bytes));
    const auto accesses = accesses_of(iteration, one, kind);
    const double trip = iteration.times().copy_ns(t, 0, slow) +
                        iteration.times().copy_ns(t, slow, 0);
    for (std::uint32_t u = 0; u < accesses.size(); ++u) {
      Traits traits = accesses[u];
      most_lost = std::max(most_lost, traits[0] + traits[1]);
      const double wait = wait_of(one, u, clock);
      traits[2] = trip + wait > 0 ? trip / (trip + wait) : 1;
      traits[3] = 1 - std::min(1.0, life_of(iteration, one) / n);
      traits[4] = std::log2(static_cast<double>(one.bytes));
      out.push_back({t, u, traits});
    }
  }
  if (kind == Accesses::kRanked) {
    rank(iteration, out);
    most_lost = 1;
  }
  for (TensorUse& one : out) {
    for (std::size_t i = 0; i < 2; ++i) {
      one.traits[i] = most_lost > 0 ? one.traits[i] / most_lost : 0;
    }
    one.traits[4] = 1 - one.traits[4] / std::log2(largest);
  }
  return out;
}

}  // namespace thermocline
