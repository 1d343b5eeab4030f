// Scores of edges against their chunk's negatives, and the gradient of these scores: the path for every loss and
// comparator without a specialised kernel.
//
// For l2 the gradient of a score s = -|q - n| by q is (n - q) / |q - n|: with H = gy / |s| the sums are products again,
// gq = H · N - rowsum(H) q and gn = Hᵀ · Q - colsum(H) n. At distances clamped to 1e-4 the gradient is 0. For squared l2 H is
// 2 gy; a bias in the last column has the row or column sum of gy.
#include "score/score.h"

#include "score/score_chains.h"
#include "score/score_chunks.h"

namespace skein {
namespace {

using namespace score_detail;

// Runs f(task, begin, end) for all tasks that have edges; `empty` for the others.
template <class F, class G>
void for_each_task(const Tasks& tasks, F&& f, G&& empty) {
  parallel_for(tasks.count(), 1, [&](i64 task, i64) {
    if (tasks.begin(task) < tasks.end(task)) f(task, tasks.begin(task), tasks.end(task));
    else empty(task);
  });
}

template <class T>
void l1_backward(const T* gy, const T* query, const T* rows, const i32* ids, T* gq, T* gn, i64 m, i64 n, i64 d) {
  for (i64 i = 0; i < m; ++i) {
    const T* q = query + i * d;
    for (i64 j = 0; j < n; ++j) {
      const T g = gy[i * n + j];
      const T* row = rows + static_cast<i64>(ids[j]) * d;
      const auto slope = [&](i64 c) { return q[c] > row[c] ? g : q[c] < row[c] ? -g : T(0); };
      if (gq) {
        for (i64 c = 0; c < d; ++c) gq[i * d + c] -= slope(c);
      }
      if (gn) {
        for (i64 c = 0; c < d; ++c) gn[j * d + c] += slope(c);
      }
    }
  }
}

// The left factor of the products: gy itself for dot, gy / distance for l2, 2 gy for squared l2.
template <class T>
void fill_factors(ScoreOp op, const T* gy, const T* y, T* h, i64 m, i64 n, i64 stride) {
  const T cut = -std::sqrt(T(1e-8));
  for (i64 i = 0; i < m; ++i) {
    const T *g = gy + i * n, *s = y + i * n;
    T* to = h + i * stride;
    if (op == ScoreOp::dot) {
      std::copy(g, g + n, to);
    } else if (op != ScoreOp::l2) {
      for (i64 j = 0; j < n; ++j) to[j] = 2 * g[j];
    } else {
      for (i64 j = 0; j < n; ++j) to[j] = s[j] < cut ? g[j] / -s[j] : T(0);
    }
  }
}

// gq[m, d] -= rowsum(h) q; a bias in the last column has half the sum instead.
template <class T>
void subtract_row_sums(const T* h, i64 stride, const T* query, T* gq, i64 m, i64 n, i64 d, bool biased) {
  for (i64 i = 0; i < m; ++i) {
    T total = T(0);
    for (i64 j = 0; j < n; ++j) total += h[i * stride + j];
    for (i64 c = 0; c < d - biased; ++c) gq[i * d + c] -= total * query[i * d + c];
    if (biased) gq[(i + 1) * d - 1] = total / 2;
  }
}

// gn[n, d] -= colsum(h) n; a bias in the last column, which is 0 in `rows`, has half the sum added.
template <class T>
void subtract_column_sums(const T* h, i64 stride, const Panels<T>& rows, T* gn, i64 m, bool biased) {
  for (i64 j = 0; j < rows.k; ++j) {
    T total = T(0);
    for (i64 i = 0; i < m; ++i) total += h[i * stride + j];
    for (i64 panel = 0; panel < rows.count(); ++panel) {
      const T* row = rows.at(panel) + j * rows.padded(panel);
      T* to = gn + j * rows.n + panel * rows.kWide;
      for (int c = 0; c < rows.columns(panel); ++c) to[c] -= total * row[c];
    }
    if (biased) gn[(j + 1) * rows.n - 1] += total / 2;
  }
}

// Sets the last column to 0, so that products leave out the biases.
template <class T>
void clear_biases(const Panels<T>& rows) {
  const i64 last = rows.count() - 1;
  for (i64 j = 0; j < rows.k; ++j) rows.at(last)[j * rows.padded(last) + rows.columns(last) - 1] = T(0);
}

// The gradients of edges begin … end of moduli; gq and gn [n, d] are added to, either may be null.
template <class T>
void modulus_task(const T* gy, const T* query, const T* rows, const i32* ids, T* gq, T* gn, i64 m, i64 n, i64 d,
                  i64 band) {
  static thread_local gemm_detail::Scratch scratch;
  const i64 half = d / 2, of_rows = ComplexBlocks<T>::size(n, half), of_band = ComplexBlocks<T>::size(band, half);
  T* const at = scratch.get<T>(2 * of_rows + 2 * of_band);
  const ComplexBlocks<T> negatives{at, n, half}, sums{at + of_rows, n, half};
  gather_blocks(rows, ids, d, negatives);
  std::fill(sums.data, sums.data + of_rows, T(0));
  const Cut cut(m, band);
  i64 e = 0;
  for (i64 i = 0; i < cut.count; e += cut.height(i), ++i) {
    const i64 height = cut.height(i);
    const ComplexBlocks<T> queries{at + 2 * of_rows, height, half}, own{queries.data + of_band, height, half};
    gather_blocks(query + e * d, nullptr, d, queries);
    std::fill(own.data, own.data + ComplexBlocks<T>::size(height, half), T(0));
    modulus_backward(gy + e * n, n, queries, negatives, own, sums);
    if (gq) add_blocks(own, T(-1), gq + e * d, d);
  }
  if (gn) add_blocks(sums, T(1), gn, d);
}

}  // namespace

template <class T>
void chunked_scores(i64 op, const T* query, const T* rows, const i32* negatives, T* out, i64 edges, i64 width,
                    i64 chunks, i64 n) {
  const ScoreOp how = static_cast<ScoreOp>(op);
  const Tasks tasks(edges, chunks, n, width);
  for_each_task(tasks, [&](i64 task, i64 begin, i64 end) {
    static thread_local gemm_detail::Scratch scratch;
    T* const at = scratch.get<T>(Panels<T>::size(n, width) + Panels<T>::size(width, n));
    const Panels<T> plain{at, n, width}, across{at + Panels<T>::size(n, width), width, n};
    gather_panels(rows, negatives + tasks.chunk(task) * n, plain);
    transpose_panels(plain, across);
    for (i64 panel = 0; panel < across.count(); ++panel) {
      chains(how, query + begin * width, width, across, panel, out + begin * n + panel * across.kWide, n, end - begin);
    }
    if (how == ScoreOp::dot) return;
    for (i64 i = begin * n; i < end * n; ++i) out[i] = finish(how, out[i]);
  }, [](i64) {});
}

template <class T>
void chunked_scores_backward(i64 op, const T* gy, const T* y, const T* query, const T* rows, const i32* negatives,
                             T* g_query, T* g_rows, i64 edges, i64 width, i64 row_count, i64 chunks, i64 n) {
  static thread_local gemm_detail::Scratch kept;
  const ScoreOp how = static_cast<ScoreOp>(op);
  const i64 d = width, stride = score_stride<T>(n);
  const Tasks tasks(edges, chunks, n, d);
  T* const buffers = g_rows ? kept.get<T>(tasks.count() * n * d) : nullptr;
  for_each_task(tasks, [&](i64 task, i64 begin, i64 end) {
    static thread_local gemm_detail::Scratch scratch;
    const i32* ids = negatives + tasks.chunk(task) * n;
    T* const gn = buffers ? buffers + task * n * d : nullptr;
    if (gn) std::fill(gn, gn + n * d, T(0));
    if (g_query) std::fill(g_query + begin * d, g_query + end * d, T(0));
    if (how == ScoreOp::l1) {
      l1_backward(gy + begin * n, query + begin * d, rows, ids, g_query ? g_query + begin * d : nullptr, gn,
                  end - begin, n, d);
      return;
    }
    if (how == ScoreOp::modulus) {
      modulus_task(gy + begin * n, query + begin * d, rows, ids, g_query ? g_query + begin * d : nullptr, gn,
                   end - begin, n, d, tasks.band());
      return;
    }
    const bool biased = how == ScoreOp::biasedSquaredL2;
    const i64 most = tasks.band();
    T* const at = scratch.get<T>(Panels<T>::size(n, d) + Panels<T>::size(most, d) + most * stride);
    const Panels<T> plain{at, n, d};
    T* const queries = at + Panels<T>::size(n, d);
    T* const h = queries + Panels<T>::size(most, d);
    gather_panels(rows, ids, plain);
    if (biased) clear_biases(plain);
    const Cut cut(end - begin, most);
    i64 e = begin;
    for (i64 band = 0; band < cut.count; e += cut.height(band), ++band) {
      const i64 m = cut.height(band);
      const T* q = query + e * d;
      fill_factors(how, gy + e * n, y + e * n, h, m, n, stride);
      if (g_query) {
        multiply(static_cast<const T*>(h), stride, false, plain, g_query + e * d, d, m, true);
        if (how != ScoreOp::dot) subtract_row_sums(h, stride, q, g_query + e * d, m, n, d, biased);
      }
      if (gn) {
        const Panels<T> right{queries, m, d};
        gather_panels(q, nullptr, right);
        if (biased) clear_biases(right);
        multiply(static_cast<const T*>(h), stride, true, right, gn, d, n, true);
        if (how != ScoreOp::dot) subtract_column_sums(h, stride, plain, gn, m, biased);
      }
    }
  }, [&](i64 task) {
    if (buffers) std::fill(buffers + task * n * d, buffers + (task + 1) * n * d, T(0));
  });
  if (g_rows) add_negatives(tasks, buffers, negatives, g_rows, row_count);
}

#define SKEIN_INSTANTIATE(T)                                                                                  \
  template void chunked_scores(i64, const T*, const T*, const i32*, T*, i64, i64, i64, i64);                  \
  template void chunked_scores_backward(i64, const T*, const T*, const T*, const T*, const i32*, T*, T*, i64, \
                                        i64, i64, i64, i64);
SKEIN_INSTANTIATE(float)
SKEIN_INSTANTIATE(double)
#undef SKEIN_INSTANTIATE

}  // namespace skein
