// stencil: heat diffusion on a 3-D grid, seven points, two grids in turn.
//
// Its initial field is a quadratic, for which the discrete equation has the
// exact solution a*x^2 + b*y^2 + c*z^2 + 2*(a+b+c)*rate*sweeps; the boundary
// follows it (the method of manufactured solutions).
#include <cmath>
#include <vector>

#include "tests/machine/workloads/digest.h"
#include "tests/machine/workloads/workload.h"

namespace thermocline {
namespace {

constexpr double kRate = 0.125;      // of diffusion; stable below 1/6
constexpr std::uint64_t kSlabs = 4;  // a step computes one of so many

class Stencil final : public Workload {
 public:
  explicit Stencil(const WorkloadSettings& s) : settings_(s) {}

  void prepare() override {
    const double cells =
        static_cast<double>(settings_.bytes) / 2 / sizeof(double);
    while (static_cast<double>((n_ + 4) * (n_ + 4) * (n_ + 4)) <= cells) {
      n_ += 4;
    }
    Random random(settings_.seed);
    for (double& factor : factors_) factor = random.unit() + 0.5;
    for (auto* grid : {&now_, &next_}) {
      grid->reserve(n_ * n_ * n_);
      for (std::size_t i = 0; i < n_ * n_ * n_; ++i) {
        grid->push_back(exact(i / n_ / n_, i / n_ % n_, i % n_, 0));
      }
    }
  }

  std::vector<Array> arrays() const override {
    return {array_of("now", now_), array_of("next", next_)};
  }

  std::uint64_t step(std::uint64_t index) override {
    const std::size_t slab = n_ / kSlabs;
    const std::size_t begin = index % kSlabs * slab;
    for (std::size_t z = begin; z < begin + slab; ++z) plane(z);
    Digest digest;
    for (std::size_t i = begin * n_ * n_; i < (begin + slab) * n_ * n_;
         i += 1021) {
      digest.add(next_[i]);
    }
    if (index % kSlabs == kSlabs - 1) {
      now_.swap(next_);
      ++sweeps_;
    }
    return digest.value();
  }

  Status check() override {
    const double size = exact(n_, n_, n_, sweeps_);
    for (std::size_t i = 0; i < now_.size(); ++i) {
      const double error =
          now_[i] - exact(i / n_ / n_, i / n_ % n_, i % n_, sweeps_);
      if (!(std::abs(error) <= 1e-12 * size)) {
        return corrupt("cell " + std::to_string(i) +
                       " is off the exact solution");
      }
    }
    return {};
  }

  void spoil() override { now_[now_.size() / 2] *= 1.001; }

 private:
  double exact(std::size_t z, std::size_t y, std::size_t x,
               std::uint64_t sweeps) const {
    const auto square = [](std::size_t v) {
      return static_cast<double>(v * v);
    };
    const auto [a, b, c] = factors_;
    return a * square(x) + b * square(y) + c * square(z) +
           2 * (a + b + c) * kRate * static_cast<double>(sweeps);
  }

  void plane(std::size_t z) {
    for (std::size_t y = 0; y < n_; ++y) {
      double* const out = next_.data() + (z * n_ + y) * n_;
      if (z == 0 || z == n_ - 1 || y == 0 || y == n_ - 1) {
        for (std::size_t x = 0; x < n_; ++x)
          out[x] = exact(z, y, x, sweeps_ + 1);
        continue;
      }
      const double* const in = now_.data() + (z * n_ + y) * n_;
      const std::size_t row = n_, layer = n_ * n_;
      for (std::size_t x = 1; x < n_ - 1; ++x) {
        const double around = in[x - 1] + in[x + 1] + *(in + x - row) +
                              in[x + row] + *(in + x - layer) + in[x + layer];
        out[x] = in[x] + kRate * (around - 6 * in[x]);
      }
      out[0] = exact(z, y, 0, sweeps_ + 1);
      out[n_ - 1] = exact(z, y, n_ - 1, sweeps_ + 1);
    }
  }

  WorkloadSettings settings_;
  double factors_[3] = {};
  std::size_t n_ = 0;  // cells along an edge
  std::vector<double> now_, next_;
  std::uint64_t sweeps_ = 0;
};

const RegisterWorkload kEntry{
    "stencil",
    {"stencil: heat diffusion on a 3-D grid of doubles, seven points",
     "the quarter of both grids that a step sweeps; over four steps, all "
     "equally: a stream, whose reuse never changes",
     false, make_workload<Stencil>}};

}  // namespace
}  // namespace thermocline
