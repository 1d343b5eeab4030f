// Queries against all rows of a table: three matrix products and one pass over the scores.
//
// Scores S = Q · Eᵀ of a sub-batch of queries exist once; the pass over their rows makes the loss and turns S into the gradient G
// in place; then dQ = G · E and dE += Gᵀ · Q. Sub-batches bound the memory, and change no bits: every element of dE is one chain
// over the queries, carried from one sub-batch to the next, and a query's loss and gradient depend on nothing but its own row.
#include "score/query_loss.h"

#include <algorithm>

#include "gemm/gemm.h"
#include "gemm/gemm_pack.h"
#include "random/dropout.h"
#include "score/query_rows.h"

namespace skein {
namespace {

using namespace score_detail;

constexpr i64 kScoreBytes = i64{1} << 26;  // of the scores of a sub-batch
constexpr i64 kLeastRows = 64;             // fewer queries do not repay reading the table again

// out = (add ? out : 0) + the column sums of x [rows, cols].
template <class T>
void add_columns(const T* x, T* out, i64 rows, i64 cols, bool add) {
  constexpr i64 kColumns = 1024;
  parallel_for(cols, kColumns, [=](i64 begin, i64 end) {
    if (!add) std::fill(out + begin, out + end, T(0));
    for (i64 r = 0; r < rows; ++r) {
      const T* row = x + r * cols;
      for (i64 j = begin; j < end; ++j) out[j] += row[j];
    }
  });
}

}  // namespace

template <class T>
void query_loss(i64 kind, const T* query, const T* table, const T* bias, const i32* answer_offsets, const i32* answers,
                const i32* known_offsets, const i32* known, const T* omega, const T* tau, const T* sigma, double offset,
                double drop, const u32* key, T* loss, T* g_query, T* g_table, T* g_bias, i64 queries, i64 count,
                i64 width) {
  static thread_local gemm_detail::Scratch score_scratch, table_scratch;
  const bool gradient = g_query || g_table || g_bias;
  const i64 fit = kScoreBytes / (static_cast<i64>(sizeof(T)) * std::max<i64>(1, count));
  const i64 most = std::min(queries, std::max(kLeastRows, fit));
  T* const scores = score_scratch.get<T>(most * count);
  const T* rows = table;
  if (key) {
    T* const dropped = table_scratch.get<T>(count * width);
    dropout(table, dropped, count * width, drop, key);
    rows = dropped;
  }
  i64 first = 0;
  do {  // once even without queries: the gradients must be written
    const i64 m = std::min(most, queries - first);
    const T* const q = query + first * width;
    gemm<T>(q, rows, bias, scores, m, count, width, false, true, false);
    parallel_for(m, 1, [&](i64 begin, i64 end) {
      static thread_local gemm_detail::Scratch saved;
      for (i64 i = begin; i < end; ++i) {
        const i64 r = first + i;
        QueryRow<T> row{answers + answer_offsets[r], nullptr, answer_offsets[r + 1] - answer_offsets[r], 0,
                        omega[r], tau[r], sigma[r], static_cast<T>(offset), nullptr};
        row.saved = saved.get<T>(row.answer_count);
        if (known_offsets) {
          row.known = known + known_offsets[r];
          row.known_count = known_offsets[r + 1] - known_offsets[r];
        }
        loss[r] = query_row(static_cast<QueryKind>(kind), scores + i * count, count, row, gradient);
      }
    });
    const bool later = first > 0;
    if (g_query) gemm<T>(scores, rows, nullptr, g_query + first * width, m, width, count, false, false, false);
    if (g_table) gemm<T>(scores, q, nullptr, g_table, count, width, m, true, false, later);
    if (g_bias) add_columns(static_cast<const T*>(scores), g_bias, m, count, later);
    first += most;
  } while (first < queries);
  if (key && g_table) dropout(static_cast<const T*>(g_table), g_table, count * width, drop, key);
}

#define SKEIN_INSTANTIATE(T)                                                                                           \
  template void query_loss(i64, const T*, const T*, const T*, const i32*, const i32*, const i32*, const i32*, const T*, \
                           const T*, const T*, double, double, const u32*, T*, T*, T*, T*, i64, i64, i64);
SKEIN_INSTANTIATE(float)
SKEIN_INSTANTIATE(double)
#undef SKEIN_INSTANTIATE

}  // namespace skein
