// gatv2Scores and its gradients.
//
// The derivative of a row's own features is the sum over its entries of g · leakyRelu', times a: the same walk serves the
// destinations and, over the transposed structure, the sources. The gradient of a is summed per chunk of rows, and the
// chunks in order.
#include "attention/gatv2.h"

#include <algorithm>
#include <vector>

#include "sparse/entry_dots.h"
#include "sparse/feature_tiles.h"

namespace skein {
namespace {

// Three vectors are held for each one of a row.
template <class T>
constexpr int kVectors = kTileVectorsOf<T> > 4 ? kTileVectorsOf<T> / 2 : 2;
constexpr i64 kMostChunks = 256;

template <class T>
inline Lanes<T> leaky(const Lanes<T>& v, const Lanes<T>& slope) {
  Lanes<T> r;
  for (int k = 0; k < Lanes<T>::parts; ++k) r.part[k] = v.part[k] > T(0) ? v.part[k] : slope.part[k] * v.part[k];
  return r;
}

template <class T>
inline Lanes<T> leaky_slope(const Lanes<T>& v, const Lanes<T>& slope) {
  Lanes<T> r;
  for (int k = 0; k < Lanes<T>::parts; ++k) {
    r.part[k] = v.part[k] > T(0) ? T(1) - typename Lanes<T>::Vector{} : slope.part[k];
  }
  return r;
}

template <class T>
struct Gradients {
  const T* own;  // features of the rows
  const T* a;
  const T* ee;  // may be null
  T* gown;
  T* gee;  // may be null
  Lanes<T> slope;
};

// One tile of row r; its share of the gradient of a is added to ga, unless that is null.
template <bool with_a, class T, bool partial, int N, class Weights>
inline void backward_row(const GatheredRows<T>& in, const Weights& weights, const EdgeWeights<T>& all,
                         const Gradients<T>& g, const TileColumns<N>& columns, i64 r, i64 begin, i64 end, double* ga) {
  Lanes<T> own[N], sum[N], sum_a[N];
#pragma GCC unroll 16
  for (int k = 0; k < N; ++k) {
    own[k] = load_tile<T, partial>(g.own + r * in.width, columns, k);
    sum[k] = sum_a[k] = Lanes<T>::set(T(0));
  }
  for (i64 p = begin; p < end; ++p) {
    in.template fetch<partial>(p, columns);
    all.fetch(p, in.end);
    const T* row = in.row(p);
    const auto weight = weights.entry(p, in.indices[p]);
    const i64 edge = all.position(p) * in.width;
#pragma GCC unroll 16
    for (int k = 0; k < N; ++k) {
      auto v = with_a ? load_tile<T, partial>(row, columns, k) + own[k] : own[k] + load_tile<T, partial>(row, columns, k);
      if (g.ee != nullptr) v = v + load_tile<T, partial>(g.ee + edge, columns, k);
      const auto d = weight.times(k, leaky_slope(v, g.slope));
      sum[k] = sum[k] + d;
      if (!with_a) continue;
      sum_a[k] = sum_a[k] + weight.times(k, leaky(v, g.slope));
      if (g.gee == nullptr) continue;
      store_tile<T, partial>(load_tile<T, partial>(g.a, columns, k) * d, g.gee + edge, columns, k);
    }
  }
  i64 done = columns.at[0];
  for (int k = 0; k < N; ++k) {
    store_tile<T, partial>(load_tile<T, partial>(g.a, columns, k) * sum[k], g.gown + r * in.width, columns, k);
    if (!with_a) continue;
    // The last vector may overlap the one before: what that has added is not added again.
    alignas(64) T share[Lanes<T>::count];
    sum_a[k].store(share);
    const i64 stop = partial ? columns.lanes : columns.at[k] + Lanes<T>::count;
    for (; done < stop; ++done) ga[done] += static_cast<double>(share[done - columns.at[k]]);
  }
}

template <bool with_a, class T>
void backward_rows(const GatheredRows<T>& in, const EdgeWeights<T>& all, const Gradients<T>& g, const Offsets& offsets,
                   i64 from, i64 to, double* ga) {
  for_tiles<T, kVectors<T>>(in.width, [&](const auto& columns, auto partial) {
    with_weights<T, partial.value>(all, in.width, columns, [&](const auto& weights) {
      for (i64 r = from; r < to; ++r) {
        backward_row<with_a, T, partial.value>(in, weights, all, g, columns, r, offsets[r], offsets[r + 1], ga);
      }
    });
  });
}

}  // namespace

template <class T>
void gatv2_scores(const T* xl, const T* xr, const T* a, const T* ee, Offsets offsets, const i32* indices, T* out,
                  i64 rows, i64 heads, i64 width, double slope) {
  const i64 all = heads * width;
  if (rows <= 0 || heads <= 0) return;
  const i64 bytes = all * i64{sizeof(T)}, ahead = rows_ahead(bytes), entries = offsets[rows];
  const auto leak = Lanes<T>::set(static_cast<T>(slope));
  for_rows(offsets, rows, entry_grain(bytes), [&](i64 from, i64 to) {
    EntryDots<T> dots(heads, width);
    for (i64 r = from; r < to; ++r) {
      const T* own = xr + r * all;
      for (i64 p = offsets[r], end = offsets[r + 1]; p < end; ++p) {
        if (p + ahead < entries) fetch_bytes<0>(xl + indices[p + ahead] * all, bytes);
        const T* row = xl + indices[p] * all;
        const T* edge = ee == nullptr ? nullptr : ee + p * all;
        dots(
            [&](i64 f, auto lanes) {
              auto v = Lanes<T>::load(row + f, lanes, T(0)) + Lanes<T>::load(own + f, lanes, T(0));
              if (edge != nullptr) v = v + Lanes<T>::load(edge + f, lanes, T(0));
              return Lanes<T>::load(a + f, lanes, T(0)) * leaky(v, leak);
            },
            out + p * heads);
      }
    }
  });
}

template <class T>
void gatv2_scores_backward(const T* xl, const T* xr, const T* a, const T* ee, const T* gout, Offsets offsets,
                           const i32* indices, T* gxr, T* ga, T* gee, i64 rows, i64 heads, i64 width, double slope) {
  const i64 all = heads * width;
  if (all <= 0) return;
  if (rows <= 0) return std::fill(ga, ga + all, T(0));
  const auto column_of = feature_columns(all, heads);
  const EdgeWeights<T> weights{gout, nullptr, nullptr, heads, column_of.data()};
  const GatheredRows<T> in(xl, indices, all, offsets[rows]);
  const Gradients<T> gradients{xr, a, ee, gxr, gee, Lanes<T>::set(static_cast<T>(slope))};
  const i64 work = offsets[rows] - offsets[0] + rows;
  const i64 grain = std::max(entry_grain(all * i64{sizeof(T)}), (work + kMostChunks - 1) / kMostChunks);
  const i64 chunks = row_chunks(offsets, rows, grain);
  std::vector<double> shares(static_cast<std::size_t>(chunks * all));
  for_rows(offsets, rows, grain, [&](i64 from, i64 to, i64 chunk) {
    backward_rows<true>(in, weights, gradients, offsets, from, to, shares.data() + chunk * all);
  });
  for (i64 f = 0; f < all; ++f) {
    double total = 0;
    for (i64 c = 0; c < chunks; ++c) total += shares[c * all + f];
    ga[f] = static_cast<T>(total);
  }
}

template <class T>
void gatv2_scores_backward_source(const T* xl, const T* xr, const T* a, const T* ee, const T* gout, Offsets offsets,
                                  const i32* indices, const i32* positions, T* gxl, i64 rows, i64 heads, i64 width,
                                  double slope) {
  const i64 all = heads * width;
  if (rows <= 0 || all <= 0) return;
  const auto column_of = feature_columns(all, heads);
  const EdgeWeights<T> weights{gout, nullptr, positions, heads, column_of.data()};
  const GatheredRows<T> in(xr, indices, all, offsets[rows]);
  const Gradients<T> gradients{xl, a, ee, gxl, nullptr, Lanes<T>::set(static_cast<T>(slope))};
  for_rows(offsets, rows, entry_grain(all * i64{sizeof(T)}), [&](i64 from, i64 to) {
    backward_rows<false>(in, weights, gradients, offsets, from, to, nullptr);
  });
}

#define SKEIN_INSTANTIATE(T)                                                                                          \
  template void gatv2_scores(const T*, const T*, const T*, const T*, Offsets, const i32*, T*, i64, i64, i64, double);  \
  template void gatv2_scores_backward(const T*, const T*, const T*, const T*, const T*, Offsets, const i32*, T*, T*,   \
                                      T*, i64, i64, i64, double);                                                     \
  template void gatv2_scores_backward_source(const T*, const T*, const T*, const T*, const T*, Offsets, const i32*,    \
                                             const i32*, T*, i64, i64, i64, double);
SKEIN_INSTANTIATE(float)
SKEIN_INSTANTIATE(double)

}  // namespace skein
