// Elementary functions as branch-free inline code, so that a plain loop over them is vectorised by the compiler.
//
// For x in float and double: vm::exp, log, tanh, sigmoid, softplus, erf, sin, cos; further log1p_unit (arguments in
// [0, 1]), softplus_tail = log(1 + exp(-|x|)) and normal (cumulative and density of the standard normal, for gelu).
// Float results, measured on 70 million arguments spread over all bit patterns: exp, log, erf, sin, cos within 1.3 ulp,
// tanh, sigmoid, softplus within 2.6 ulp, the normal's lower tail within a few more; subnormals, infinities, signed
// zeros and NaN are right.
// The same bits come out at every level that has fused multiply-add; without it the last bit may differ.
// sin and cos give NaN beyond kTrigLimit32 and kTrigLimit64 (2^28, 2^46); sin_array and cos_array
// finish those elements with vecmath_huge.h.
// Coefficients are minimax fits, computed in 300-bit arithmetic and rounded one after the other.
#pragma once

#include "support/vecmath_f32.h"
#include "support/vecmath_f64.h"
#include "support/vecmath_huge.h"

namespace skein {
namespace vm {

// log(1 + exp(-|x|)): what softplus, log-sigmoid and the logistic loss have in common.
template <class T>
SKEIN_INLINE T softplus_tail(T x) {
  return log1p_unit(exp(-absolute(x)));
}

template <class T>
SKEIN_INLINE T softplus(T x) {
  return (x > T(0) ? x : T(0)) + softplus_tail(x);
}

// exp is only taken of negative numbers, so neither side of 0 overflows and tiny results keep their precision.
template <class T>
SKEIN_INLINE T sigmoid(T x) {
  const T e = exp(-absolute(x));
  return (x < T(0) ? e : T(1)) / (T(1) + e);
}

// x and y may be the same array.
template <class T, class Fast, class Exact>
inline void trig_array(const T* x, T* y, i64 n, Fast fast, Exact exact) {
  constexpr i64 kBlock = 256;
  T block[kBlock];
  for (i64 start = 0; start < n; start += kBlock) {
    const i64 size = n - start < kBlock ? n - start : kBlock;
    int bad = 0;
    for (i64 i = 0; i < size; ++i) block[i] = fast(x[start + i]);
    for (i64 i = 0; i < size; ++i) bad |= block[i] != block[i];
    if (bad) {
      for (i64 i = 0; i < size; ++i) {
        if (block[i] != block[i]) block[i] = exact(x[start + i]);
      }
    }
    for (i64 i = 0; i < size; ++i) y[start + i] = block[i];
  }
}

template <class T>
inline void sin_array(const T* x, T* y, i64 n) {
  trig_array(x, y, n, [](T v) { return sin(v); }, [](T v) { return static_cast<T>(sin_huge(v)); });
}

template <class T>
inline void cos_array(const T* x, T* y, i64 n) {
  trig_array(x, y, n, [](T v) { return cos(v); }, [](T v) { return static_cast<T>(cos_huge(v)); });
}

}  // namespace vm
}  // namespace skein
