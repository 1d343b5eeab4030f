// sin and cos of arguments beyond the range of vecmath's vector code, one at a time and without the C library: some
// libraries are wrong there (mingw's uses the x87 instruction fsin, whose π has 66 bits).
//
// The reduction is Payne and Hanek's ("Radian reduction for trigonometric functions", 1983), as in fdlibm's
// __kernel_rem_pio2 but in integers: x = m 2^e with a 53-bit m, and those bits of 2/π that make multiples of 4 of the
// product, whole turns, are never multiplied. Of the bits that follow, 192 suffice: two for the quadrant, 62 that
// may cancel (no double is closer to a multiple of π/2 than 2^-61), and over 70 right ones.
// Only integers, and products and sums that are rounded each by itself: the same bits at every level. Results are
// within 0.8 ulp in double, and rounded to float within 0.5001 ulp.
#pragma once

#include "support/vecmath_base.h"

namespace skein {
namespace vm {

__extension__ typedef unsigned __int128 u128;

// The first 1216 bits of 2/π, calculated in 2000-bit arithmetic, after 64 zeros for the smallest arguments. The
// largest double, with e = 971, takes bits 1033 to 1224 of the 1280.
constexpr u64 kTwoOverPiBits[] = {
    0x0000000000000000, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
    0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41,
    0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7,
    0x4f463f669e5fea2d, 0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab,
};

// |x| = quadrant · π/2 + high + low, with high + low in [-π/4, π/4] to 62 bits.
struct HugeAngle {
  u64 quadrant;
  double high, low;
};

// |x| in [1, ∞).
inline HugeAngle reduce_huge(double x) {
  const u64 bits = bit_cast<u64>(absolute(x));
  const u64 m = (bits & 0xfffffffffffffull) | 0x10000000000000ull;
  // 2^e times the bit at `first` is worth 2: e = exponent - 1075, and the bit at 64 is worth 2^-1.
  const u64 first = (bits >> 52) - 1075u + 62u;
  const u64* word = kTwoOverPiBits + first / 64u;
  const u64 shift = first % 64u;
  // Bits 64 at a time from `first`; in two steps, since a shift by 64 is undefined.
  const auto window = [=](int i) { return (word[i] << shift) | ((word[i + 1] >> 1) >> (63u - shift)); };

  // m times the window modulo 4, in units of 2^-126; of the third word only what it carries is needed.
  const u128 carry = (static_cast<u128>(m) * window(2)) >> 64;
  const u128 turns = ((static_cast<u128>(m) * window(0)) << 64) + static_cast<u128>(m) * window(1) + carry;
  u64 quadrant = static_cast<u64>(turns >> 126);
  u128 fraction = turns << 2;
  const bool above = (fraction >> 127) != 0;
  if (above) {
    fraction = -fraction;
    ++quadrant;
  }

  // The leading 64 bits of the fraction times π/2 = 0xc90f… 2^-63. The upper half of the fraction is never 0 (see top).
  const int zeros = __builtin_clzll(static_cast<u64>(fraction >> 64));
  const u64 leading = static_cast<u64>((fraction << zeros) >> 64);
  const u64 angle = static_cast<u64>((static_cast<u128>(leading) * 0xc90fdaa22168c235ull) >> 64);
  // Two parts that fit a double exactly.
  const double unit = bit_cast<double>(static_cast<u64>(1023 - 63 - zeros) << 52);
  const double signed_unit = above ? -unit : unit;
  return {quadrant, static_cast<double>(angle & ~0x7ffull) * signed_unit,
          static_cast<double>(angle & 0x7ffull) * signed_unit};
}

// Horner's rule without fused multiply-adds.
template <int n>
inline double plain_horner(double x, const double (&c)[n]) {
  double y = c[n - 1];
  for (int i = n - 2; i >= 0; --i) y = y * x + c[i];
  return y;
}

// sin(|x| + quarters · π/2) for |x| >= 1; NaN for an infinite x and for NaN. The polynomials are Taylor's: the first
// term left out is below 2^-58, and speed does not matter here.
__attribute__((noinline)) inline double trig_huge(double x, u64 quarters) {
  constexpr double kSin[] = {-1.0 / 6.0,        1.0 / 120.0,        -1.0 / 5040.0,          1.0 / 362880.0,
                             -1.0 / 39916800.0, 1.0 / 6227020800.0, -1.0 / 1307674368000.0, 1.0 / 355687428096000.0};
  constexpr double kCos[] = {1.0 / 24.0,         -1.0 / 720.0,        1.0 / 40320.0,         -1.0 / 3628800.0,
                             1.0 / 479001600.0, -1.0 / 87178291200.0, 1.0 / 20922789888000.0};
  if (!(absolute(x) < kInfinity<double>)) return x - x;
  const HugeAngle r = reduce_huge(x);
  const u64 quadrant = r.quadrant + quarters;
  const double z = r.high * r.high;
  double y;
  if ((quadrant & 1u) == 0) {
    y = r.high + (r.high * z * plain_horner(z, kSin) + r.low * (1.0 - 0.5 * z));
  } else {
    // 1 - z/2 rounds; what that loses is added to the small terms.
    const double half = 0.5 * z;
    const double main = 1.0 - half;
    y = main + (((1.0 - main) - half) + (z * z * plain_horner(z, kCos) - r.high * r.low));
  }
  return (quadrant & 2u) != 0 ? -y : y;
}

inline double sin_huge(double x) { return x < 0.0 ? -trig_huge(x, 0) : trig_huge(x, 0); }

inline double cos_huge(double x) { return trig_huge(x, 1); }

}  // namespace vm
}  // namespace skein
