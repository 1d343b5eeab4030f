// spmm: rows of x, gathered by the entries of each row of the structure and reduced in registers, tile by tile.
//
// The time goes into fetching rows of x from memory: they are prefetched some entries ahead, across the ends of rows.
#include "sparse/spmm.h"

#include "support/op_codes.h"
#include "sparse/spmm_extreme.h"
#include "sparse/spmm_sum.h"

namespace skein {

template <class T>
void spmm(i64 op, const T* x, const T* w, const T* x_scale, const T* y_scale, Offsets offsets, const i32* indices,
          const i32* positions, T* y, i32* arg, i64 rows, i64 x_rows, i64 width, i64 w_cols, bool has_self, i64 self,
          bool accumulate) {
  if (width <= 0 || rows <= 0) return;
  const ReduceOp reduce = static_cast<ReduceOp>(op);
  const auto column_of = feature_columns(width, w_cols);
  const EdgeWeights<T> weights{w, x_scale, positions, w_cols, column_of.data()};
  const GatheredRows<T> in(x, indices, width, offsets[rows]);
  const i64 grain = entry_grain(width * i64{sizeof(T)});
  if (reduce == ReduceOp::sum || reduce == ReduceOp::mean) {
    const bool past = !accumulate && streamed(y, rows, width);
    const RowSums<T> out{y, y_scale, x_rows, self, has_self, reduce == ReduceOp::mean, accumulate, past};
    for_rows(offsets, rows, grain, [&](i64 from, i64 to) {
      sum_gathered_rows(in, weights, out, offsets, from, to);
      if (past) stream_end();
    });
  } else {
    const RowExtremes<T> out{y, y_scale, arg};
    for_rows(offsets, rows, grain, [&](i64 from, i64 to) {
      if (reduce == ReduceOp::max) extreme_rows<true>(in, weights, out, offsets, from, to);
      else extreme_rows<false>(in, weights, out, offsets, from, to);
    });
  }
}

template void spmm(i64, const float*, const float*, const float*, const float*, Offsets, const i32*, const i32*, float*,
                   i32*, i64, i64, i64, i64, bool, i64, bool);
template void spmm(i64, const double*, const double*, const double*, const double*, Offsets, const i32*, const i32*,
                   double*, i32*, i64, i64, i64, i64, bool, i64, bool);

}  // namespace skein
