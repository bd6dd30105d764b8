// gups: random updates of a large table (HPC Challenge's RandomAccess), nine of
// ten of them in a hot window that moves.
#include <numeric>
#include <vector>

#include "tests/machine/workloads/digest.h"
#include "tests/machine/workloads/workload.h"

namespace thermocline {
namespace {

constexpr std::uint64_t kUpdates = 2'000'000;  // in a step
constexpr std::uint64_t kStay = 8;             // steps that a window stays hot
constexpr std::uint64_t kWindows = 10;

class Gups final : public Workload {
 public:
  explicit Gups(const WorkloadSettings& s) : settings_(s) {}

  void prepare() override {
    table_.resize(settings_.bytes / sizeof(std::uint64_t));
    std::iota(table_.begin(), table_.end(), std::uint64_t{0});
  }

  std::vector<Array> arrays() const override {
    return {array_of("table", table_)};
  }

  std::uint64_t step(std::uint64_t index) override {
    ++steps_;
    return update(index);
  }

  // An update is its own inverse: the second time restores the table.
  Status check() override {
    for (std::uint64_t i = 0; i < steps_; ++i) update(i);
    for (std::size_t i = 0; i < table_.size(); ++i) {
      if (table_[i] == i) continue;
      return corrupt("word " + std::to_string(i) +
                     " is not restored by the same updates");
    }
    return {};
  }

  void spoil() override { table_[table_.size() / 3] ^= 1; }

 private:
  std::uint64_t update(std::uint64_t index) {
    const std::uint64_t window = table_.size() / kWindows;
    // Three is prime to ten: every window has its turn, none beside the last.
    const std::uint64_t hot = index / kStay * 3 % kWindows * window;
    Random random(settings_.seed, index);
    std::uint64_t* const table = table_.data();
    std::uint64_t digest = 0;
    for (std::uint64_t i = 0; i < kUpdates; ++i) {
      const std::uint64_t value = random.next();
      const bool is_hot = (value & 0xff) < 230;
      const std::uint64_t where =
          ((value >> 32) * (is_hot ? window : table_.size())) >> 32;
      digest += table[(is_hot ? hot : 0) + where] ^= value;
    }
    return mix(digest);
  }

  WorkloadSettings settings_;
  std::vector<std::uint64_t> table_;
  std::uint64_t steps_ = 0;
};

const RegisterWorkload kEntry{
    "gups",
    {"GUPS: random read-modify-writes of a table of 64-bit words",
     "a tenth of the table takes 90 % of the updates; every 8 steps it is "
     "another tenth",
     true, make_workload<Gups>}};

}  // namespace
}  // namespace thermocline
