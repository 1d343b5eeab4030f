// Basics of vecmath: bit casts, fused multiply-add where the machine has it, Horner's rule, constants.
#pragma once

#include <cmath>
#include <cstring>
#include <limits>

#include "support/common.h"
#include "support/instructions.h"

#define SKEIN_INLINE inline __attribute__((always_inline))

namespace skein {
namespace vm {

template <class To, class From>
SKEIN_INLINE To bit_cast(From from) {
  static_assert(sizeof(To) == sizeof(From), "bit_cast needs equal sizes");
  To to;
  __builtin_memcpy(&to, &from, sizeof(To));
  return to;
}

// a * b + c; rounded once where the instruction exists. The code around it never relies on the single rounding.
SKEIN_INLINE float mad(float a, float b, float c) {
#ifdef SKEIN_FUSED
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}

SKEIN_INLINE double mad(double a, double b, double c) {
#ifdef SKEIN_FUSED
  return __builtin_fma(a, b, c);
#else
  return a * b + c;
#endif
}

// c0 + c1 x + c2 x² + …
template <class T>
SKEIN_INLINE T horner(T, T c0) {
  return c0;
}

template <class T, class... Rest>
SKEIN_INLINE T horner(T x, T c0, Rest... rest) {
  return mad(horner(x, rest...), x, c0);
}

SKEIN_INLINE float absolute(float x) { return bit_cast<float>(bit_cast<u32>(x) & 0x7fffffffu); }
SKEIN_INLINE double absolute(double x) { return bit_cast<double>(bit_cast<u64>(x) & 0x7fffffffffffffffull); }

SKEIN_INLINE float copy_sign(float magnitude, float sign) {
  return bit_cast<float>(bit_cast<u32>(magnitude) | (bit_cast<u32>(sign) & 0x80000000u));
}
SKEIN_INLINE double copy_sign(double magnitude, double sign) {
  return bit_cast<double>(bit_cast<u64>(magnitude) | (bit_cast<u64>(sign) & 0x8000000000000000ull));
}

template <class T>
constexpr T kInfinity = std::numeric_limits<T>::infinity();
template <class T>
constexpr T kNaN = std::numeric_limits<T>::quiet_NaN();

constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;
// Adding 1.5 · 2^52 (2^23 for float) rounds to an integer and leaves that integer in the low bits.
constexpr double kRound64 = 0x1.8p52;
constexpr float kRound32 = 0x1.8p23f;

}  // namespace vm
}  // namespace skein
