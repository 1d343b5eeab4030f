// The body of the register tiles that gemm_micro.h describes, and the tables of them. Included by the two files that
// compile the tiles, one for each type, and by nothing else.
#pragma once

#include <array>
#include <utility>

#include "gemm/gemm_micro.h"

namespace skein {
namespace gemm_detail {

// `tail` is the number of columns of the last vector that exist in c.
template <class T, int R, int C, bool Panel>
void tile(i64 k, const T* a, i64 lda, const T* b, i64 ldb, T* c, i64 ldc, Ends<T> ends, int tail,
          Ahead<T> next) {
  using S = Simd<T>;
  constexpr int W = S::width;
  typename S::V x[R][C], first[C];
#pragma GCC unroll 2
  for (int j = 0; j < C; ++j) {
    first[j] = S::zero();
    if (ends.bias) first[j] = j + 1 < C ? S::load(ends.bias + j * W) : S::load(ends.bias + j * W, tail);
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
    for (int j = 0; j < C; ++j) x[r][j] = first[j];
  }
  if (ends.load) {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
      for (int j = 0; j < C; ++j) {
        const T* p = c + r * ldc + j * W;
        const typename S::V old = j + 1 < C ? S::load(p) : S::load(p, tail);
        x[r][j] = ends.bias ? S::add(old, x[r][j]) : old;
      }
    }
  }
  if (Panel) {
    sweep_panel<T, R, C>(x, k, a, lda, b, ldb, next);
  } else {
    for (const Second<T>* second = ends.second;;) {
      sweep_rows<T, R, C>(x, k, a, lda, b, ldb, next);
      if (!second) break;
      k = second->k, a = second->a, lda = second->lda, b = second->b, ldb = second->ldb, next = second->next;
      second = nullptr;
    }
  }
  if (ends.relu) {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
      for (int j = 0; j < C; ++j) x[r][j] = S::relu(x[r][j]);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
    for (int j = 0; j < C; ++j) {
      T* p = c + r * ldc + j * W;
      if (ends.stream) {
        S::stream(p, x[r][j]);
      } else if (j + 1 < C || tail == W) {
        S::store(p, x[r][j]);
      } else {
        S::store(p, x[r][j], tail);
      }
    }
  }
}

template <class T, int C, bool Panel, int... R>
constexpr std::array<TileFn<T>, sizeof...(R)> tile_table(std::integer_sequence<int, R...>) {
  return {&tile<T, R + 1, C, Panel>...};
}

template <class T>
TileFn<T> pick_tile(int rows, int vectors, bool panel) {
  using Wide = std::make_integer_sequence<int, kRowsWide>;
  using Narrow = std::make_integer_sequence<int, kRowsNarrow>;
  static constexpr auto wide = tile_table<T, 2, false>(Wide{}), wide_panel = tile_table<T, 2, true>(Wide{});
  static constexpr auto narrow = tile_table<T, 1, false>(Narrow{}), narrow_panel = tile_table<T, 1, true>(Narrow{});
  if (vectors == 1) return (panel ? narrow_panel : narrow)[rows - 1];
  return (panel ? wide_panel : wide)[rows - 1];
}

}  // namespace gemm_detail
}  // namespace skein
