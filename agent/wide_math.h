// Logarithms and powers that a compiler can take of many numbers at once.
//
// Without a branch, a table or a call, so that a loop of them becomes
// instructions over whole registers (wide.h): a nanosecond each or less, a
// tenth of what the C library's take. And the same bits on every processor,
// which no library's are whose kernels differ by processor.
//
// The logarithms are fdlibm's (s_log1p.c, e_log.c), right to the last bit of a
// float; the powers Cephes' (expf.c), within two.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>

namespace thermocline::wide {

// Of a number above 0: 2^k * (1 + f), f from -0.29 to 0.41.
struct Split {
  double k;
  double f;
};

[[gnu::always_inline]] inline Split split(double x) {
  constexpr std::uint64_t kHalfRoot = 0x3fe6a09e00000000U;  // sqrt(1/2)
  constexpr std::uint64_t kOne = 0x3ff0000000000000U;
  constexpr std::uint64_t kMantissa = 0x000fffffffffffffU;
  constexpr double kWhole = 4503599627370496.0;  // 2^52: its last bit is 1
  const auto bits = __builtin_bit_cast(std::uint64_t, x) + (kOne - kHalfRoot);
  const auto exponent =
      __builtin_bit_cast(std::uint64_t, kWhole) | (bits >> 52U);
  return {__builtin_bit_cast(double, exponent) - (kWhole + 1023),
          __builtin_bit_cast(double, (bits & kMantissa) + kHalfRoot) - 1};
}

/// k * log(2) + log(1 + f).
[[gnu::always_inline]] inline double log_of(double k, double f) {
  const double s = f / (2 + f);
  const double z = s * s;
  double r = 1.479819860511658591e-01;
  r = r * z + 1.531383769920937332e-01;
  r = r * z + 1.818357216161805012e-01;
  r = r * z + 2.222219843214978396e-01;
  r = r * z + 2.857142874366239149e-01;
  r = r * z + 3.999999999940941908e-01;
  r = r * z + 6.666666666666735130e-01;
  r = r * z;
  const double half = 0.5 * f * f;
  constexpr double kHigh = 6.93147180369123816490e-01;
  constexpr double kLow = 1.90821492927058770002e-10;
  return k * kHigh - ((half - (s * (half + r) + k * kLow)) - f);
}

/// Requires: x > 0, a normal number.
[[gnu::always_inline]] inline double log(double x) {
  const Split parts = split(x);
  return log_of(parts.k, parts.f);
}

/// Requires: x >= 0.
[[gnu::always_inline]] inline double log1p(double x) {
  const Split parts = split(1 + x);
  // What 1 + x rounds off counts where x is small; there it is f itself.
  return log_of(parts.k, parts.k == 0 ? x : parts.f);
}

// e^x = scale * (1 + rest).
struct Power {
  float scale;
  float rest;
};

[[gnu::always_inline]] inline Power power_of(float x) {
  constexpr float kMost = 87.0F;         // beyond it, what is at it
  constexpr float kWhole = 12582912.0F;  // 1.5 * 2^23: its last bit is 1
  x = x < -kMost ? -kMost : x > kMost ? kMost : x;
  const float whole = x * 1.44269504088896341F + kWhole;
  const float k = whole - kWhole;
  const float r = (x - k * 0.693359375F) + k * 2.12194440e-4F;
  float p = 1.9875691500e-4F;
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  const auto exponent = (__builtin_bit_cast(std::uint32_t, whole) + 127U)
                        << 23U;
  return {__builtin_bit_cast(float, exponent), p * r * r + r};
}

[[gnu::always_inline]] inline float exp(float x) {
  const Power of = power_of(x);
  return of.scale * of.rest + of.scale;
}

[[gnu::always_inline]] inline float expm1(float x) {
  const Power of = power_of(x);
  return of.scale * of.rest + (of.scale - 1.0F);
}

[[gnu::always_inline]] inline float exp2(float x) {
  return exp(x * 0.693147180559945309F);
}

}  // namespace thermocline::wide
