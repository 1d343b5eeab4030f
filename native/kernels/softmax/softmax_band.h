// The softmax loss of a band of edges against their chunk's negatives, for one thread: scores, loss and the products of
// both gradients, while everything is in the second-level cache.
//
// The exponentials E are not divided by their sums: dQ = inv · (E · N) and dN = Eᵀ · (inv · Q) scale the narrow matrices
// instead. Which rows are the queries and targets is the caller's business.
#pragma once

#include "score/score_chunks.h"
#include "softmax/softmax_row.h"

namespace skein {
namespace score_detail {

// Scratch of one thread; `spare` has 2 · band · d numbers for the caller when requested.
template <class T>
struct Work {
  Panels<T> plain, across, scaled;  // negatives [n, d], their transpose [d, n], scaled queries [band, d]
  T *scores, *inverse, *spare;
  i64 stride;

  Work(const Tasks& t, gemm_detail::Scratch& scratch, bool with_spare) : stride(score_stride<T>(t.n)) {
    const i64 band = t.band(), sizes[] = {Panels<T>::size(t.n, t.d), Panels<T>::size(t.d, t.n),
                                          Panels<T>::size(band, t.d), band * stride};
    T* at = scratch.get<T>(sizes[0] + sizes[1] + sizes[2] + sizes[3] + band + (with_spare ? 2 * band * t.d : 0));
    plain = {at, t.n, t.d};
    across = {at += sizes[0], t.d, t.n};
    scaled = {at += sizes[1], band, t.d};
    scores = at += sizes[2];
    inverse = at += sizes[3];
    spare = at + band;
  }
  void take_negatives(const T* rows, const i32* ids) {
    gather_panels(rows, ids, plain);
    transpose_panels(plain, across);
  }
};

// Scores of one edge become exponentials, of which the negatives' are summed in `others`; gives scale / the whole sum.
template <class T>
T soften(T* x, T positive, i64 n, T scale, T& loss, T& others) {
  const T highest = row_max(x, n), top = highest > positive ? highest : positive;
  const auto shift = Lanes<T>::set(top);
  auto total = Lanes<T>::set(T(0));
  for_lanes<T>(n, [&](i64 i, auto lanes) {
    const auto e = exp_lanes(Lanes<T>::load(x + i, lanes, -vm::kInfinity<T>) - shift);
    e.store(x + i, lanes);
    total = total + e;
  });
  others = sum(total);
  const T all = others + exp_nonpositive(positive - top);
  loss = top - positive + vm::log(all);
  return scale / all;
}

template <class T>
inline T dot(const T* a, const T* b, i64 d) {
  auto total = Lanes<T>::set(T(0));
  for_lanes<T>(d, [&](i64 i, auto lanes) {
    total = total + Lanes<T>::load(a + i, lanes, T(0)) * Lanes<T>::load(b + i, lanes, T(0));
  });
  return sum(total);
}

// m edges, of which `query` [m, d], `mask_offsets`, `loss` and `g_query` (null: the loss alone) are the first one's.
template <class T>
struct Band {
  const T* query;
  i64 m;
  const i32 *mask_offsets, *mask_positions;
  T *loss, *g_query;
  T scale;
};

// Loss and gradients; target(r) gives the row that query r should find, g_target(r) where its gradient goes. Leaves the
// exponentials in w.scores, and g_query without the factors w.inverse.
template <class T, class Target, class Place>
void run_band(const Band<T>& b, Work<T>& w, i64 n, i64 d, Target target, Place g_target) {
  multiply(b.query, d, false, w.across, w.scores, w.stride, b.m, false);
  for (i64 r = 0; r < b.m; ++r) {
    const T *q = b.query + r * d, *t = target(r);
    T* x = w.scores + r * w.stride;
    if (b.mask_offsets) {
      for (i32 k = b.mask_offsets[r]; k < b.mask_offsets[r + 1]; ++k) x[b.mask_positions[k]] = -vm::kInfinity<T>;
    }
    T others;
    w.inverse[r] = soften(x, dot(q, t, d), n, b.scale, b.loss[r], others);
    if (!b.g_query) continue;
    T *SKEIN_RESTRICT gq = b.g_query + r * d, *SKEIN_RESTRICT gt = g_target(r);
    const T g = -others * w.inverse[r];
    for (i64 c = 0; c < d; ++c) gt[c] = g * q[c];
    for (i64 c = 0; c < d; ++c) gq[c] = -others * t[c];
  }
  if (b.g_query) multiply(static_cast<const T*>(w.scores), w.stride, false, w.plain, b.g_query, d, b.m, true);
}

// gn[n, d] = (add ? gn : 0) + the gradient of the negatives by the band.
template <class T>
void run_negatives(const Band<T>& b, const Work<T>& w, T* gn, i64 n, i64 d, bool add) {
  const Panels<T> scaled{w.scaled.data, b.m, d};
  for (i64 panel = 0; panel < scaled.count(); ++panel) {
    const int columns = scaled.columns(panel), padded = scaled.padded(panel);
    for (i64 r = 0; r < b.m; ++r) {
      const T* q = b.query + r * d + panel * scaled.kWide;
      T* to = scaled.at(panel) + r * padded;
      for (int c = 0; c < columns; ++c) to[c] = q[c] * w.inverse[r];
      for (int c = columns; c < padded; ++c) to[c] = T(0);
    }
  }
  multiply(static_cast<const T*>(w.scores), w.stride, true, scaled, gn, d, n, add);
}

}  // namespace score_detail
}  // namespace skein
