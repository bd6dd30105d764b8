// fourier_filter: smooths images by their two-dimensional Fourier transform.
//
// An image and the next are the real and the imaginary part of one frame. Its
// rows are transformed, out of place; then its columns, as many at once as
// share a line, which are collected first, filtered, transformed back and put
// back; then the rows, back. Frames take their turn. A transform is Stockham's:
// radix 2, out of place, without a permutation. Rows are a line longer than
// they need be, the usual remedy for strides of a power of two. The filter is
// the inverse of 1 - kSmooth * Laplacian, of differences between neighbours.
#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "tests/machine/workloads/digest.h"
#include "tests/machine/workloads/workload.h"

namespace thermocline {
namespace {

constexpr std::uint64_t kPhases = 4;  // rows, columns in two halves, rows back
constexpr std::size_t kAtOnce = 8;    // columns
constexpr std::size_t kLeastFrames = 6;  // that there would be room for
constexpr float kSmooth = 0.5F;
constexpr float kError = 1e-4F;  // of a pixel; they are up to one

struct Complex {
  float re = 0, im = 0;
};

Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
Complex operator*(Complex a, float b) { return {a.re * b, a.im * b}; }
Complex operator*(Complex a, Complex b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

class FourierFilter final : public Workload {
 public:
  explicit FourierFilter(const WorkloadSettings& s) : settings_(s) {}

  void prepare() override {
    side_ = kAtOnce;
    while (sizeof(Complex) * 4 * side_ * side_ * kLeastFrames <=
           settings_.bytes) {
      side_ *= 2;
    }
    pitch_ = side_ + kAtOnce;
    const std::size_t frame = side_ * pitch_;
    // The spectrum, two times what is transformed at once, and the factors: one
    // array, so that none is small.
    workspace_.resize(frame + 2 * kAtOnce * side_ + side_ / 2);
    gain_.resize(side_ * side_);
    const std::size_t used =
        sizeof(Complex) * workspace_.size() + sizeof(float) * gain_.size();
    count_ = (settings_.bytes - used) / (2 * sizeof(Complex) * frame);
    images_.resize(count_ * frame);
    smoothed_.resize(count_ * frame);
    Random random(settings_.seed);
    for (Complex& pixel : images_) {
      const std::uint64_t bits = random.next();
      pixel = {static_cast<float>(bits >> 40) * 0x1p-24F,
               static_cast<float>(bits & 0xffffff) * 0x1p-24F};
    }
    make_factors();
    make_gain();
  }

  std::vector<Array> arrays() const override {
    return {array_of("images", images_), array_of("smoothed", smoothed_),
            array_of("workspace", workspace_), array_of("gain", gain_)};
  }

  std::uint64_t step(std::uint64_t index) override {
    next_ = index + 1;
    const std::size_t frame = index / kPhases % count_ * side_ * pitch_;
    const std::uint64_t phase = index % kPhases;
    if (phase == 0) {
      rows(&images_[frame], workspace_.data(), false);
    } else if (phase < kPhases - 1) {
      columns((phase - 1) * side_ / 2, phase * side_ / 2);
    } else {
      rows(workspace_.data(), &smoothed_[frame], true);
    }
    const Complex* const made =
        phase < kPhases - 1 ? workspace_.data() : &smoothed_[frame];
    Digest digest;
    for (std::size_t i = 0; i < side_ * side_; i += 257) {
      const Complex one = made[i / side_ * pitch_ + i % side_];
      digest.add(static_cast<double>(one.re));
      digest.add(static_cast<double>(one.im));
    }
    return digest.value();
  }

  // What the filter is the inverse of, by differences between neighbours, makes
  // the image again out of the smoothed one.
  Status check() override {
    while (next_ % kPhases != 0) step(next_);
    const std::size_t done = std::min<std::uint64_t>(next_ / kPhases, count_);
    for (std::size_t i = 0; i < done * side_ * side_; ++i) {
      const std::size_t x = i % side_, y = i / side_ % side_;
      const std::size_t frame = i / side_ / side_ * side_ * pitch_;
      const auto smooth = [&](std::size_t column, std::size_t row) {
        return smoothed_[frame + row % side_ * pitch_ + column % side_];
      };
      const Complex own = smooth(x, y);
      const Complex around = smooth(x + 1, y) + smooth(x + side_ - 1, y) +
                             smooth(x, y + 1) + smooth(x, y + side_ - 1);
      const Complex off = own * (1 + 4 * kSmooth) - around * kSmooth -
                          images_[frame + y * pitch_ + x];
      if (std::abs(off.re) <= kError && std::abs(off.im) <= kError) continue;
      return corrupt("frame " + std::to_string(i / side_ / side_) +
                     " is not smoothed at " + std::to_string(x) + ", " +
                     std::to_string(y));
    }
    return {};
  }

  // A pixel of the last complete frame, or of the spectrum of the first.
  void spoil() override {
    const std::uint64_t done = next_ / kPhases;
    if (done == 0) {
      workspace_[pitch_].re += 1e4F;
    } else {
      smoothed_[(done - 1) % count_ * side_ * pitch_ + pitch_].re += 0.1F;
    }
  }

 private:
  Complex* buffer(std::size_t which) {
    return &workspace_[side_ * pitch_ + which * kAtOnce * side_];
  }

  std::span<Complex> factors() { return std::span(workspace_).last(side_ / 2); }

  // exp(-2 pi i k / side_), from those of powers of two, which halve the angle
  // again and again.
  void make_factors() {
    const std::span<Complex> all = factors();
    all[0] = {1, 0};
    double cosine = 0, sine = 1;  // of a quarter of a turn
    for (std::size_t k = side_ / 4; k > 0; k /= 2) {
      const Complex turn{static_cast<float>(cosine), -static_cast<float>(sine)};
      for (std::size_t i = k; i < all.size(); i += 2 * k) {
        all[i] = all[i - k] * turn;
      }
      cosine = std::sqrt((1 + cosine) / 2);
      sine /= 2 * cosine;
    }
  }

  void make_gain() {
    const auto cosine = [&](std::size_t k) {
      const std::size_t half = side_ / 2;
      return k < half ? factors()[k].re : -factors()[k - half].re;
    };
    const auto size = static_cast<float>(side_ * side_);
    for (std::size_t i = 0; i < gain_.size(); ++i) {
      const float both = cosine(i / side_) + cosine(i % side_);
      gain_[i] = 1 / (size * (1 + kSmooth * (4 - 2 * both)));
    }
  }

  // The transform of so many signals side by side, without a factor; it is in
  // one of the two places, which is returned.
  Complex* transform(Complex* from, Complex* to, std::size_t signals,
                     bool back) {
    const std::span<const Complex> all = factors();
    std::size_t run = signals;
    for (std::size_t half = side_ / 2; half > 0; half /= 2, run *= 2) {
      for (std::size_t k = 0; k < half; ++k) {
        Complex turn = all[k * (side_ / 2 / half)];
        if (back) turn.im = -turn.im;
        const Complex* const low = from + k * run;
        const Complex* const high = low + half * run;
        Complex* const sum = to + 2 * k * run;
        for (std::size_t i = 0; i < run; ++i) {
          const Complex a = low[i], b = high[i];
          sum[i] = a + b;
          sum[run + i] = (a - b) * turn;
        }
      }
      std::swap(from, to);
    }
    return from;
  }

  void rows(const Complex* from, Complex* to, bool back) {
    for (std::size_t row = 0; row < side_; ++row) {
      std::copy_n(from + row * pitch_, side_, buffer(0));
      const Complex* const done = transform(buffer(0), buffer(1), 1, back);
      std::copy_n(done, side_, to + row * pitch_);
    }
  }

  void columns(std::size_t begin, std::size_t end) {
    for (std::size_t at = begin; at < end; at += kAtOnce) {
      Complex* const first = &workspace_[at];
      for (std::size_t row = 0; row < side_; ++row) {
        std::copy_n(first + row * pitch_, kAtOnce, buffer(0) + row * kAtOnce);
      }
      Complex* const done = transform(buffer(0), buffer(1), kAtOnce, false);
      for (std::size_t row = 0; row < side_; ++row) {
        for (std::size_t i = 0; i < kAtOnce; ++i) {
          Complex& one = done[row * kAtOnce + i];
          one = one * gain_[row * side_ + at + i];
        }
      }
      Complex* const other = done == buffer(0) ? buffer(1) : buffer(0);
      const Complex* const back = transform(done, other, kAtOnce, true);
      for (std::size_t row = 0; row < side_; ++row) {
        std::copy_n(back + row * kAtOnce, kAtOnce, first + row * pitch_);
      }
    }
  }

  WorkloadSettings settings_;
  std::vector<Complex> images_, smoothed_;  // by frame and row
  std::vector<Complex> workspace_;
  std::vector<float> gain_;  // by row and column of the spectrum
  std::size_t side_ = 0;     // of an image, in pixels
  std::size_t pitch_ = 0;    // from row to row
  std::size_t count_ = 0;    // frames
  std::uint64_t next_ = 0;   // step
};

const RegisterWorkload kEntry{
    "fourier_filter",
    {"Fourier filter: smooths images, two in a frame, by transforms of rows "
     "and "
     "columns",
     "a frame's image and the spectrum, end to end; then the spectrum by "
     "columns, and the filter, for 2 steps; then the spectrum and the smoothed "
     "image; another frame every 4 steps",
     true, make_workload<FourierFilter>}};

}  // namespace
}  // namespace thermocline
