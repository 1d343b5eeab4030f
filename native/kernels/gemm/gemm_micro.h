// The register tile: R rows by C vectors of c, kept in registers over one block of k.
//
// Every element of c is one chain  x = fma(a[i,p], b[p,j], x)  with p rising, for all R, C and layouts of a. That
// is the whole reason why a row's bits do not depend on how rows were grouped; do not add a second accumulator.
//
// a is read by broadcast, either along rows (row stride `lda`, k contiguous) or from a panel packed as [k][lda].
// b is read by vectors at stride `ldb`. Twelve or more chains in flight hide the latency of the fused multiply-add;
// the tile uses 2 + 28 of 32 AVX-512 registers, or 2 + 12 of 16 AVX2 registers. NEON has 32, but its broadcast is not an
// operand of the multiply-add and takes one: with more than 2 + 16 the compiler spills.
#pragma once

#include <array>
#include <utility>

#include "gemm/gemm_simd.h"

namespace skein {
namespace gemm_detail {

#if defined(__AVX512F__)
constexpr int kRowsWide = 14;    // rows of a tile two vectors wide
constexpr int kRowsNarrow = 14;  // rows of a tile one vector wide
#elif defined(SKEIN_NEON)
constexpr int kRowsWide = 8;
constexpr int kRowsNarrow = 12;
#else
constexpr int kRowsWide = 6;
constexpr int kRowsNarrow = 12;
#endif

// Prefetched for later tiles while this one computes: `near` is the next rows of a, for the first-level
// cache; `far` goes to the second level at a pace of `pace` elements for two steps of k.
template <class T>
struct Ahead {
  const T *near, *far;
  i64 pace;
};

// A second product whose terms follow those of the first in every chain.
template <class T>
struct Second {
  i64 k;
  const T* a;
  i64 lda;
  const T* b;
  i64 ldb;
  Ahead<T> next;
};

// How a tile begins and ends: its chains start at bias (or zero if null), plus c if `load`; `stream` writes c past
// the caches, for a c that would not stay in them anyway; `relu` writes no negative numbers;
// `second`, for rows only, is a product whose terms follow.
template <class T>
struct Ends {
  const T* bias;
  bool load, stream;
  bool relu = false;
  const Second<T>* second = nullptr;
};

template <class T, int R>
inline __attribute__((always_inline)) void fetch(Ahead<T>& next) {
  constexpr int elements = 64 / sizeof(T);
#pragma GCC unroll 4
  for (int line = 0; line < 2 * R; line += elements) __builtin_prefetch(next.near + line, 0, 3);
  __builtin_prefetch(next.far, 0, 2);
  next.near += 2 * R;
  next.far += next.pace;
}

// One step of k for a tile; `row(r)` gives the address of a's element in row r.
template <class T, int R, int C, class Row>
inline __attribute__((always_inline)) void step(typename Simd<T>::V (&x)[R][C], const T* b, Row row) {
  using S = Simd<T>;
  typename S::V v[C];
#pragma GCC unroll 2
  for (int j = 0; j < C; ++j) v[j] = S::load(b + j * S::width);
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
    const typename S::V s = S::set(*row(r));
#pragma GCC unroll 2
    for (int j = 0; j < C; ++j) x[r][j] = S::fma(s, v[j], x[r][j]);
  }
}

// All k steps with a along rows. Three rows share one pointer (p, p + lda, p + 2 lda are all x86 addresses); the
// empty asm keeps the compiler from making a pointer of each row, for which there are not enough registers.
template <class T, int R, int C>
inline __attribute__((always_inline)) void sweep_rows(typename Simd<T>::V (&x)[R][C], i64 k, const T* a, i64 lda,
                                                      const T* b, i64 ldb, Ahead<T> next) {
  constexpr int G = (R + 2) / 3;
  const T* p[G];
#pragma GCC unroll 8
  for (int g = 0; g < G; ++g) p[g] = a + 3 * g * lda;
  i64 q = 0;
  for (; q + 2 <= k; q += 2) {
#pragma GCC unroll 8
    for (int g = 0; g < G; ++g) asm("" : "+r"(p[g]));
    step<T, R, C>(x, b, [&](int r) { return p[r / 3] + (r % 3) * lda; });
    step<T, R, C>(x, b + ldb, [&](int r) { return p[r / 3] + (r % 3) * lda + 1; });
    b += 2 * ldb;
    fetch<T, R>(next);
#pragma GCC unroll 8
    for (int g = 0; g < G; ++g) p[g] += 2;
  }
  if (q < k) step<T, R, C>(x, b, [&](int r) { return p[r / 3] + (r % 3) * lda; });
}

// All k steps with a packed as [k][lda].
template <class T, int R, int C>
inline __attribute__((always_inline)) void sweep_panel(typename Simd<T>::V (&x)[R][C], i64 k, const T* a, i64 lda,
                                                       const T* b, i64 ldb, Ahead<T> next) {
  i64 q = 0;
  for (; q + 2 <= k; q += 2, a += 2 * lda, b += 2 * ldb) {
    step<T, R, C>(x, b, [&](int r) { return a + r; });
    step<T, R, C>(x, b + ldb, [&](int r) { return a + lda + r; });
    fetch<T, R>(next);
  }
  if (q < k) step<T, R, C>(x, b, [&](int r) { return a + r; });
}

template <class T>
using TileFn = void (*)(i64, const T*, i64, const T*, i64, T*, i64, Ends<T>, int, Ahead<T>);

// The tile of `rows` rows, from 1 up to the highest for its width. The tiles themselves are compiled once for each type
// (gemm_tiles_f32.cpp, gemm_tiles_f64.cpp): there are more than a hundred, and many kernels use them.
template <class T>
TileFn<T> pick_tile(int rows, int vectors, bool panel);

}  // namespace gemm_detail
}  // namespace skein
