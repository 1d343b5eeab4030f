// cos and sin of t w + b for a row of frequencies and phases.
//
// Steps: the argument in double, the nearest multiple of π (odd half multiple for cos) taken off in double, then one
// odd polynomial for sin on [-π/2, π/2]. Arguments beyond kLimit, and NaN, are left to vecmath_huge.h.
#pragma once

#include "support/vecmath.h"

namespace skein {

template <class T>
struct Wave;

template <>
struct Wave<float> {
  // π in two parts; the first has 21 bits, so that its product with a half integer below 2^31 is exact.
  static constexpr double kHigh = 0x1.921fap+1;
  static constexpr double kLow = 0x1.54442d184698ap-19;
  static constexpr double kLimit = 0x1p32;

  // (-1)^k sin(r), r in [-π/2, π/2] and k in the low bits of `shifted`: degree 11, within 1.6 ulp, 1 at π/2 exactly.
  static SKEIN_INLINE float turn(double r, double shifted, u32 flip) {
    const float s = static_cast<float>(r);
    const float z = s * s;
    const float p = vm::horner(z, -0x1.555556p-3f, 0x1.111114p-7f, -0x1.a01916p-13f, 0x1.71960ep-19f, -0x1.9db160p-26f);
    const float y = vm::mad(s * z, p, s);
    const u32 sign = (static_cast<u32>(vm::bit_cast<u64>(shifted)) ^ flip) << 31;
    return vm::bit_cast<float>(vm::bit_cast<u32>(y) ^ sign);
  }
  static SKEIN_INLINE float cos(double a) {
    const double shifted = vm::mad(a, 0.5 * vm::kTwoOverPi, -0.5) + vm::kRound64;
    const double half = (shifted - vm::kRound64) + 0.5;
    return turn(vm::mad(half, -kLow, vm::mad(half, -kHigh, a)), shifted, 1);
  }
  static SKEIN_INLINE float sin(double a) {
    const double shifted = vm::mad(a, 0.5 * vm::kTwoOverPi, vm::kRound64);
    const double k = shifted - vm::kRound64;
    return turn(vm::mad(k, -kLow, vm::mad(k, -kHigh, a)), shifted, 0);
  }
};

template <>
struct Wave<double> {
  static constexpr double kLimit = vm::kTrigLimit64;
  static SKEIN_INLINE double cos(double a) { return vm::cos(a); }
  static SKEIN_INLINE double sin(double a) { return vm::sin(a); }
};

// wave[j] = cos or sin of t w[j] + b[j]; w and b may be doubles already.
template <bool cosine, class T, class W>
inline void wave_row(double t, const W* SKEIN_RESTRICT w, const W* SKEIN_RESTRICT b, T* SKEIN_RESTRICT wave, i64 n) {
  int far = 0;
#pragma omp simd reduction(| : far)
  for (i64 j = 0; j < n; ++j) {
    const double a = t * static_cast<double>(w[j]) + static_cast<double>(b[j]);
    far |= !(vm::absolute(a) <= Wave<T>::kLimit);
    wave[j] = cosine ? Wave<T>::cos(a) : Wave<T>::sin(a);
  }
  if (!far) return;
  for (i64 j = 0; j < n; ++j) {
    const double a = t * static_cast<double>(w[j]) + static_cast<double>(b[j]);
    if (!(vm::absolute(a) <= Wave<T>::kLimit)) wave[j] = static_cast<T>(cosine ? vm::cos_huge(a) : vm::sin_huge(a));
  }
}

}  // namespace skein
