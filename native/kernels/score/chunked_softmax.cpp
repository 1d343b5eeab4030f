// The loss of link prediction with its gradient, in one pass: for every edge, cross entropy of the positive score
// dot(query, target) against the scores of the chunk's negatives. A task keeps its chunk in the second-level cache:
// negatives packed once, then bands of edges (softmax_band.h).
#include "score/score.h"

#include "softmax/softmax_band.h"

namespace skein {

using namespace score_detail;

template <class T>
void chunked_softmax_loss(const T* query, const T* target, const T* rows, const i32* negatives,
                          const i32* mask_offsets, const i32* mask_positions, T* loss, T* g_query, T* g_target,
                          T* g_rows, i64 edges, i64 width, i64 row_count, i64 chunks, i64 n, double scale) {
  static thread_local gemm_detail::Scratch kept;
  const Tasks tasks(edges, chunks, n, width);
  const i64 d = width;
  T* const buffers = g_rows ? kept.get<T>(tasks.count() * n * d) : nullptr;
  parallel_for(tasks.count(), 1, [&](i64 task, i64) {
    static thread_local gemm_detail::Scratch scratch;
    Work<T> w(tasks, scratch, false);
    T* const gn = buffers ? buffers + task * n * d : nullptr;
    const i64 begin = tasks.begin(task), end = tasks.end(task);
    if (begin == end) {
      if (gn) std::fill(gn, gn + n * d, T(0));
      return;
    }
    w.take_negatives(rows, negatives + tasks.chunk(task) * n);
    const Cut cut(end - begin, tasks.band());
    i64 e = begin;
    for (i64 band = 0; band < cut.count; e += cut.height(band), ++band) {
      const Band<T> b{query + e * d, cut.height(band), mask_offsets ? mask_offsets + e : nullptr, mask_positions,
                      loss + e, g_query ? g_query + e * d : nullptr, static_cast<T>(scale)};
      run_band(b, w, n, d, [&](i64 r) { return target + (e + r) * d; }, [&](i64 r) { return g_target + (e + r) * d; });
      for (i64 r = 0; b.g_query && r < b.m; ++r) {
        for (i64 c = 0; c < d; ++c) b.g_query[r * d + c] *= w.inverse[r];
      }
      if (gn) run_negatives(b, w, gn, n, d, e > begin);
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
