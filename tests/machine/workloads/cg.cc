// cg: conjugate gradients on two sparse systems in turn, matrices in CSR form,
// as a segregated flow solver alternates between its equations.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "tests/machine/workloads/digest.h"
#include "tests/machine/workloads/workload.h"

namespace thermocline {
namespace {

constexpr std::uint64_t kStay = 8;         // iterations of a solve
constexpr std::size_t kBytesPerRow = 128;  // 7 entries, 5 vectors, 1 offset
constexpr double kShift = 2;  // every diagonal exceeds its row's others by it

using Vector = std::vector<double>;

double dot(const Vector& a, const Vector& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// One system: a diffusion operator with random coefficients on n^3 cells.
struct System {
  std::vector<std::uint32_t> begin{0}, column;
  Vector value, x, r, p, q, b;
  double rr = 0;
  std::uint64_t iterations = 0;

  void assemble(std::size_t n, std::uint64_t seed) {
    const std::size_t rows = n * n * n;
    begin.reserve(rows + 1);
    column.reserve(rows * 7);
    value.reserve(rows * 7);
    const std::size_t strides[] = {1, n, n * n};
    for (std::size_t row = 0; row < rows; ++row) {
      const std::size_t own = value.size();
      column.push_back(static_cast<std::uint32_t>(row));
      value.push_back(kShift);
      for (std::size_t axis = 0; axis < 3; ++axis) {
        const std::size_t stride = strides[axis], place = row / stride % n;
        const std::size_t low = (row - stride) * 3 + axis;
        if (place > 0) couple(own, row - stride, low, seed);
        if (place + 1 < n) couple(own, row + stride, row * 3 + axis, seed);
      }
      begin.push_back(static_cast<std::uint32_t>(value.size()));
    }
    for (Vector* v : {&x, &r, &p, &q, &b}) v->resize(rows);
  }

  // Both ends of an edge draw its coefficient, in [0.5, 1.5), from its name.
  void couple(std::size_t own, std::size_t other, std::uint64_t edge,
              std::uint64_t seed) {
    const double k = 0.5 + Random(seed, edge).unit();
    column.push_back(static_cast<std::uint32_t>(other));
    value.push_back(-k);
    value[own] += k;
  }

  void multiply(const Vector& in, Vector& out) const {
    for (std::size_t row = 0; row < out.size(); ++row) {
      double sum = 0;
      for (std::size_t k = begin[row]; k < begin[row + 1]; ++k) {
        sum += value[k] * in[column[k]];
      }
      out[row] = sum;
    }
  }

  void start(std::uint64_t seed, std::uint64_t solve) {
    Random random(seed, ~solve);
    for (double& element : b) element = random.unit() - 0.5;
    std::fill(x.begin(), x.end(), 0.0);
    r = b;
    p = b;
    rr = dot(r, r);
    iterations = 0;
  }

  void iterate() {
    multiply(p, q);
    const double alpha = rr / dot(p, q);
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] += alpha * p[i];
      r[i] -= alpha * q[i];
    }
    const double next = dot(r, r);
    const double beta = next / rr;
    for (std::size_t i = 0; i < p.size(); ++i) p[i] = r[i] + beta * p[i];
    rr = next;
    ++iterations;
  }
};

class Cg final : public Workload {
 public:
  explicit Cg(const WorkloadSettings& s) : settings_(s) {}

  void prepare() override {
    const std::size_t rows = settings_.bytes / systems_.size() / kBytesPerRow;
    std::size_t n = 1;
    while ((n + 1) * (n + 1) * (n + 1) <= rows) ++n;
    for (std::size_t i = 0; i < systems_.size(); ++i) {
      systems_[i].assemble(n, settings_.seed + i * 0x10000);
    }
  }

  std::vector<Array> arrays() const override {
    std::vector<Array> all;
    for (std::size_t i = 0; i < systems_.size(); ++i) {
      const System& system = systems_[i];
      const std::string number = std::to_string(i);
      all.push_back(array_of("begin" + number, system.begin));
      all.push_back(array_of("column" + number, system.column));
      all.push_back(array_of("value" + number, system.value));
      all.push_back(array_of("x" + number, system.x));
      all.push_back(array_of("r" + number, system.r));
      all.push_back(array_of("p" + number, system.p));
      all.push_back(array_of("q" + number, system.q));
      all.push_back(array_of("b" + number, system.b));
    }
    return all;
  }

  std::uint64_t step(std::uint64_t index) override {
    const std::uint64_t solve = index / kStay;
    System& system = systems_[solve % systems_.size()];
    if (index % kStay == 0) system.start(settings_.seed, solve);
    system.iterate();
    Digest digest;
    digest.add(system.rr);
    return digest.value();
  }

  // A*x is computed anew, and must be as near to b as theory promises: by
  // Gershgorin the condition number is at most (2*9 + kShift) / kShift.
  Status check() override {
    const double root = std::sqrt((18 + kShift) / kShift);
    for (System& system : systems_) {
      if (system.iterations == 0) continue;
      system.multiply(system.x, system.q);
      double square = 0;
      for (std::size_t i = 0; i < system.b.size(); ++i) {
        const double off = system.b[i] - system.q[i];
        square += off * off;
      }
      double bound = 2 * root;
      for (std::uint64_t i = 0; i < system.iterations; ++i) {
        bound *= (root - 1) / (root + 1);
      }
      const double residual = std::sqrt(square / dot(system.b, system.b));
      if (!(residual <= bound)) return corrupt("A*x is not near b");
      if (!(std::abs(square - system.rr) <= 1e-6 * square)) {
        return corrupt("the residual is not b - A*x");
      }
    }
    return {};
  }

  void spoil() override { systems_[0].x[systems_[0].x.size() / 2] += 1; }

 private:
  WorkloadSettings settings_;
  std::array<System, 2> systems_;
};

const RegisterWorkload kEntry{
    "cg",
    {"conjugate gradients: CSR sparse matrix-vector products and vector sums",
     "one of two systems, half of the memory, its vectors more than its "
     "matrix; every 8 steps the solver turns to the other",
     true, make_workload<Cg>}};

}  // namespace
}  // namespace thermocline
