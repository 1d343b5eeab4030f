// Scores of rows against rows, for one thread: the right side is packed in panels of two vectors of columns, as in the matrix
// product, and results are register tiles.
//
// Every score is one chain over rising columns p, in every tile: fma(q, n, x) for dot, fma(q - n, q - n, x) for
// l2 and squared l2, |q - n| + x for l1; with biases the last column's term is x - (q + n). pair_scores.cpp runs the same chain
// for one pair, so that a score met in a tile and the score of the same pair alone have the same bits. Dot products use the
// tiles of gemm_micro.h, moduli those of score_modulus.h.
#pragma once

#include "gemm/gemm_block.h"
#include "support/op_codes.h"
#include "support/vecmath.h"

namespace skein {
namespace score_detail {

using gemm_detail::ceil_div;
using gemm_detail::Simd;

// A right factor [k, n]: panel i has the columns from i * kWide on, as [k][padded(i)], zeros beyond n.
template <class T>
struct Panels {
  static constexpr i64 kWide = 2 * Simd<T>::width;
  T* data;
  i64 k, n;

  static i64 size(i64 k, i64 n) { return ceil_div(n, kWide) * kWide * k; }
  i64 count() const { return ceil_div(n, kWide); }
  int columns(i64 panel) const { return static_cast<int>(std::min(kWide, n - panel * kWide)); }
  int padded(i64 panel) const { return columns(panel) > Simd<T>::width ? kWide : Simd<T>::width; }
  T* at(i64 panel) const { return data + panel * kWide * k; }
};

// Rows ids[j] (or rows j where ids is null) of [*, d] as a factor [n, d].
template <class T>
void gather_panels(const T* rows, const i32* ids, const Panels<T>& out) {
  constexpr i64 kAhead = 4;
  const i64 d = out.n, last = out.count() - 1;
  const int columns = out.columns(last), padded = out.padded(last);
  for (i64 j = 0; j < out.k; ++j) {
    const T* row = rows + (ids ? ids[j] : j) * d;
    if (ids && j + kAhead < out.k) {
      const T* next = rows + ids[j + kAhead] * d;
      for (i64 p = 0; p < d; p += 64 / sizeof(T)) __builtin_prefetch(next + p);
    }
    for (i64 panel = 0; panel < last; ++panel) {
      std::memcpy(out.at(panel) + j * out.kWide, row + panel * out.kWide, out.kWide * sizeof(T));
    }
    T* tail = out.at(last) + j * padded;
    std::memcpy(tail, row + last * out.kWide, columns * sizeof(T));
    for (int c = columns; c < padded; ++c) tail[c] = T(0);
  }
}

// A factor [n, d] as its transpose [d, n].
template <class T>
void transpose_panels(const Panels<T>& in, const Panels<T>& out) {
  for (i64 q = 0; q < out.count(); ++q) {
    const int columns = out.columns(q), padded = out.padded(q);
    for (i64 p = 0; p < in.count(); ++p) {
      const int ld = in.padded(p);
      gemm_detail::pack_b_transposed(in.at(p) + q * out.kWide * ld, ld, in.columns(p), columns, padded,
                                     out.at(q) + p * in.kWide * padded);
    }
  }
}

// m rows in bands of nearly equal height, at most one tile each.
struct Cut {
  i64 count, low, extra;
  Cut(i64 m, i64 highest) : count(ceil_div(m, highest)), low(count ? m / count : 0), extra(count ? m % count : 0) {}
  int height(i64 band) const { return static_cast<int>(low + (band < extra)); }
};

// Depth of one step of a product: a panel of that depth stays close to the core.
constexpr i64 kStep = 512;

// c[m, b.n] = (add ? c : 0) + a · b. Row r of a starts at a + r * lda; transposed: a is [k][lda], its row r at a + r.
template <class T>
void multiply(const T* a, i64 lda, bool transposed, const Panels<T>& b, T* c, i64 ldc, i64 m, bool add) {
  constexpr int W = Simd<T>::width;
  const Cut cut(m, gemm_detail::kRowsWide);
  const i64 steps = std::max<i64>(1, ceil_div(b.k, kStep)), panels = b.count();
  for (i64 s = 0; s < steps; ++s) {
    const i64 k0 = b.k * s / steps, k = b.k * (s + 1) / steps - k0;
    const gemm_detail::Ends<T> ends{nullptr, add || s > 0, false};
    const auto run = [&](i64 row, int height, i64 panel) {
      const int padded = b.padded(panel), tail = W - (padded - b.columns(panel));
      const T* from = transposed ? a + k0 * lda + row : a + row * lda + k0;
      const T* factor = b.at(panel) + k0 * padded;
      gemm_detail::pick_tile<T>(height, padded / W, transposed)(k, from, lda, factor, padded,
                                                                c + row * ldc + panel * b.kWide, ldc, ends, tail,
                                                                {transposed ? from : from + height * lda, factor, 0});
    };
    if (transposed) {  // a's columns are far apart: all panels while they are close
      i64 row = 0;
      for (i64 band = 0; band < cut.count; row += cut.height(band), ++band) {
        for (i64 panel = 0; panel < panels; ++panel) {
          // The next band's columns, a share of them for each panel.
          const T* next = a + k0 * lda + row + 2 * cut.low;
          for (i64 q = k * panel / panels; q < k * (panel + 1) / panels; ++q) __builtin_prefetch(next + q * lda);
          run(row, cut.height(band), panel);
        }
      }
    } else {
      for (i64 panel = 0; panel < panels; ++panel) {
        i64 row = 0;
        for (i64 band = 0; band < cut.count; row += cut.height(band), ++band) run(row, cut.height(band), panel);
      }
    }
  }
}

template <class V>
inline V absolute(V x) {
  return x > -x ? x : -x;
}

// The terms of a distance: squared or absolute differences; `biased` has squares, and biases in the last column.
enum class Terms { squares, absolutes, biased };

template <class T, Terms Kind>
struct Distance {
  using V = typename Simd<T>::V;
  static V add(V q, V n, V x) {
    const V t = q - n;
    return Kind == Terms::absolutes ? absolute(t) + x : Simd<T>::fma(t, t, x);
  }
  static V add_last(V q, V n, V x) { return Kind == Terms::biased ? x - (q + n) : add(q, n, x); }
};

// R rows against the columns of one panel: sums that start at 0, to which `sweep` adds all terms.
template <class T, int R, int C, class Sweep>
inline __attribute__((always_inline)) void sum_tile(T* c, i64 ldc, int tail, Sweep sweep) {
  using S = Simd<T>;
  typename S::V x[R][C];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
    for (int j = 0; j < C; ++j) x[r][j] = S::zero();
  }
  sweep(x);
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
    for (int j = 0; j < C; ++j) {
      T* p = c + r * ldc + j * S::width;
      if (j + 1 < C || tail == S::width) S::store(p, x[r][j]);
      else S::store(p, x[r][j], tail);
    }
  }
}

// Tiles of four rows, then of single ones: tile.template run<R>(row) for R rows from `row` on.
template <class Tile>
inline void for_row_tiles(i64 m, const Tile& tile) {
  constexpr int R = 4;
  i64 r = 0;
  for (; r + R <= m; r += R) tile.template run<R>(r);
  for (; r < m; ++r) tile.template run<1>(r);
}

// Rows of a against one panel b [k, columns]; row r of the sums is at c + r * ldc.
template <class T>
struct PanelRows {
  const T* a;
  i64 lda;
  const T* b;
  i64 k;
  T* c;
  i64 ldc;
  int tail;
};

// The sums of squared or absolute differences, with biases if the terms have them.
template <class T, Terms Kind, int C>
struct DistanceTile : PanelRows<T> {
  template <int R>
  void run(i64 row) const {
    using S = Simd<T>;
    using V = typename S::V;
    const T *a = this->a + row * this->lda, *b = this->b;
    const i64 lda = this->lda, k = this->k;
    sum_tile<T, R, C>(this->c + row * this->ldc, this->ldc, this->tail, [&](V(&x)[R][C]) {
      const auto step = [&](i64 p, auto add) {
#pragma GCC unroll 8
        for (int r = 0; r < R; ++r) {
          const V q = S::set(a[r * lda + p]);
#pragma GCC unroll 2
          for (int j = 0; j < C; ++j) x[r][j] = add(q, S::load(b + j * S::width), x[r][j]);
        }
        b += C * S::width;
      };
      for (i64 p = 0; p + 1 < k; ++p) step(p, [](V q, V n, V s) { return Distance<T, Kind>::add(q, n, s); });
      if (k > 0) step(k - 1, [](V q, V n, V s) { return Distance<T, Kind>::add_last(q, n, s); });
    });
  }
};

}  // namespace score_detail
}  // namespace skein
