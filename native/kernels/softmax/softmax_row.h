// Shared by softmax and cross entropy, for one row: its maximum, and the sum of exponentials below it.
//
// A row that holds NaN or +inf, or nothing but -inf, ends up as NaN: the difference to its maximum is one.
#pragma once

#include "support/lanes.h"
#include "support/vecmath.h"

namespace skein {

// exp(x) for x <= 0 (a rounding error above is fine). Results below the normal numbers become 0: next to a largest
// term of 1 they count for nothing, and computing with subnormal numbers is some 100 times slower.
SKEIN_INLINE float exp_nonpositive(float x) {
  u32 shifted;
  const float core = vm::exp_core(vm::exp_reduce(x < -87.0f ? -87.0f : x, shifted));
  const float scale = vm::bit_cast<float>((shifted - vm::bit_cast<u32>(vm::kRound32) + 127u) << 23);
  return x < -87.0f ? 0.0f : (1.0f + core) * scale;
}

SKEIN_INLINE double exp_nonpositive(double x) {
  u64 shifted;
  const double core = vm::exp_core(vm::exp_reduce(x < -708.0 ? -708.0 : x, shifted));
  const double scale = vm::bit_cast<double>((shifted - vm::bit_cast<u64>(vm::kRound64) + 1023u) << 52);
  return x < -708.0 ? 0.0 : (1.0 + core) * scale;
}

template <class T>
inline Lanes<T> exp_lanes(const Lanes<T>& a) {
  return map(a, [](T v) { return exp_nonpositive(v); });
}

template <class T>
inline T row_max(const T* x, i64 cols) {
  auto top = Lanes<T>::set(-vm::kInfinity<T>);
  for_lanes<T>(cols, [&](i64 i, auto lanes) {
    top = maximum(Lanes<T>::load(x + i, lanes, -vm::kInfinity<T>), top);  // skips NaN, which the sum will meet
  });
  return max(top);
}

template <class T>
inline T row_sum_exp(const T* x, T top, i64 cols) {
  const auto shift = Lanes<T>::set(top);
  auto total = Lanes<T>::set(T(0));
  for_lanes<T>(cols, [&](i64 i, auto lanes) {
    total = total + exp_lanes(Lanes<T>::load(x + i, lanes, -vm::kInfinity<T>) - shift);
  });
  return sum(total);
}

}  // namespace skein
