// The float half of vecmath (see vecmath.h). sin and cos reduce their argument in double.
#pragma once

#include "support/vecmath_base.h"

namespace skein {
namespace vm {

// exp(r) - 1 for |r| <= ln(2) / 2.
SKEIN_INLINE float exp_core(float r) {
  const float p = horner(r, 0.5f, 0x1.5554a2p-3f, 0x1.555682p-5f, 0x1.12306ap-7f, 0x1.6b7002p-10f);
  return mad(r * r, p, r);
}

// Splits x = k ln(2) + r; k comes back as an integer in the low bits of `shifted`.
SKEIN_INLINE float exp_reduce(float x, u32& shifted) {
  const float t = mad(x, 0x1.715476p+0f, kRound32);
  const float k = t - kRound32;
  shifted = bit_cast<u32>(t);
  return mad(k, -0x1.7f7d1cp-20f, mad(k, -0x1.62e4p-1f, x));
}

SKEIN_INLINE float exp(float x) {
  // Beyond these bounds the result is 0 or infinite anyway; written so that NaN passes.
  const float low = x < -104.0f ? -104.0f : x;
  u32 shifted;
  const float r = exp_reduce(low > 89.0f ? 89.0f : low, shifted);
  // 2^k in two factors: one alone cannot hold the k of subnormal and of the largest results.
  const u32 k = shifted - bit_cast<u32>(kRound32) + 256u;
  const u32 half = k >> 1;
  const float scale1 = bit_cast<float>((half - 128u + 127u) << 23);
  const float scale2 = bit_cast<float>((k - half - 128u + 127u) << 23);
  return (1.0f + exp_core(r)) * scale1 * scale2;
}

SKEIN_INLINE float log(float x) {
  const bool subnormal = x < 0x1p-126f;
  const float scaled = subnormal ? x * 0x1p23f : x;
  // x = 2^e m with m in [sqrt(1/2), sqrt(2)).
  const u32 bits = bit_cast<u32>(scaled) - 0x3f3504f3u;
  const i32 e = static_cast<i32>(bits) >> 23;
  const float f = bit_cast<float>((bits & 0x7fffffu) + 0x3f3504f3u) - 1.0f;
  const float k = static_cast<float>(subnormal ? e - 23 : e);
  const float p = horner(f, 0x1.555554p-2f, -0x1.000228p-2f, 0x1.99a024p-3f, -0x1.547214p-3f, 0x1.22d822p-3f,
                         -0x1.0d8526p-3f, 0x1.056932p-3f, -0x1.38dc5cp-4f);
  const float f2 = f * f;
  float y = mad(f2 * f, p, k * 0x1.7f7d1cp-20f);
  y = mad(f2, -0.5f, y);
  y = mad(k, 0x1.62e4p-1f, f + y);
  y = x < kInfinity<float> ? y : x;
  y = x < 0.0f ? kNaN<float> : y;
  return x == 0.0f ? -kInfinity<float> : y;
}

// log(1 + u) for u in [0, 1], as 2 atanh(u / (2 + u)).
SKEIN_INLINE float log1p_unit(float u) {
  const float s = u / (2.0f + u);
  const float z = s * s;
  const float p = horner(z, 0x1.555502p-1f, 0x1.99d1c6p-2f, 0x1.1ec0ecp-2f, 0x1.1ec5d6p-2f);
  return mad(s * z, p, s + s);
}

// t / (t + 2) with t = exp(2|x|) - 1, which is accurate near 0 as well.
SKEIN_INLINE float tanh(float x) {
  const float a = absolute(x);
  u32 shifted;
  const float r = exp_reduce(2.0f * (a > 10.0f ? 10.0f : a), shifted);
  const float scale = bit_cast<float>((shifted - bit_cast<u32>(kRound32) + 127u) << 23);
  const float t = mad(scale, exp_core(r), scale - 1.0f);
  return copy_sign(t / (t + 2.0f), x);
}

// exp(x) - 1 for x <= 0 (elu's half).
SKEIN_INLINE float expm1_negative(float x) {
  u32 shifted;
  const float r = exp_reduce(x < -20.0f ? -20.0f : x, shifted);
  const float scale = bit_cast<float>((shifted - bit_cast<u32>(kRound32) + 127u) << 23);
  return mad(scale, exp_core(r), scale - 1.0f);
}

SKEIN_INLINE float erf(float x) {
  const float a = absolute(x);
  const float z = x * x;
  const float near = mad(x, horner(z, 0x1.06eba8p-3f, -0x1.81273ep-2f, 0x1.ce2ce6p-4f, -0x1.b7f722p-6f,
                                   0x1.53f2c8p-8f, -0x1.a359bep-11f, 0x1.479510p-14f), x);
  // From here on log(erfc) is nearly a parabola; erf(4) rounds to 1.
  const float log_erfc = horner(a > 4.0f ? 4.0f : a, -0x1.007dc6p-12f, -0x1.20a23cp+0f, -0x1.466880p-1f,
                                -0x1.a883c2p-4f, 0x1.69e45cp-6f, -0x1.8a5a38p-9f, 0x1.9393eep-13f);
  const float far = copy_sign(1.0f - exp(log_erfc), x);
  return a < 0.98f ? near : far;
}

// Cumulative distribution and density of the standard normal. The lower tail is exp(-x²/2) times a polynomial in
// t = 1 / (1 + 0.32 |x|), so that it keeps its relative precision where 1 + erf(x) would cancel.
SKEIN_INLINE void normal(float x, float& cumulative, float& density) {
  const float magnitude = absolute(x);
  const float a = magnitude > 14.5f ? 14.5f : magnitude;
  const float square = a * a;
#ifdef SKEIN_FUSED
  const float error = __builtin_fmaf(a, a, -square);
#else
  const float error = static_cast<float>(static_cast<double>(a) * a - square);
#endif
  const float head = exp(-0.5f * square);
  const float e = mad(head, -0.5f * error, head);
  const float t = 1.0f / mad(0.32f, a, 1.0f);
  const float p = horner(t, 0x1.056f3ep-3f, 0x1.05d004p-3f, 0x1.ceaeb0p-4f, 0x1.8b1094p-4f, 0x1.00d42ep-5f,
                         0x1.754c54p-5f, -0x1.5658dcp-8f, -0x1.73bbfep-4f, 0x1.208c28p-4f, -0x1.0ae29ep-6f);
  const float tail = e * (t * p);
  cumulative = x < 0.0f ? tail : 1.0f - tail;
  density = e * 0x1.988454p-2f;
}

constexpr float kTrigLimit32 = 0x1p28f;

// sin(|x| + quarters · π/2) without the sign of x. k · (first two parts of π/2) is exact up to the limit.
SKEIN_INLINE double trig_core(float a, u64 quarters) {
  const double x = a <= kTrigLimit32 ? static_cast<double>(a) : kNaN<double>;
  const double shifted = mad(x, kTwoOverPi, kRound64);
  const double k = shifted - kRound64;
  double r = mad(k, -0x1.921fb5p+0, x);
  r = mad(k, -0x1.110b46p-26, r);
  r = mad(k, -0x1.1a62633145c07p-54, r);
  const double z = r * r;
  const double s = mad(r * z, horner(z, -0x1.555546p-3, 0x1.11077ap-7, -0x1.9954d2p-13), r);
  const double c = mad(z * z, horner(z, 0x1.55554ap-5, -0x1.6c0c1cp-10, 0x1.99e2eep-16), mad(z, -0.5, 1.0));
  const u64 quadrant = bit_cast<u64>(shifted) + quarters;
  const double y = (quadrant & 1u) != 0 ? c : s;
  return bit_cast<double>(bit_cast<u64>(y) ^ ((quadrant & 2u) << 62));
}

SKEIN_INLINE float sin(float x) {
  const float y = static_cast<float>(trig_core(absolute(x), 0));
  return bit_cast<float>(bit_cast<u32>(y) ^ (bit_cast<u32>(x) & 0x80000000u));
}

SKEIN_INLINE float cos(float x) { return static_cast<float>(trig_core(absolute(x), 1)); }

}  // namespace vm
}  // namespace skein
