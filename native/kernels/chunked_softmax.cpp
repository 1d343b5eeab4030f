// The loss of link prediction with its gradient, in one pass: for every edge, cross entropy of the positive score
// dot(query, target) against the scores of the chunk's negatives.
//
// A task keeps its chunk in the second-level cache: negatives packed once, then bands of edges go through scores, softmax
// and both gradient products. The exponentials E are not divided by their sums: dQ = inv · (E · N) and dN = Eᵀ · (inv · Q)
// scale the narrow matrices instead.
#include "score.h"

#include "score_chunks.h"
#include "softmax_row.h"

namespace skein {
namespace {

using namespace score_detail;

template <class T>
struct Loss {
  const T *query, *target, *rows;
  const i32 *negatives, *mask_offsets, *mask_positions;
  T *loss, *g_query, *g_target;
  T scale;
};

// Scratch of one thread.
template <class T>
struct Work {
  Panels<T> plain, across, scaled;  // negatives [n, d], their transpose [d, n], scaled queries [band, d]
  T *scores, *inverse;
  i64 stride;

  Work(const Tasks& t, gemm_detail::Scratch& scratch) : stride(score_stride<T>(t.n)) {
    const i64 band = t.band(), sizes[] = {Panels<T>::size(t.n, t.d), Panels<T>::size(t.d, t.n),
                                          Panels<T>::size(band, t.d), band * stride};
    T* at = scratch.get<T>(sizes[0] + sizes[1] + sizes[2] + sizes[3] + band);
    plain = {at, t.n, t.d};
    across = {at += sizes[0], t.d, t.n};
    scaled = {at += sizes[1], band, t.d};
    scores = at += sizes[2];
    inverse = at + sizes[3];
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

// Edges [e0, e0 + m): loss, the edge-side gradients and the exponentials in w.scores.
template <class T>
void run_band(const Loss<T>& p, const Tasks& t, Work<T>& w, i64 e0, i64 m) {
  const i64 d = t.d;
  multiply(p.query + e0 * d, d, false, w.across, w.scores, w.stride, m, false);
  for (i64 r = 0; r < m; ++r) {
    const i64 e = e0 + r;
    const T *q = p.query + e * d, *target = p.target + e * d;
    T* x = w.scores + r * w.stride;
    if (p.mask_offsets) {
      for (i32 k = p.mask_offsets[e]; k < p.mask_offsets[e + 1]; ++k) x[p.mask_positions[k]] = -vm::kInfinity<T>;
    }
    T others;
    w.inverse[r] = soften(x, dot(q, target, d), t.n, p.scale, p.loss[e], others);
    if (!p.g_query) continue;
    T *gq = p.g_query + e * d, *gt = p.g_target + e * d;
    const T g = -others * w.inverse[r];
    for (i64 c = 0; c < d; ++c) gt[c] = g * q[c];
    for (i64 c = 0; c < d; ++c) gq[c] = -others * target[c];  // times inverse below, with the negatives' part
  }
  if (!p.g_query) return;
  multiply(w.scores, w.stride, false, w.plain, p.g_query + e0 * d, d, m, true);
  for (i64 r = 0; r < m; ++r) {
    T* gq = p.g_query + (e0 + r) * d;
    for (i64 c = 0; c < d; ++c) gq[c] *= w.inverse[r];
  }
}

// The band's queries times their factors, as the right side of Eᵀ · Q.
template <class T>
void scale_queries(const T* query, const Work<T>& w, const Panels<T>& out) {
  for (i64 panel = 0; panel < out.count(); ++panel) {
    const int columns = out.columns(panel), padded = out.padded(panel);
    for (i64 r = 0; r < out.k; ++r) {
      const T* q = query + r * out.n + panel * out.kWide;
      T* to = out.at(panel) + r * padded;
      for (int c = 0; c < columns; ++c) to[c] = q[c] * w.inverse[r];
      for (int c = columns; c < padded; ++c) to[c] = T(0);
    }
  }
}

}  // namespace

template <class T>
void chunked_softmax_loss(const T* query, const T* target, const T* rows, const i32* negatives,
                          const i32* mask_offsets, const i32* mask_positions, T* loss, T* g_query, T* g_target,
                          T* g_rows, i64 edges, i64 width, i64 row_count, i64 chunks, i64 n, double scale) {
  static thread_local gemm_detail::Scratch kept;
  const Tasks tasks(edges, chunks, n, width);
  const Loss<T> p{query, target, rows, negatives, mask_offsets, mask_positions,
                  loss,  g_query, g_target, static_cast<T>(scale)};
  T* const buffers = g_rows ? kept.get<T>(tasks.count() * n * width) : nullptr;
  parallel_for(tasks.count(), 1, [&](i64 task, i64) {
    static thread_local gemm_detail::Scratch scratch;
    Work<T> w(tasks, scratch);
    T* const gn = buffers ? buffers + task * n * width : nullptr;
    const i64 begin = tasks.begin(task), end = tasks.end(task);
    if (begin == end) {
      if (gn) std::fill(gn, gn + n * width, T(0));
      return;
    }
    gather_panels(rows, negatives + tasks.chunk(task) * n, w.plain);
    transpose_panels(w.plain, w.across);
    const Cut cut(end - begin, tasks.band());
    i64 e = begin;
    for (i64 band = 0; band < cut.count; e += cut.height(band), ++band) {
      const i64 m = cut.height(band);
      run_band(p, tasks, w, e, m);
      if (!gn) continue;
      const Panels<T> scaled{w.scaled.data, m, width};
      scale_queries(query + e * width, w, scaled);
      multiply(static_cast<const T*>(w.scores), w.stride, true, scaled, gn, width, n, e > begin);
    }
  }, Share::asked);
  if (g_rows) add_negatives(tasks, buffers, negatives, g_rows, row_count);
}

#define SKEIN_INSTANTIATE(T)                                                                                       \
  template void chunked_softmax_loss(const T*, const T*, const T*, const i32*, const i32*, const i32*, T*, T*, T*, \
                                     T*, i64, i64, i64, i64, i64, double);
SKEIN_INSTANTIATE(float)
SKEIN_INSTANTIATE(double)
#undef SKEIN_INSTANTIATE

}  // namespace skein
