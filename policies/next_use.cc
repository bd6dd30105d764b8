// next_use: after Wei's memory scheduling for TensorFlow (thesis CMU-CS-19-135,
// 2019; code jinliangwei/tensorflow-1.12a).
//
// The graph is cut into partitions of a fixed number of operators. A tensor
// whose next use is more than two partitions away is swapped out, and swapped
// in one partition before that use; uses that are closer share one swap. The
// job waits for what is not there in time. Both constants are those of the code
// (graph_partitioner.cc: kPartitionSize 10; "> 2 partitions").
//
// What we chose where the source is silent or has another machine:
// - The operators keep their recorded order; Wei also reorders them. Variables,
//   which the code puts into host memory, begin where the step leaves them.
// - Uses of a tensor that are at most two partitions apart are one stay: it is
//   fast in all of it or in none, and moves only between stays. The step's end
//   joins its beginning, so that a short step moves no persistent tensor.
// - What does not fit is swapped; what does stays, the shortest absences first,
//   so that the plan is the fullest that fits. The code swaps in any case.
// - Where one partition alone uses more than fits, a GPU gives up. Here slow
//   memory can be used in place.
// - A GPU must swap; here a swap may cost more than it gains, or the room may
//   be of more use to others. So there are plans with all swaps, with those
//   only that gain more than their copy takes, and with none; and room goes
//   first to what loses most per byte and partition, or to what loses most.
//   That with the shortest replayed step is taken.
#include <limits>

#include "policies/partition_plan.h"
#include "policies/planner.h"
#include "policies/replay.h"
#include "traces/fields.h"

namespace thermocline {
namespace {

class NextUse final : public Planner {
 public:
  struct Options {
    std::int64_t partition_operators = 10;
    std::int64_t keep_partitions = 2;
    void fields(auto& f) {
      f("partition_operators", partition_operators, std::int64_t{1},
        std::int64_t{1'000'000}, "operators of a partition");
      f("keep_partitions", keep_partitions, std::int64_t{0},
        std::int64_t{1'000'000},
        "a tensor stays when its next use is at most so many partitions away");
    }
  };
  explicit NextUse(Options options) : options_(options) {}
  static std::unique_ptr<Policy> make(Options options) {
    return std::make_unique<NextUse>(options);
  }

 private:
  Result<Plan> make_plan(const Iteration& iteration,
                         const Room& room) override {
    std::vector<std::size_t> begins;
    for (std::size_t k = 0; k < iteration.operators();
         k += static_cast<std::size_t>(options_.partition_operators)) {
      begins.push_back(k);
    }
    PartitionPlan parts(iteration, room, std::move(begins));
    for (std::uint32_t t = 0; t < iteration.tensors(); ++t) parts.add({t});
    std::optional<Plan> best;
    double best_ns = 0;
    for (const PartitionPlan::Choice& choice : choices()) {
      parts.decide(choice);
      Plan plan = parts.plan();
      // Holes in fast memory settle in the first steps.
      const auto out = replay(iteration, room, plan, {.steps = 4});
      if (!out) return out.error();
      if (best && out->steady_ns() >= best_ns) continue;
      plan.note = std::to_string(parts.parts()) + " partitions of " +
                  std::to_string(options_.partition_operators) +
                  " operators, " + std::to_string(parts.arrivals().size()) +
                  " swaps in";
      best = std::move(plan);
      best_ns = out->steady_ns();
    }
    return *std::move(best);
  }

  std::vector<PartitionPlan::Choice> choices() const {
    const auto keep = static_cast<std::size_t>(options_.keep_partitions);
    constexpr auto kAlways = std::numeric_limits<std::size_t>::max();
    std::vector<PartitionPlan::Choice> out;
    for (const bool large_first : {false, true}) {
      out.push_back({keep, {}, 0, large_first});
      out.push_back({keep, {}, 1, large_first});
      out.push_back({kAlways, {}, 0, large_first});
    }
    return out;
  }

  Options options_;
};

const Register<Policy> kEntry{
    "next_use",
    entry<Policy, NextUse>("Swaps out what is not used for two partitions, and "
                           "in one ahead, after Wei's memory scheduling.")};

}  // namespace
}  // namespace thermocline
