// stream: the four kernels of McCalpin's STREAM, over three large arrays.
#include <algorithm>
#include <vector>

#include "tests/machine/workloads/digest.h"
#include "tests/machine/workloads/workload.h"

namespace thermocline {
namespace {

constexpr double kScalar = 0.375;  // exact, and values neither grow nor vanish

class Stream final : public Workload {
 public:
  explicit Stream(const WorkloadSettings& s) : settings_(s) {}

  void prepare() override {
    const std::size_t count = settings_.bytes / 3 / sizeof(double);
    Random random(settings_.seed);
    start_ = 1.0 + random.unit();
    a_.assign(count, start_);
    b_.assign(count, 2.0);
    c_.assign(count, 0.0);
  }

  std::vector<Array> arrays() const override {
    return {array_of("a", a_), array_of("b", b_), array_of("c", c_)};
  }

  std::uint64_t step(std::uint64_t) override {
    const std::size_t count = a_.size();
    double* const a = a_.data();
    double* const b = b_.data();
    double* const c = c_.data();
    std::copy(a, a + count, c);
    for (std::size_t i = 0; i < count; ++i) b[i] = kScalar * c[i];
    for (std::size_t i = 0; i < count; ++i) c[i] = a[i] + b[i];
    for (std::size_t i = 0; i < count; ++i) a[i] = b[i] + kScalar * c[i];
    ++steps_;
    Digest digest;
    for (std::size_t i = 0; i < count; i += 4096) digest.add(a[i] + b[i]);
    return digest.value();
  }

  // As STREAM checks: the same arithmetic on three scalars.
  Status check() override {
    double a = start_, b = 2.0, c = 0.0;
    for (std::uint64_t i = 0; i < steps_; ++i) {
      c = a;
      b = kScalar * c;
      c = a + b;
      a = b + kScalar * c;
    }
    const auto all = [](const std::vector<double>& array, double value) {
      return std::all_of(array.begin(), array.end(),
                         [value](double x) { return x == value; });
    };
    if (all(a_, a) && all(b_, b) && all(c_, c)) return {};
    return corrupt("an element is not what four scalar operations give");
  }

  void spoil() override { c_[c_.size() / 2] += 1; }

 private:
  WorkloadSettings settings_;
  std::vector<double> a_, b_, c_;
  double start_ = 0;
  std::uint64_t steps_ = 0;
};

const RegisterWorkload kEntry{
    "stream",
    {"STREAM: copy, scale, add and triad over three arrays of doubles",
     "all three arrays equally, from end to end, in every step; it never "
     "changes",
     false, make_workload<Stream>}};

}  // namespace
}  // namespace thermocline
