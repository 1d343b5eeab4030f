// Queries against all rows of a table, in sub-batches of queries (query_batch.h).
//
// Sub-batches bound the memory and change no bits: each element of the table's gradient is one chain over the queries, carried from
// one sub-batch to the next, and a query's loss and gradient depend on nothing but the query and the table.
#include "score/query_loss.h"

#include "score/query_batch.h"

namespace skein {

using namespace score_detail;

constexpr i64 kStoredBytes = i64{1} << 26;  // of the exponentials of a sub-batch
constexpr i64 kLeastQueries = 64;           // fewer do not repay reading the table again

template <class T>
void query_loss(i64 kind, const T* query, const T* table, const T* bias, const i32* answer_offsets, const i32* answers,
                const i32* known_offsets, const i32* known, const T* omega, const T* tau, const T* sigma, double offset,
                double drop, const u32* key, T* loss, T* g_query, T* g_table, T* g_bias, i64 queries, i64 count,
                i64 width) {
  if (queries == 0 || count == 0) {
    std::fill(loss, loss + queries, T(0));
    if (g_query) std::fill(g_query, g_query + queries * width, T(0));
    if (g_table) std::fill(g_table, g_table + count * width, T(0));
    if (g_bias) std::fill(g_bias, g_bias + count, T(0));
    return;
  }
  static thread_local gemm_detail::Scratch scratch;
  const Dropout dropout(drop);
  u8* const kept = key ? scratch.get<u8>(count * width) : nullptr;
  if (key) dropout.draw(key, kept, count * width);
  const QueryArguments<T> a{static_cast<QueryKind>(kind), query, table, bias, omega, tau, sigma,
                            static_cast<T>(offset), kept, static_cast<T>(dropout.scale()), loss, g_query, g_table,
                            g_bias, queries, count, width};
  const Tiling tiling(count, width * static_cast<i64>(sizeof(T)));
  const i64 fit = kStoredBytes / (static_cast<i64>(sizeof(T)) * tiling.tiles * tiling.size);
  const Cut cut(queries, std::max(kLeastQueries, fit));
  i64 first = 0;
  for (i64 batch = 0; batch < cut.count; first += cut.height(batch), ++batch) {
    QueryBatch<T>(a, tiling, first, cut.height(batch), answer_offsets, answers, known_offsets, known).run();
  }
}

#define SKEIN_INSTANTIATE(T)                                                                                           \
  template void query_loss(i64, const T*, const T*, const T*, const i32*, const i32*, const i32*, const i32*, const T*, \
                           const T*, const T*, double, double, const u32*, T*, T*, T*, T*, i64, i64, i64);
SKEIN_INSTANTIATE(float)
SKEIN_INSTANTIATE(double)
#undef SKEIN_INSTANTIATE

}  // namespace skein
