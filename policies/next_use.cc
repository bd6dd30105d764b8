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
// - What does not fit is swapped; what does stays, the shortest absences first,
//   so that the plan is the fullest that fits. The code swaps in any case.
// - Where one partition alone uses more than fits, a GPU gives up. Here slow
//   memory can be used in place, and those that lose most per byte are fast.
// - A swap waits for nothing but its copy; there is no test whether it pays.
#include "policies/partition_plan.h"
#include "policies/planner.h"
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

  Result<std::optional<Plan>> plan(const Iteration& iteration,
                                   const Room& room) override {
    std::vector<std::size_t> begins;
    for (std::size_t k = 0; k < iteration.operators();
         k += static_cast<std::size_t>(options_.partition_operators)) {
      begins.push_back(k);
    }
    PartitionPlan parts(iteration, room, std::move(begins));
    for (std::uint32_t t = 0; t < iteration.tensors(); ++t) parts.add({t});
    parts.decide(static_cast<std::size_t>(options_.keep_partitions));
    Plan out = parts.plan();
    if (auto ok = check(out, iteration, room); !ok) return ok.error();
    out.note = std::to_string(parts.parts()) + " partitions of " +
               std::to_string(options_.partition_operators) + " operators, " +
               std::to_string(parts.arrivals().size()) + " swaps in";
    return std::optional<Plan>(std::move(out));
  }

 private:
  Options options_;
};

const Register<Policy> kEntry{
    "next_use",
    entry<Policy, NextUse>("Swaps out what is not used for two partitions, and "
                           "in one ahead, after Wei's memory scheduling.")};

}  // namespace
}  // namespace thermocline
