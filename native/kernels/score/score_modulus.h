// Sums of moduli of complex differences, for one thread. A row has real components first, then as many imaginary ones; the
// last column of an odd width is ignored.
//
// The root is computed from products and sums alone: square roots and divisions of vectors take many times as long, and
// approximate instructions differ between processors. Every operation has one rounding, so that results have the same bits
// at all levels with fused multiply-adds.
#pragma once

#include "score/score_tiles.h"

namespace skein {
namespace score_detail {

// Single numbers under the names of vectors.
template <class T>
struct Single {
  using V = T;
  static V fma(V a, V b, V c) { return vm::mad(a, b, c); }
  static V set(T x) { return x; }
};

constexpr i32 kHalfExponent32 = 0x5f374686;
constexpr i64 kHalfExponent64 = 0x5fe6e8d0c0000000;

inline float half_exponent(float x) { return vm::bit_cast<float>(kHalfExponent32 - (vm::bit_cast<i32>(x) >> 1)); }
inline double half_exponent(double x) { return vm::bit_cast<double>(kHalfExponent64 - (vm::bit_cast<i64>(x) >> 1)); }
template <class V>
inline V half_exponent(V x) {
  using Bits = decltype(x < x);
  if constexpr (sizeof(x[0]) == 4) return vm::bit_cast<V>(kHalfExponent32 - (vm::bit_cast<Bits>(x) >> 1));
  else return vm::bit_cast<V>(kHalfExponent64 - (vm::bit_cast<Bits>(x) >> 1));
}

// √m and 1/√m for m > 0; for m = 0 the root is 0 and its inverse finite.
//
// Half the negated exponent is an inverse root y with |e| < 0.069 for e = m y² - 1. (1 + e)^-½ = 1 + e p(e) with a cubic p is right
// to 2.4e-8 there; doubles take another step of third order.
template <class T, class S>
struct Root {
  using V = typename S::V;
  V m, y, root, e, factor;

  inline __attribute__((always_inline)) explicit Root(V m) : m(m), y(half_exponent(m)), root(m * y) {
    e = S::fma(root, y, S::set(T(-1)));
    factor = S::fma(S::set(T(0.27498594067158044)), e, S::set(T(-0.3139351644219128)));
    factor = S::fma(factor, e, S::set(T(0.3749975928561777)));
    factor = S::fma(factor, e, S::set(T(-0.4999983377139371)));
  }
  inline __attribute__((always_inline)) V inverse() const {
    const V once = S::fma(y * e, factor, y);
    if constexpr (sizeof(T) == 4) return once;
    const V rest = S::fma(m * once, once, S::set(T(-1)));
    return S::fma(once * rest, S::fma(rest, S::set(T(0.375)), S::set(T(-0.5))), once);
  }
  inline __attribute__((always_inline)) V value() const {
    if constexpr (sizeof(T) == 4) return S::fma(root * e, factor, root);
    else return m * inverse();
  }
};

template <class T, class S>
inline __attribute__((always_inline)) typename S::V squared_modulus(typename S::V re, typename S::V im) {
  return S::fma(im, im, re * re);
}

template <class T, class S>
inline __attribute__((always_inline)) typename S::V modulus(typename S::V re, typename S::V im) {
  return Root<T, S>(squared_modulus<T, S>(re, im)).value();
}

template <class T, class S>
inline __attribute__((always_inline)) typename S::V inverse_modulus(typename S::V re, typename S::V im) {
  return Root<T, S>(squared_modulus<T, S>(re, im)).inverse();
}

// The sums of moduli, over rising components.
template <class T, int C>
struct ModulusTile : PanelRows<T> {
  template <int R>
  void run(i64 row) const {
    using S = Simd<T>;
    using V = typename S::V;
    const i64 lda = this->lda, half = this->k / 2;
    const T *a = this->a + row * lda, *real = this->b, *imaginary = real + half * C * S::width;
    sum_tile<T, R, C>(this->c + row * this->ldc, this->ldc, this->tail, [&](V(&x)[R][C]) {
      for (i64 p = 0; p < half; ++p, real += C * S::width, imaginary += C * S::width) {
#pragma GCC unroll 8
        for (int r = 0; r < R; ++r) {
          const V re = S::set(a[r * lda + p]), im = S::set(a[r * lda + half + p]);
#pragma GCC unroll 2
          for (int j = 0; j < C; ++j) {
            x[r][j] = x[r][j] + modulus<T, S>(re - S::load(real + j * S::width), im - S::load(imaginary + j * S::width));
          }
        }
      }
    });
  }
};

// The sum for one pair, with the bits it has in a tile.
template <class T>
inline T modulus_pair(const T* a, const T* b, i64 d) {
  const i64 half = d / 2;
  T x = T(0);
  for (i64 p = 0; p < half; ++p) x = x + modulus<T, Single<T>>(a[p] - b[p], a[half + p] - b[half + p]);
  return x;
}

// Complex rows by blocks of one vector: block i has the real and the imaginary components from i * W on of every row, zeros
// beyond the width. A vector of components has one gradient per pair of rows, without sums across lanes.
template <class T>
struct ComplexBlocks {
  static constexpr i64 W = Simd<T>::width;
  T* data;
  i64 rows, half;

  static i64 size(i64 rows, i64 half) { return ceil_div(half, W) * rows * 2 * W; }
  i64 count() const { return ceil_div(half, W); }
  int columns(i64 block) const { return static_cast<int>(std::min(W, half - block * W)); }
  T* at(i64 block, i64 row) const { return data + (block * rows + row) * 2 * W; }
};

// Rows ids[j] (or rows j where ids is null) of [*, d].
template <class T>
void gather_blocks(const T* rows, const i32* ids, i64 d, const ComplexBlocks<T>& out) {
  for (i64 j = 0; j < out.rows; ++j) {
    const T* row = rows + (ids ? ids[j] : j) * d;
    for (i64 block = 0; block < out.count(); ++block) {
      const int columns = out.columns(block);
      T* to = out.at(block, j);
      std::fill(to, to + 2 * out.W, T(0));
      std::copy(row + block * out.W, row + block * out.W + columns, to);
      std::copy(row + out.half + block * out.W, row + out.half + block * out.W + columns, to + out.W);
    }
  }
}

// out[rows, d] += sign * in.
template <class T>
void add_blocks(const ComplexBlocks<T>& in, T sign, T* out, i64 d) {
  for (i64 j = 0; j < in.rows; ++j) {
    for (i64 block = 0; block < in.count(); ++block) {
      const T* from = in.at(block, j);
      T *re = out + j * d + block * in.W, *im = re + in.half;
      for (int c = 0; c < in.columns(block); ++c) re[c] += sign * from[c];
      for (int c = 0; c < in.columns(block); ++c) im[c] += sign * from[in.W + c];
    }
  }
}

// One block of R queries against all rows: gq += Σ_j w (q - n), gn += Σ_i w (q - n) with w = gy / |q - n|; rows of gy are n apart.
template <class T, int R>
void modulus_gradients(const T* gy, i64 n, const T* query, const T* rows, T* gq, T* gn) {
  using S = Simd<T>;
  using V = typename S::V;
  constexpr i64 W = S::width;
  V re[R], im[R], g_re[R], g_im[R];
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) {
    re[r] = S::load(query + 2 * r * W), im[r] = S::load(query + (2 * r + 1) * W);
    g_re[r] = S::load(gq + 2 * r * W), g_im[r] = S::load(gq + (2 * r + 1) * W);
  }
  for (i64 j = 0; j < n; ++j) {
    const V row_re = S::load(rows + 2 * j * W), row_im = S::load(rows + (2 * j + 1) * W);
    V sum_re = S::load(gn + 2 * j * W), sum_im = S::load(gn + (2 * j + 1) * W);
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      const V x = re[r] - row_re, y = im[r] - row_im;
      const V w = S::set(gy[r * n + j]) * inverse_modulus<T, S>(x, y);
      g_re[r] = S::fma(w, x, g_re[r]), g_im[r] = S::fma(w, y, g_im[r]);
      sum_re = S::fma(w, x, sum_re), sum_im = S::fma(w, y, sum_im);
    }
    S::store(gn + 2 * j * W, sum_re), S::store(gn + (2 * j + 1) * W, sum_im);
  }
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) S::store(gq + 2 * r * W, g_re[r]), S::store(gq + (2 * r + 1) * W, g_im[r]);
}

// All blocks of m queries against all rows.
template <class T>
void modulus_backward(const T* gy, i64 n, const ComplexBlocks<T>& query, const ComplexBlocks<T>& rows,
                      const ComplexBlocks<T>& gq, const ComplexBlocks<T>& gn) {
#if defined(__AVX512F__) || defined(SKEIN_NEON)
  constexpr int R = 4;
#else
  constexpr int R = 2;  // of 16 registers
#endif
  for (i64 block = 0; block < query.count(); ++block) {
    i64 r = 0;
    const auto run = [&](auto tile) { tile(gy + r * n, n, query.at(block, r), rows.at(block, 0), gq.at(block, r), gn.at(block, 0)); };
    for (; r + R <= query.rows; r += R) run(modulus_gradients<T, R>);
    for (; r < query.rows; ++r) run(modulus_gradients<T, 1>);
  }
}

}  // namespace score_detail
}  // namespace skein
