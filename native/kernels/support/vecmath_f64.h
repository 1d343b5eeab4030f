// The double half of vecmath (see vecmath.h): about 1 to 3 ulp. erf and normal call the C library.
#pragma once

#include "support/vecmath_base.h"

namespace skein {
namespace vm {

SKEIN_INLINE double exp_core(double r) {
  const double p = horner(r, 0.5, 0x1.5555555555500p-3, 0x1.55555555531c5p-5, 0x1.1111111128d72p-7,
                          0x1.6c16c17cda579p-10, 0x1.a01a011a7f9a4p-13, 0x1.a019aaddc3da2p-16,
                          0x1.71df591d43f13p-19, 0x1.289fe032f05e3p-22, 0x1.ad190c292eee7p-26);
  return mad(r * r, p, r);
}

SKEIN_INLINE double exp_reduce(double x, u64& shifted) {
  const double t = mad(x, 0x1.71547652b82fep+0, kRound64);
  const double k = t - kRound64;
  shifted = bit_cast<u64>(t);
  return mad(k, -0x1.ef35793c76730p-45, mad(k, -0x1.62e42fefa3800p-1, x));
}

SKEIN_INLINE double exp(double x) {
  const double low = x < -746.0 ? -746.0 : x;
  u64 shifted;
  const double r = exp_reduce(low > 710.0 ? 710.0 : low, shifted);
  const u64 k = shifted - bit_cast<u64>(kRound64) + 2048u;
  const u64 half = k >> 1;
  const double scale1 = bit_cast<double>((half - 1024u + 1023u) << 52);
  const double scale2 = bit_cast<double>((k - half - 1024u + 1023u) << 52);
  return (1.0 + exp_core(r)) * scale1 * scale2;
}

SKEIN_INLINE double log(double x) {
  constexpr u64 kRootHalf = 0x3fe6a09e667f3bcdull;
  const bool subnormal = x < 0x1p-1022;
  const double scaled = subnormal ? x * 0x1p54 : x;
  // The exponent turns into a double by way of the low bits of 2^52: AVX2 has no 64-bit conversion.
  const u64 bits = bit_cast<u64>(scaled) + (0x3ff0000000000000ull - kRootHalf);
  const double biased = bit_cast<double>((bits >> 52) | 0x4330000000000000ull) - 0x1p52;
  const double k = biased - (subnormal ? 1077.0 : 1023.0);
  const double f = bit_cast<double>((bits & 0xfffffffffffffull) + kRootHalf) - 1.0;
  const double s = f / (2.0 + f);
  const double z = s * s;
  const double p = z * horner(z, 0x1.5555555555592p-1, 0x1.999999997ff9fp-2, 0x1.24924941d6a6bp-2,
                              0x1.c71c521e6e8aap-3, 0x1.74663aac8b262p-3, 0x1.39a225e06ce3bp-3,
                              0x1.2f013f54d3ccdp-3);
  const double half_square = 0.5 * f * f;
  // log(1 + f) = f - (f²/2 - s (f²/2 + p)); small terms first.
  const double small = mad(s, half_square + p, k * 0x1.ef35793c76730p-45);
  double y = k * 0x1.62e42fefa3800p-1 - ((half_square - small) - f);
  y = x < kInfinity<double> ? y : x;
  y = x < 0.0 ? kNaN<double> : y;
  return x == 0.0 ? -kInfinity<double> : y;
}

SKEIN_INLINE double log1p_unit(double u) {
  const double s = u / (2.0 + u);
  const double z = s * s;
  const double p = horner(z, 0x1.5555555555556p-1, 0x1.999999999965ap-2, 0x1.24924924ba162p-2,
                          0x1.c71c71a9d5b6dp-3, 0x1.745d1d6914427p-3, 0x1.3b12e49989b95p-3, 0x1.11225af708a78p-3,
                          0x1.dff58eae427bdp-4, 0x1.c0f5db7eb3540p-4, 0x1.2039fab883fdap-4, 0x1.4fdfde2dc1b9ap-3);
  return mad(s * z, p, s + s);
}

SKEIN_INLINE double tanh(double x) {
  const double a = absolute(x);
  u64 shifted;
  const double r = exp_reduce(2.0 * (a > 22.0 ? 22.0 : a), shifted);
  const double scale = bit_cast<double>((shifted - bit_cast<u64>(kRound64) + 1023u) << 52);
  const double t = mad(scale, exp_core(r), scale - 1.0);
  return copy_sign(t / (t + 2.0), x);
}

SKEIN_INLINE double expm1_negative(double x) {
  u64 shifted;
  const double r = exp_reduce(x < -40.0 ? -40.0 : x, shifted);
  const double scale = bit_cast<double>((shifted - bit_cast<u64>(kRound64) + 1023u) << 52);
  return mad(scale, exp_core(r), scale - 1.0);
}

inline double erf(double x) { return std::erf(x); }

inline void normal(double x, double& cumulative, double& density) {
  cumulative = 0.5 * std::erfc(x * -0x1.6a09e667f3bcdp-1);
  density = exp(-0.5 * x * x) * 0x1.9884533d43651p-2;
}

constexpr double kTrigLimit64 = 0x1p46;

// π/2 in four parts of 22, 22, 22 and 53 bits; k in two, k1 a multiple of 2^24 (0 for |x| < 2^23): every product but
// the last ones is exact, and so is every difference until the result is small.
SKEIN_INLINE double trig_core(double a, u64 quarters) {
  constexpr double kPart1 = -0x1.921fb0p+0, kPart2 = -0x1.5110b0p-22, kPart3 = -0x1.184698p-44;
  constexpr double kPart4 = -0x1.3198a2e037073p-69;
  const double x = a <= kTrigLimit64 ? a : kNaN<double>;
  const double k1 = (mad(x, kTwoOverPi * 0x1p-24, kRound64) - kRound64) * 0x1p24;
  double r = mad(k1, kPart2, mad(k1, kPart1, x));
  const double shifted = mad(mad(k1, kPart3, r), kTwoOverPi, kRound64);
  const double k2 = shifted - kRound64;
  r = mad(k2, kPart2, mad(k2, kPart1, r));
  r = mad(k2, kPart3, mad(k1, kPart3, r));
  r = mad(k1 + k2, kPart4, r);
  const double z = r * r;
  const double s = mad(r * z, horner(z, -0x1.5555555555549p-3, 0x1.111111110f893p-7, -0x1.a01a019c12512p-13,
                                     0x1.71de3576f8ca9p-19, -0x1.ae5e64d947f1ap-26, 0x1.5d926aa519f21p-33), r);
  const double c = mad(z * z, horner(z, 0x1.555555555554cp-5, -0x1.6c16c16c15211p-10, 0x1.a01a019cbd01dp-16,
                                     -0x1.27e4f810686b8p-22, 0x1.1ee9ef6b85ee7p-29, -0x1.8fb00e1c4250fp-37),
                       mad(z, -0.5, 1.0));
  const u64 quadrant = bit_cast<u64>(shifted) + quarters;
  const double y = (quadrant & 1u) != 0 ? c : s;
  return bit_cast<double>(bit_cast<u64>(y) ^ ((quadrant & 2u) << 62));
}

SKEIN_INLINE double sin(double x) {
  return bit_cast<double>(bit_cast<u64>(trig_core(absolute(x), 0)) ^ (bit_cast<u64>(x) & 0x8000000000000000ull));
}

SKEIN_INLINE double cos(double x) { return trig_core(absolute(x), 1); }

}  // namespace vm
}  // namespace skein
