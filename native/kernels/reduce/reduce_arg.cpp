// argmax and argmin over the middle axis of [outer, mid, inner]: the lowest index of the winner; the first NaN wins.
//
// Long rows are read twice, both times by vectors: once for the value (reduce_run.h), once for where it is.
#include <cmath>

#include "support/op_codes.h"
#include "reduce/reduce.h"
#include "reduce/reduce_run.h"

namespace skein {

namespace {

constexpr i64 kArgTile = 512;
constexpr i64 kShortRow = 16;

// Is x a better winner than the best so far, which came earlier?
template <class Op, class T>
inline bool beats(T x, T best);
template <>
inline bool beats<Max, float>(float x, float best) { return (x > best) | ((x != x) & (best == best)); }
template <>
inline bool beats<Max, double>(double x, double best) { return (x > best) | ((x != x) & (best == best)); }
template <>
inline bool beats<Min, float>(float x, float best) { return (x < best) | ((x != x) & (best == best)); }
template <>
inline bool beats<Min, double>(double x, double best) { return (x < best) | ((x != x) & (best == best)); }

// The first position whose element satisfies `matches`; there is one.
template <class T, class F>
inline i64 find_first(const T* x, i64 n, F matches) {
  constexpr i32 kBlock = 32;
  for (i64 start = 0; start + kBlock <= n; start += kBlock) {
    i32 first = kBlock;
    for (i32 i = 0; i < kBlock; ++i) {
      const i32 here = matches(x[start + i]) ? i : kBlock;
      first = here < first ? here : first;
    }
    if (first < kBlock) return start + first;
  }
  i64 i = n / kBlock * kBlock;
  while (!matches(x[i])) ++i;
  return i;
}

template <class T>
i64 find_value(const T* x, i64 n, T value) {
  if (value != value) return find_first(x, n, [](T v) { return v != v; });
  return find_first(x, n, [=](T v) { return v == value; });
}

template <class Op, class T>
i64 arg_row(const T* x, i64 n) {
  if (n > kShortRow) return find_value(x, n, static_cast<T>(reduce_run<Op>(x, n)));
  i64 best = 0;
  for (i64 i = 1; i < n; ++i) best = beats<Op, T>(x[i], x[best]) ? i : best;
  return best;
}

template <class Op, class T>
void arg_tile(const T* x, i64 mid, i64 step, i64 width, i32* SKEIN_RESTRICT index) {
  T best[kArgTile];
  for (i64 j = 0; j < width; ++j) {
    best[j] = x[j];
    index[j] = 0;
  }
  for (i64 m = 1; m < mid; ++m) {
    const T* SKEIN_RESTRICT row = x + m * step;
    for (i64 j = 0; j < width; ++j) {
      const bool better = beats<Op, T>(row[j], best[j]);
      best[j] = better ? row[j] : best[j];
      index[j] = better ? static_cast<i32>(m) : index[j];
    }
  }
}

template <class Op, class T>
void arg_with(const T* x, i32* index, i64 outer, i64 mid, i64 inner) {
  const i64 tiles = (inner + kArgTile - 1) / kArgTile;
  const i64 unit_size = mid * (inner < kArgTile ? inner : kArgTile);
  const i64 grain = unit_size >= kElementGrain ? 1 : kElementGrain / unit_size;
  parallel_for(outer * tiles, grain, [=](i64 begin, i64 end) {
    for (i64 unit = begin; unit < end; ++unit) {
      const i64 o = unit / tiles, column = unit % tiles * kArgTile;
      const i64 width = inner - column < kArgTile ? inner - column : kArgTile;
      const T* source = x + o * mid * inner + column;
      if (inner == 1) index[o] = static_cast<i32>(arg_row<Op>(source, mid));
      else arg_tile<Op>(source, mid, inner, width, index + o * inner + column);
    }
  });
}

}  // namespace

template <class T>
void arg_reduce(i64 op, const T* x, i32* index, i64 outer, i64 mid, i64 inner) {
  if (outer * mid * inner == 0) return;
  if (static_cast<ReduceOp>(op) == ReduceOp::max) arg_with<Max>(x, index, outer, mid, inner);
  else arg_with<Min>(x, index, outer, mid, inner);
}

template void arg_reduce<float>(i64, const float*, i32*, i64, i64, i64);
template void arg_reduce<double>(i64, const double*, i32*, i64, i64, i64);

}  // namespace skein
