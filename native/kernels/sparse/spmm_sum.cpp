// The sums of weighted rows that spmm and attention share.
#include "sparse/spmm_sum.h"

namespace skein {

template <class T, bool partial, int N, class Weights>
inline void sum_row(const GatheredRows<T>& in, const Weights& weights, const EdgeWeights<T>& all, const RowSums<T>& out,
                    const TileColumns<N>& columns, i64 r, i64 begin, i64 end) {
  Lanes<T> sum[N];
  const i64 self = r + out.self;
  const bool has_self = out.has_self && self >= 0 && self < out.x_rows;
  if (has_self) {
    const auto scale = Lanes<T>::set(all.scale(self));
#pragma GCC unroll 16
    for (int k = 0; k < N; ++k) sum[k] = scale * load_tile<T, partial>(in.x + self * in.width, columns, k);
  } else {
#pragma GCC unroll 16
    for (int k = 0; k < N; ++k) sum[k] = Lanes<T>::set(T(0));
  }
  for (i64 p = begin; p < end; ++p) {
    in.template fetch<partial>(p, columns);
    all.fetch(p, in.end);
    const T* row = in.row(p);
    const auto weight = weights.entry(p, in.indices[p]);
#pragma GCC unroll 16
    for (int k = 0; k < N; ++k) sum[k] = sum[k] + weight.times(k, load_tile<T, partial>(row, columns, k));
  }
  T* y = out.y + r * in.width;
  const i64 count = end - begin + (has_self ? 1 : 0);
  if (out.mean && count > 1) {
    const auto divisor = Lanes<T>::set(static_cast<T>(count));
#pragma GCC unroll 16
    for (int k = 0; k < N; ++k) sum[k] = sum[k] / divisor;
  }
  if (out.y_scale != nullptr) {
    const auto factor = Lanes<T>::set(out.y_scale[r]);
#pragma GCC unroll 16
    for (int k = 0; k < N; ++k) sum[k] = factor * sum[k];
  }
  if (out.accumulate) {
#pragma GCC unroll 16
    for (int k = 0; k < N; ++k) sum[k] = load_tile<T, partial>(y, columns, k) + sum[k];
  }
#pragma GCC unroll 16
  for (int k = 0; k < N; ++k) store_tile<T, partial>(sum[k], y, columns, k, out.streamed);
}

template <class T>
void sum_gathered_rows(const GatheredRows<T>& in, const EdgeWeights<T>& all, const RowSums<T>& out,
                       const Offsets& offsets, i64 from, i64 to) {
  for_tiles<T>(in.width, [&](const auto& columns, auto partial) {
    with_weights<T, partial.value>(all, in.width, columns, [&](const auto& weights) {
      i64 begin = offsets[from];
      for (i64 r = from; r < to; ++r) {
        const i64 end = offsets[r + 1];
        sum_row<T, partial.value>(in, weights, all, out, columns, r, begin, end);
        begin = end;
      }
    });
  });
}

template void sum_gathered_rows(const GatheredRows<float>&, const EdgeWeights<float>&, const RowSums<float>&,
                                const Offsets&, i64, i64);
template void sum_gathered_rows(const GatheredRows<double>&, const EdgeWeights<double>&, const RowSums<double>&,
                                const Offsets&, i64, i64);

}  // namespace skein
