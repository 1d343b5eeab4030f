// The largest or smallest of weighted rows for each row of a sparse structure, feature by feature, and which entry it was.
//
// NaN wins; among equals, and among NaNs, the first entry.
#pragma once

#include "feature_tiles.h"
#include "offsets.h"
#include "slot_lanes.h"

namespace skein {

template <class T>
struct RowExtremes {
  T* y;
  const T* y_scale;
  i32* arg;  // may be null
};

template <bool largest, class T>
inline void keep_better(Lanes<T>& best, SlotLanes<T>& winner, const Lanes<T>& v, i64 slot) {
  using Slots = SlotLanes<T>;
  const Slots here = Slots::set(slot);
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
  using Slots = SlotLanes<T>;
  Lanes<T> best[N];
  Slots winner[N];
  // The first entry wins against nothing: it has no rival to be compared with.
  const i64 first = begin < end ? all.slot(begin) : -1;
#pragma GCC unroll 16
  for (int k = 0; k < N; ++k) {
    winner[k] = Slots::set(first);
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
    const i64 slot = all.slot(p);
#pragma GCC unroll 16
    for (int k = 0; k < N; ++k) {
      keep_better<largest>(best[k], winner[k], weight.times(k, load_tile<T, partial>(row, columns, k)), slot);
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

// Rows from … to − 1, all columns.
template <bool largest, class T>
inline void extreme_rows(const GatheredRows<T>& in, const EdgeWeights<T>& all, const RowExtremes<T>& out,
                         const Offsets& offsets, i64 from, i64 to) {
  for_tiles<T>(in.width, [&](const auto& columns, auto partial) {
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

}  // namespace skein
