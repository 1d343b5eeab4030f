// Reduction of consecutive rows, column by column, with vectors of 64 bytes: 16 f32 or 8 f64 lanes on every machine.
//
// Each column is reduced from the first row to the last, with one exception that depends on sizes alone: sums over
// many rows of width 1, 2, 4 or 8 use all lanes, several rows at a time.
#pragma once

#include <cstring>

#include "support/common.h"
#include "support/op_codes.h"

namespace skein {
namespace segment {

using Op = ReduceOp;

template <class T> struct Lanes;
template <> struct Lanes<float> {
  typedef float V __attribute__((vector_size(64)));
  typedef i32 I __attribute__((vector_size(64)));
  using Index = i32;
  static constexpr i64 count = 16;
};
template <> struct Lanes<double> {
  typedef double V __attribute__((vector_size(64)));
  typedef i64 I __attribute__((vector_size(64)));
  using Index = i64;
  static constexpr i64 count = 8;
};

// Rows from which narrow sums use all lanes.
constexpr i64 kFlatRows = 32;

// Vectors go by reference: how they would travel by value depends on the instruction set.
template <class T>
inline void load(typename Lanes<T>::V& v, const T* p) {
  std::memcpy(&v, p, sizeof v);
}

// `limit`: elements of x from its first row to its end. A narrow row is loaded together with what follows it; only near
// the end of the array, where that would leave the array, it is copied first.
template <class T>
struct RowReader {
  const T* x;
  i64 width;
  i64 limit;

  void read(typename Lanes<T>::V& v, i64 row, i64 column) const {
    const i64 start = row * width + column;
    if (start + Lanes<T>::count <= limit) {
      load(v, x + start);
    } else {
      v = typename Lanes<T>::V{};
      std::memcpy(&v, x + start, static_cast<std::size_t>(limit - start) * sizeof(T));
    }
  }
  // A page ahead, where the hardware's own prefetching stops; past the end of the array it does nothing.
  void fetch(i64 row, i64 column) const {
    __builtin_prefetch(reinterpret_cast<const char*>(x + row * width + column) + 4096);
  }
};

template <class T>
inline void store(T* y, const typename Lanes<T>::V& v, i64 columns) {
  if (columns >= Lanes<T>::count) std::memcpy(y, &v, sizeof v);
  else std::memcpy(y, &v, static_cast<std::size_t>(columns) * sizeof(T));
}

template <class T, int vectors>
inline void sum_columns(const RowReader<T>& in, i64 rows, i64 column, T* y, T divisor) {
  typename Lanes<T>::V sum[vectors], v;
  for (int k = 0; k < vectors; ++k) in.read(sum[k], 0, column + k * Lanes<T>::count);
  for (i64 r = 1; r < rows; ++r) {
    for (int k = 0; k < vectors; ++k) {
      in.read(v, r, column + k * Lanes<T>::count);
      in.fetch(r, column + k * Lanes<T>::count);
      sum[k] += v;
    }
  }
  for (int k = 0; k < vectors; ++k) {
    if (divisor != T(1)) sum[k] /= divisor;
    const i64 c = column + k * Lanes<T>::count;
    store(y + c, sum[k], in.width - c);
  }
}

// width is 1, 2, 4 or 8 and divides the number of lanes; lanes of the same column are added at the end.
template <class T>
inline void sum_flat(const T* x, i64 rows, i64 width, T* y, T divisor) {
  constexpr i64 lanes = Lanes<T>::count;
  const i64 n = rows * width;
  typename Lanes<T>::V sum, v;
  load(sum, x);
  i64 i = lanes;
  for (; i + lanes <= n; i += lanes) {
    load(v, x + i);
    sum += v;
  }
  T part[lanes];
  std::memcpy(part, &sum, sizeof sum);
  for (i64 k = 0; i + k < n; ++k) part[k] += x[i + k];
  for (i64 half = lanes / 2; half >= width; half /= 2)
    for (i64 k = 0; k < half; ++k) part[k] += part[k + half];
  for (i64 k = 0; k < width; ++k) y[k] = part[k] / divisor;
}

// NaN wins; among equals, and among NaNs, the first row.
template <class T, bool largest>
inline void extreme_columns(const RowReader<T>& in, i64 rows, i64 column, T* y, i32* arg, i64 first) {
  using V = typename Lanes<T>::V;
  using I = typename Lanes<T>::I;
  V best, v;
  in.read(best, 0, column);
  I index = {};
  index += static_cast<typename Lanes<T>::Index>(first);
  I row = index;
  for (i64 r = 1; r < rows; ++r) {
    in.read(v, r, column);
    row += 1;
    const I better = (largest ? v > best : v < best) | ((v != v) & (best == best));
    best = better ? v : best;
    index = better ? row : index;
  }
  store(y + column, best, in.width - column);
  if (arg == nullptr) return;
  typename Lanes<T>::Index rows_of[Lanes<T>::count];
  std::memcpy(rows_of, &index, sizeof index);
  const i64 columns = in.width - column < Lanes<T>::count ? in.width - column : Lanes<T>::count;
  for (i64 k = 0; k < columns; ++k) arg[column + k] = static_cast<i32>(rows_of[k]);
}

// Reduces rows >= 1 rows at x to y[width] and, for max and min, arg[width] (counting from `first`).
template <class T>
void reduce_rows(Op op, const T* x, i64 rows, i64 width, i64 limit, T* y, i32* arg, i64 first, i64 divisor) {
  constexpr i64 lanes = Lanes<T>::count;
  const RowReader<T> in{x, width, limit};
  const T by = op == Op::mean ? static_cast<T>(divisor) : T(1);
  const bool adds = op == Op::sum || op == Op::mean;
  if (adds && rows >= kFlatRows && width <= 8 && width <= lanes && (width & (width - 1)) == 0) {
    sum_flat(x, rows, width, y, by);
    return;
  }
  i64 c = 0;
  if (adds)
    for (; c + 4 * lanes <= width; c += 4 * lanes) sum_columns<T, 4>(in, rows, c, y, by);
  while (c < width) {
    // The last vector of a wide row steps back over columns already done instead of leaving the row.
    const i64 column = c + lanes <= width || width < lanes ? c : width - lanes;
    if (adds) sum_columns<T, 1>(in, rows, column, y, by);
    else if (op == Op::max) extreme_columns<T, true>(in, rows, column, y, arg, first);
    else extreme_columns<T, false>(in, rows, column, y, arg, first);
    c += lanes;
  }
}

}  // namespace segment
}  // namespace skein
