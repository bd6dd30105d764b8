#include "policies/bounds.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "policies/solver.h"

namespace thermocline {
namespace {

constexpr std::size_t kMostSubsets = 10;  // tensors of which all are tried

// One operator, with its tensors in tier 0 or 1.
class Choice {
 public:
  Choice(const Iteration& iteration, std::size_t op,
         std::vector<TierId>& placement)
      : iteration_(iteration), op_(op), placement_(placement) {
    const auto& one = iteration.op(op);
    std::set_union(one.reads.begin(), one.reads.end(), one.writes.begin(),
                   one.writes.end(), std::back_inserter(tensors_));
    for (const auto t : tensors_) {
      penalty_.push_back(std::max(0.0, iteration.times().penalty_ns(op, t, 1)));
    }
  }

  const std::vector<std::uint32_t>& tensors() const { return tensors_; }
  double penalty(std::size_t i) const { return penalty_[i]; }

  // Bit i of `slow`: tensor i lies in tier 1.
  double time_ns(std::size_t slow) {
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      placement_[tensors_[i]] = static_cast<TierId>(slow >> i & 1);
    }
    return time_ns();
  }

  // A line that is nowhere above the operator's time: offset() plus scale()
  // times the penalties of what is slow. It touches the time with all slow.
  void fit_line() {
    const double all = std::accumulate(penalty_.begin(), penalty_.end(), 0.0);
    const double fast = put_all(0);
    const double slow = put_all(1);
    scale_ = all > 0 ? std::clamp((slow - fast) / all, 0.0, 1.0) : 0;
    offset_ = fast;
    const auto lower = [&](double time, double penalties) {
      offset_ = std::min(offset_, time - scale_ * penalties);
    };
    lower(slow, all);
    if (tensors_.size() <= kMostSubsets) {
      for (std::size_t set = 1; set < std::size_t{1} << tensors_.size();
           ++set) {
        double sum = 0;
        for (std::size_t i = 0; i < tensors_.size(); ++i) {
          if (set >> i & 1) sum += penalty_[i];
        }
        lower(time_ns(set), sum);
      }
      return;
    }
    // Of too many to try all: each alone, and all but each.
    for (const TierId rest : {TierId{0}, TierId{1}}) {
      put_all(rest);
      for (std::size_t i = 0; i < tensors_.size(); ++i) {
        placement_[tensors_[i]] = static_cast<TierId>(1 - rest);
        lower(time_ns(), rest == 0 ? penalty_[i] : all - penalty_[i]);
        placement_[tensors_[i]] = rest;
      }
    }
  }
  double offset() const { return offset_; }
  double scale() const { return scale_; }

  double best_ns(Bytes fast) {
    if (tensors_.size() > kMostSubsets) return fractional_ns(fast);
    double best = put_all(1);
    for (std::size_t slow = 0; slow < std::size_t{1} << tensors_.size();
         ++slow) {
      Bytes bytes = 0;
      for (std::size_t i = 0; i < tensors_.size(); ++i) {
        if ((slow >> i & 1) == 0) bytes += iteration_.tensor(tensors_[i]).bytes;
      }
      if (bytes <= fast) best = std::min(best, time_ns(slow));
    }
    return best;
  }

 private:
  double time_ns() const {
    return iteration_.times().operator_ns(op_, placement_);
  }
  double put_all(TierId tier) {
    for (const auto t : tensors_) placement_[t] = tier;
    return time_ns();
  }

  double fractional_ns(Bytes fast) {
    fit_line();
    std::vector<std::size_t> order(tensors_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto bytes = [&](std::size_t i) {
      return static_cast<double>(iteration_.tensor(tensors_[i]).bytes);
    };
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return penalty_[a] * bytes(b) > penalty_[b] * bytes(a);
    });
    auto room = static_cast<double>(fast);
    double left = 0;
    for (const std::size_t i : order) {
      const double share = std::min(1.0, room / bytes(i));
      room -= share * bytes(i);
      left += (1 - share) * penalty_[i];
    }
    return std::max(put_all(0), offset_ + scale_ * left);
  }

  const Iteration& iteration_;
  std::size_t op_;
  std::vector<TierId>& placement_;
  std::vector<std::uint32_t> tensors_;
  std::vector<double> penalty_;
  double offset_ = 0;
  double scale_ = 0;
};

// Operators at which sets of tensors are alive that no other contains.
std::vector<std::size_t> crowded(const Iteration& iteration) {
  std::vector<std::size_t> out;
  bool born = true;
  for (std::size_t k = 0; k < iteration.operators(); ++k) {
    born = born || !iteration.op(k).born.empty();
    const bool dies =
        k + 1 == iteration.operators() || !iteration.op(k + 1).dead.empty();
    if (!born || !dies) continue;
    out.push_back(k);
    born = false;
  }
  return out;
}

// The most penalty that can be saved: max sum(gain * x), 0 <= x <= 1, under
// the capacity at each crowded operator.
Result<double> most_saved(const Iteration& iteration, Bytes fast,
                          const std::vector<double>& gain) {
  constexpr double kMiB = 1 << 20;  // so that numbers are of like size
  const double largest = *std::max_element(gain.begin(), gain.end());
  if (largest <= 0) return 0.0;
  Mip program;
  std::vector<std::size_t> tensors;
  for (std::size_t t = 0; t < gain.size(); ++t) {
    if (gain[t] <= 0 || iteration.tensor(t).bytes > fast) continue;
    tensors.push_back(t);
    program.cost.push_back(-gain[t] / largest);
  }
  if (tensors.empty()) return 0.0;
  for (const std::size_t op : crowded(iteration)) {
    Mip::Row row;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const auto& one = iteration.tensor(tensors[i]);
      if (!one.alive(op)) continue;
      row.columns.push_back(static_cast<int>(i));
      row.factors.push_back(static_cast<double>(one.bytes) / kMiB);
    }
    row.most = static_cast<double>(fast) / kMiB;
    program.rows.push_back(std::move(row));
  }
  const auto solver = load_solver();
  if (!solver) return solver.error();
  const auto relaxed =
      (*solver)->relax(program, /*rounds=*/0, 0, [] { return true; });
  if (!relaxed) return relaxed.error();
  return -relaxed->cost * largest;
}

}  // namespace

double free_moves_bound_ns(const Iteration& iteration, Bytes fast) {
  std::vector<TierId> placement(iteration.tensors(), 0);
  double sum = 0;
  for (std::size_t i = 0; i < iteration.operators(); ++i) {
    sum += Choice(iteration, i, placement).best_ns(fast);
  }
  return iteration.times().job_ns(sum);
}

Result<double> static_bound_ns(const Iteration& iteration, Bytes fast) {
  std::vector<TierId> placement(iteration.tensors(), 0);
  std::vector<double> gain(iteration.tensors(), 0);
  double slow = 0;
  for (std::size_t i = 0; i < iteration.operators(); ++i) {
    Choice choice(iteration, i, placement);
    choice.fit_line();
    slow += choice.offset();
    for (std::size_t k = 0; k < choice.tensors().size(); ++k) {
      const double penalty = choice.scale() * choice.penalty(k);
      gain[choice.tensors()[k]] += penalty;
      slow += penalty;
    }
  }
  const auto saved = most_saved(iteration, fast, gain);
  if (!saved) return saved.error();
  return std::max(iteration.all_fast_ns(),
                  iteration.times().job_ns(slow - *saved));
}

}  // namespace thermocline
