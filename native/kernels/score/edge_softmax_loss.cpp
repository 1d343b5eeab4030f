// The softmax loss of edges given by row numbers, from the relation operator to the gradients of everything it read: the
// queries exist for one band at a time, so that edges cost no gathers and no extra passes.
//
// A task keeps its chunk in the second-level cache (softmax_band.h). Gradients have a separate output for every row that
// was read; the caller adds them by row number (sum_rows) once for all.
#include "score/score.h"

#include "softmax/softmax_band.h"

namespace skein {
namespace {

using namespace score_detail;

// out = the operator's result for a node's row s and a relation's row t.
template <class T>
inline void apply(RelationOp op, const T* SKEIN_RESTRICT s, const T* SKEIN_RESTRICT t, T* SKEIN_RESTRICT out, i64 d) {
  if (op == RelationOp::none) {
    std::copy(s, s + d, out);
  } else if (op == RelationOp::hadamard) {
    for (i64 c = 0; c < d; ++c) out[c] = s[c] * t[c];
  } else if (op == RelationOp::complex) {
    const i64 half = d / 2;
    for (i64 c = 0; c < half; ++c) {
      out[c] = s[c] * t[c] - s[half + c] * t[half + c];
      out[half + c] = s[c] * t[half + c] + s[half + c] * t[c];
    }
  } else {
    const i64 half = d / 2;
    for (i64 c = 0; c < half; ++c) {
      out[c] = s[c] * t[c] + s[half + c] * t[half + c];
      out[half + c] = s[half + c] * t[c] - s[c] * t[half + c];
    }
  }
}

// out = factor · the gradient of s · conj(t): by s it is g · t, by t it is s · conj(g).
template <class T, bool by_relation>
inline void conjugate_backward(const T* SKEIN_RESTRICT g, T factor, const T* SKEIN_RESTRICT x, T* SKEIN_RESTRICT out,
                               i64 d) {
  const i64 half = d / 2;
  for (i64 c = 0; c < half; ++c) {
    const T re = factor * g[c], im = factor * g[half + c];
    out[c] = by_relation ? re * x[c] + im * x[half + c] : re * x[c] - im * x[half + c];
    out[half + c] = by_relation ? re * x[half + c] - im * x[c] : re * x[half + c] + im * x[c];
  }
}

// out = factor · the gradient of the operator by one argument, where g is that of the result and x the other argument.
template <class T, bool by_relation>
inline void apply_backward(RelationOp op, const T* SKEIN_RESTRICT g, T factor, const T* SKEIN_RESTRICT x,
                           T* SKEIN_RESTRICT out, i64 d) {
  if (op == RelationOp::none) {
    for (i64 c = 0; c < d; ++c) out[c] = factor * g[c];
  } else if (op == RelationOp::hadamard) {
    for (i64 c = 0; c < d; ++c) out[c] = factor * g[c] * x[c];
  } else if (op == RelationOp::conjugate) {
    conjugate_backward<T, by_relation>(g, factor, x, out, d);
  } else {
    const i64 half = d / 2;
    for (i64 c = 0; c < half; ++c) {
      const T re = factor * g[c], im = factor * g[half + c];
      out[c] = re * x[c] + im * x[half + c];
      out[half + c] = im * x[c] - re * x[half + c];
    }
  }
}

}  // namespace

template <class T>
void edge_softmax_loss(i64 op, const T* rows, const i32* sources, const i32* targets, const T* table,
                       const i32* relations, const i32* negatives, const i32* mask_offsets, const i32* mask_positions,
                       T* loss, T* g_read, T* g_relations, i64 edges, i64 width, i64 chunks, i64 n, double scale) {
  static thread_local gemm_detail::Scratch kept;
  const RelationOp how = static_cast<RelationOp>(op);
  const Tasks tasks(edges, chunks, n, width);
  const i64 d = width, part_size = chunks * n * d;
  T *const g_target = g_read + edges * d, *const g_negatives = g_read + 2 * edges * d;
  // The first task of each chunk writes in place.
  T* const later = g_read && tasks.parts > 1 ? kept.get<T>((tasks.parts - 1) * part_size) : nullptr;
  parallel_for(tasks.count(), 1, [&](i64 task, i64) {
    static thread_local gemm_detail::Scratch scratch;
    Work<T> w(tasks, scratch, true);
    T *const queries = w.spare, *const g_queries = queries + tasks.band() * d;
    T* const gn = task < chunks ? g_negatives + task * n * d : later + (task - chunks) * n * d;
    const i64 begin = tasks.begin(task), end = tasks.end(task);
    if (begin == end) {
      if (g_read) std::fill(gn, gn + n * d, T(0));
      return;
    }
    w.take_negatives(rows, negatives + tasks.chunk(task) * n);
    const auto source = [&](i64 e) { return rows + sources[e] * d; };
    const auto relation = [&](i64 e) { return how == RelationOp::none ? nullptr : table + relations[e] * d; };
    const Cut cut(end - begin, tasks.band());
    i64 e = begin;
    for (i64 band = 0; band < cut.count; e += cut.height(band), ++band) {
      const Band<T> b{queries, cut.height(band), mask_offsets ? mask_offsets + e : nullptr, mask_positions, loss + e,
                      g_read ? g_queries : nullptr, static_cast<T>(scale)};
      for (i64 r = 0; r < b.m; ++r) apply(how, source(e + r), relation(e + r), queries + r * d, d);
      run_band(b, w, n, d, [&](i64 r) { return rows + targets[e + r] * d; },
               [&](i64 r) { return g_target + (e + r) * d; });
      if (!g_read) continue;
      for (i64 r = 0; r < b.m; ++r) {
        const T* g = g_queries + r * d;
        apply_backward<T, false>(how, g, w.inverse[r], relation(e + r), g_read + (e + r) * d, d);
        if (g_relations) apply_backward<T, true>(how, g, w.inverse[r], source(e + r), g_relations + (e + r) * d, d);
      }
      run_negatives(b, w, gn, n, d, e > begin);
    }
  }, Share::asked);
  if (!later) return;
  parallel_for(part_size, kElementGrain / 4, [&](i64 begin, i64 end) {
    for (i64 part = 0; part + 1 < tasks.parts; ++part) {
      for (i64 i = begin; i < end; ++i) g_negatives[i] += later[part * part_size + i];
    }
  });
}

#define SKEIN_INSTANTIATE(T)                                                                                        \
  template void edge_softmax_loss(i64, const T*, const i32*, const i32*, const T*, const i32*, const i32*,          \
                                  const i32*, const i32*, T*, T*, T*, i64, i64, i64, i64, double);
SKEIN_INSTANTIATE(float)
SKEIN_INSTANTIATE(double)
#undef SKEIN_INSTANTIATE

}  // namespace skein
