// quantum_circuit: simulates a quantum computer by its state vector, one
// complex amplitude for each value that all qubits can have together.
//
// A gate on qubit q turns the amplitudes i and i + 2^q into each other, in
// place; one that is controlled does so only where other bits are as it asks.
// Four amplitudes share a line: a control on qubits 2 to 5 takes one line in
// two, again and again, and one on the two highest qubits takes a quarter.
// Rotations are by the angle of the triangle 3, 4, 5, which needs no libm.
#include <cmath>
#include <vector>

#include "tests/machine/workloads/digest.h"
#include "tests/machine/workloads/workload.h"

namespace thermocline {
namespace {

constexpr std::uint64_t kStay = 4;     // steps with the same highest qubits
constexpr std::size_t kLineQubit = 2;  // the first that tells lines apart
constexpr std::size_t kStrides = 4;    // qubits that a control inside is of

struct Amplitude {
  double re = 0, im = 0;
};

struct Gate {
  std::size_t target = 0;
  std::size_t controls = 0;  // bits that must be...
  std::size_t values = 0;    // ...as they are here
};

class QuantumCircuit final : public Workload {
 public:
  explicit QuantumCircuit(const WorkloadSettings& s) : settings_(s) {}

  void prepare() override {
    while (sizeof(Amplitude) << (qubits_ + 1) <= settings_.bytes) ++qubits_;
    const std::size_t size = std::size_t{1} << qubits_;
    state_.reserve(size);
    for (std::size_t i = 0; i < size; ++i) state_.push_back(initial(i));
  }

  std::vector<Array> arrays() const override {
    return {array_of("state", state_)};
  }

  std::uint64_t step(std::uint64_t index) override {
    for (const Gate& gate : gates(index)) apply(gate, 0.8);
    ++steps_;
    Digest digest;
    for (std::size_t i = 0; i < state_.size(); i += 1021) {
      digest.add(state_[i].re);
      digest.add(state_[i].im);
    }
    return digest.value();
  }

  // Gates keep the norm, and those turned back, the last first, restore the
  // first state. Rounding is far below what is allowed.
  Status check() override {
    const double before =
        norm(state_.size(), [this](std::size_t i) { return initial(i); });
    const double after =
        norm(state_.size(), [this](std::size_t i) { return state_[i]; });
    if (!(std::abs(after / before - 1) <= 1e-10)) {
      return corrupt("the state has not the norm that it began with");
    }
    while (steps_ > 0) {
      const std::vector<Gate> done = gates(--steps_);
      for (auto gate = done.rbegin(); gate != done.rend(); ++gate) {
        apply(*gate, -0.8);
      }
    }
    for (std::size_t i = 0; i < state_.size(); ++i) {
      const Amplitude expected = initial(i);
      if (!(std::abs(state_[i].re - expected.re) <= 1e-11) ||
          !(std::abs(state_[i].im - expected.im) <= 1e-11)) {
        return corrupt("amplitude " + std::to_string(i) +
                       " is not restored by the inverse circuit");
      }
    }
    return {};
  }

  void spoil() override {
    Amplitude& one = state_[state_.size() / 3];
    one = {-one.im, one.re};  // the norm does not tell
  }

 private:
  Amplitude initial(std::size_t i) const {
    Random random(settings_.seed, i);
    const double re = random.unit() - 0.5;
    return {re, random.unit() - 0.5};
  }

  template <typename Of>
  static double norm(std::size_t size, const Of& of) {
    double sum = 0;
    for (std::size_t i = 0; i < size; ++i) {
      const Amplitude a = of(i);
      sum += a.re * a.re + a.im * a.im;
    }
    return sum;
  }

  // Three gates on one value of the two highest qubits (as a uniformly
  // controlled rotation has for each value): a plain one and two controlled by
  // a qubit inside. Every kStay steps one on a highest qubit mixes all.
  std::vector<Gate> gates(std::uint64_t index) const {
    const std::size_t top = qubits_ - 2;
    const std::size_t high = std::size_t{3} << top;
    const std::size_t value = (index / kStay * 3 % 4) << top;
    Random random(settings_.seed + 1, index);
    const std::size_t above = kLineQubit + kStrides;
    const auto far = [&] { return above + random.below(top - above); };
    std::vector<Gate> all;
    if (index % kStay == 0) {
      all.push_back({top + (index / kStay & 1), 0, 0});
    }
    all.push_back({far(), high, value});
    for (int i = 0; i < 2; ++i) {
      const std::size_t bit = std::size_t{1}
                              << (kLineQubit + random.below(kStrides));
      all.push_back({far(), high | bit, value | bit});
    }
    return all;
  }

  // Runs of amplitudes that differ only in bits below all of the gate's are
  // neighbours: the inner loop takes one run and its partner.
  void apply(const Gate& gate, double sine) {
    const std::size_t target = std::size_t{1} << gate.target;
    const std::size_t fixed = gate.controls | target;
    const std::size_t run = fixed & (~fixed + 1);
    for (std::size_t at = 0; at < state_.size(); at += run) {
      if ((at & fixed) != gate.values) continue;
      Amplitude* const a = &state_[at];
      Amplitude* const b = &state_[at + target];
      for (std::size_t i = 0; i < run; ++i) turn(a[i], b[i], sine);
    }
  }

  // (a, b) -> (c*a + i*s*b, i*s*a + c*b), a rotation about the x axis.
  static void turn(Amplitude& a, Amplitude& b, double sine) {
    const Amplitude x = a, y = b;
    a = {0.6 * x.re - sine * y.im, 0.6 * x.im + sine * y.re};
    b = {0.6 * y.re - sine * x.im, 0.6 * y.im + sine * x.re};
  }

  WorkloadSettings settings_;
  std::vector<Amplitude> state_;
  std::size_t qubits_ = 0;
  std::uint64_t steps_ = 0;  // done, and not undone
};

const RegisterWorkload kEntry{
    "quantum_circuit",
    {"quantum circuit: applies gates to the state vector of a quantum computer",
     "one of 4 quarters of the state, two places at once, end to end or every "
     "other line of a stride; another every 4 steps, and then all of it once",
     true, make_workload<QuantumCircuit>}};

}  // namespace
}  // namespace thermocline
