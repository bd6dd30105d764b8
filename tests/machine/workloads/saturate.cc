// saturate: ten arrays read in step with each other, and nothing else to do:
// memory's bandwidth is the limit, and with an array or two in slow memory its
// link carries what the fast one has no room for.
#include <array>
#include <vector>

#include "tests/machine/workloads/digest.h"
#include "tests/machine/workloads/workload.h"

namespace thermocline {
namespace {

constexpr std::size_t kArrays = 10;
constexpr std::size_t kPerLine = 64 / sizeof(std::uint64_t);

class Saturate final : public Workload {
 public:
  explicit Saturate(const WorkloadSettings& s) : settings_(s) {}

  void prepare() override {
    const std::size_t count =
        settings_.bytes / kArrays / sizeof(std::uint64_t) / kPerLine * kPerLine;
    Random random(settings_.seed);
    for (auto& array : arrays_) {
      array.reserve(count);
      for (std::size_t i = 0; i < count; ++i) {
        array.push_back(random.next());
        expected_ += array.back();
      }
    }
  }

  std::vector<Array> arrays() const override {
    std::vector<Array> all;
    for (std::size_t k = 0; k < kArrays; ++k) {
      all.push_back(array_of("part" + std::to_string(k), arrays_[k]));
    }
    return all;
  }

  std::uint64_t step(std::uint64_t) override {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < arrays_[0].size(); i += kPerLine) {
      for (const auto& array : arrays_) {
        const std::uint64_t* const line = array.data() + i;
        for (std::size_t j = 0; j < kPerLine; ++j) sum += line[j];
      }
    }
    if (sum != expected_) wrong_ = true;
    return mix(sum + ++steps_);
  }

  // The sum was known when the numbers were drawn.
  Status check() override {
    if (!wrong_) return {};
    return corrupt("a step's sum is not that of the numbers drawn");
  }

  void spoil() override {
    arrays_[kArrays / 2][1] += 1;
    step(0);
  }

 private:
  WorkloadSettings settings_;
  std::array<std::vector<std::uint64_t>, kArrays> arrays_;
  std::uint64_t expected_ = 0;
  std::uint64_t steps_ = 0;
  bool wrong_ = false;
};

const RegisterWorkload kEntry{
    "saturate",
    {"saturate: sums ten arrays, read in step with each other",
     "all ten arrays equally, from end to end, in every step; it never changes",
     false, make_workload<Saturate>}};

}  // namespace
}  // namespace thermocline
