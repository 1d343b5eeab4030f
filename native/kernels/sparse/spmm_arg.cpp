// spmmArgBackward: every source collects the gradients of the features in which it won.
#include "sparse/feature_tiles.h"
#include "sparse/position_lanes.h"
#include "sparse/spmm.h"

namespace skein {
namespace {

template <class T, bool partial, int N, class Weights>
inline void collect_row(const GatheredRows<T>& in, const Weights& weights, const EdgeWeights<T>& all, const i32* arg,
                        T* gx, const TileColumns<N>& columns, i64 begin, i64 end) {
  Lanes<T> sum[N];
#pragma GCC unroll 16
  for (int k = 0; k < N; ++k) sum[k] = Lanes<T>::set(T(0));
  for (i64 p = begin; p < end; ++p) {
    in.template fetch<partial>(p, columns);
    all.fetch(p, in.end);
    if (p + in.ahead < in.end) fetch_bytes<0>(arg + in.indices[p + in.ahead] * in.width + columns.at[0], N * 16 * 4);
    const T* row = in.row(p);
    const i32* won = arg + in.indices[p] * in.width;
    const auto position = PositionLanes<T>::set(all.position(p));
    const auto weight = weights.entry(p, in.indices[p]);
#pragma GCC unroll 16
    for (int k = 0; k < N; ++k) {
      const auto v = weight.times(k, load_tile<T, partial>(row, columns, k));
      const auto winner = partial ? PositionLanes<T>::load(won, columns.lanes) : PositionLanes<T>::load(won + columns.at[k]);
      sum[k] = sum[k] + where_equal(winner, position, v);
    }
  }
#pragma GCC unroll 16
  for (int k = 0; k < N; ++k) store_tile<T, partial>(sum[k], gx, columns, k);
}

}  // namespace

template <class T>
void spmm_arg_backward(const T* gy, const T* w, const i32* arg, Offsets offsets, const i32* indices, const i32* positions,
                       T* gx, i64 rows, i64 width, i64 w_cols) {
  if (width <= 0 || rows <= 0) return;
  const auto column_of = feature_columns(width, w_cols);
  const EdgeWeights<T> all{w, nullptr, positions, w_cols, column_of.data()};
  const GatheredRows<T> in(gy, indices, width, offsets[rows]);
  for_rows(offsets, rows, entry_grain(width * i64{sizeof(T)}), [&](i64 from, i64 to) {
    for_tiles<T>(width, [&](const auto& columns, auto partial) {
      with_weights<T, partial.value>(all, width, columns, [&](const auto& weights) {
        for (i64 r = from; r < to; ++r) {
          collect_row<T, partial.value>(in, weights, all, arg, gx + r * width, columns, offsets[r], offsets[r + 1]);
        }
      });
    });
  });
}

template void spmm_arg_backward(const float*, const float*, const i32*, Offsets, const i32*, const i32*, float*, i64, i64,
                                i64);
template void spmm_arg_backward(const double*, const double*, const i32*, Offsets, const i32*, const i32*, double*, i64,
                                i64, i64);

}  // namespace skein
