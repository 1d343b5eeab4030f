// The largest or smallest of weighted rows, with the entry that won.
#include "sparse/spmm_extreme.h"

#include "sparse/position_lanes.h"

namespace skein {

// The best value and its entry are held for each vector of a row.
template <class T>
constexpr int kVectors = kTileVectorsOf<T> > 4 ? kTileVectorsOf<T> / 2 : 2;

template <bool largest, class T>
inline void keep_better(Lanes<T>& best, PositionLanes<T>& winner, const Lanes<T>& v, i64 position) {
  using Positions = PositionLanes<T>;
  const Positions here = Positions::set(position);
#pragma GCC unroll 4
  for (int i = 0; i < Lanes<T>::parts; ++i) {
    const auto b = best.part[i];
    const auto a = v.part[i];
    const auto better = (largest ? a > b : a < b) | ((a != a) & (b == b));
    best.part[i] = better ? a : b;
    winner.part[i] = better ? here.part[i] : winner.part[i];
  }
}

template <bool largest, class T, bool partial, int N, class Weights>
inline void extreme_row(const GatheredRows<T>& in, const Weights& weights, const EdgeWeights<T>& all,
                        const RowExtremes<T>& out, const TileColumns<N>& columns, i64 r, i64 begin, i64 end) {
  using Positions = PositionLanes<T>;
  Lanes<T> best[N];
  Positions winner[N];
  // The first entry wins against nothing: it has no rival to be compared with.
  const i64 first = begin < end ? all.position(begin) : -1;
#pragma GCC unroll 16
  for (int k = 0; k < N; ++k) {
    winner[k] = Positions::set(first);
    best[k] = Lanes<T>::set(T(0));
    if (begin < end) {
      best[k] = weights.entry(begin, in.indices[begin]).times(k, load_tile<T, partial>(in.row(begin), columns, k));
    }
  }
  for (i64 p = begin; p < end; ++p) {
    in.template fetch<partial>(p, columns);
    all.fetch(p, in.end);
    if (p == begin) continue;
    const T* row = in.row(p);
    const auto weight = weights.entry(p, in.indices[p]);
    const i64 position = all.position(p);
#pragma GCC unroll 16
    for (int k = 0; k < N; ++k) {
      keep_better<largest>(best[k], winner[k], weight.times(k, load_tile<T, partial>(row, columns, k)), position);
    }
  }
#pragma GCC unroll 16
  for (int k = 0; k < N; ++k) {
    if (out.y_scale != nullptr) best[k] = Lanes<T>::set(out.y_scale[r]) * best[k];
    store_tile<T, partial>(best[k], out.y + r * in.width, columns, k);
    if (out.arg != nullptr) {
      winner[k].store(out.arg + r * in.width + columns.at[k], partial ? columns.lanes : Lanes<T>::count);
    }
  }
}

template <bool largest, class T>
void extreme_rows(const GatheredRows<T>& in, const EdgeWeights<T>& all, const RowExtremes<T>& out, const Offsets& offsets,
                  i64 from, i64 to) {
  for_tiles<T, kVectors<T>>(in.width, [&](const auto& columns, auto partial) {
    with_weights<T, partial.value>(all, in.width, columns, [&](const auto& weights) {
      i64 begin = offsets[from];
      for (i64 r = from; r < to; ++r) {
        const i64 end = offsets[r + 1];
        extreme_row<largest, T, partial.value>(in, weights, all, out, columns, r, begin, end);
        begin = end;
      }
    });
  });
}

template void extreme_rows<true>(const GatheredRows<float>&, const EdgeWeights<float>&, const RowExtremes<float>&, const Offsets&,
                                 i64, i64);
template void extreme_rows<true>(const GatheredRows<double>&, const EdgeWeights<double>&, const RowExtremes<double>&, const Offsets&,
                                 i64, i64);
template void extreme_rows<false>(const GatheredRows<float>&, const EdgeWeights<float>&, const RowExtremes<float>&, const Offsets&,
                                 i64, i64);
template void extreme_rows<false>(const GatheredRows<double>&, const EdgeWeights<double>&, const RowExtremes<double>&, const Offsets&,
                                 i64, i64);

}  // namespace skein
