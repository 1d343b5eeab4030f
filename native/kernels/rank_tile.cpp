// How many rows of a tile score higher than, or the same as, each query's positive: one step of a rank over all nodes
// that never holds more scores than one block.
//
// The tile is packed once for all threads. A thread takes a block of queries and goes through the panels: scores, counts,
// and then the scores of the filtered rows are looked up in the block and taken out of the counts. Scores have the bits of
// pair_scores, so a row equal to the positive's counts as equal. A comparison with NaN counts as higher: a broken model
// must not look perfect.
#include "score.h"

#include "lanes.h"
#include "score_chunks.h"

namespace skein {
namespace {

using namespace score_detail;

constexpr i64 kBlockQueries = 8 * gemm_detail::kRowsWide;

// Counters of each query, by column of a panel, so that counting needs no sums across a vector.
template <class T>
struct Counters {
  i32 greater[kBlockQueries][Panels<T>::kWide], equal[kBlockQueries][Panels<T>::kWide];
};

template <class T>
inline void count_row(const T* SKEIN_RESTRICT x, T own, int columns, i32* SKEIN_RESTRICT greater,
                      i32* SKEIN_RESTRICT equal) {
  constexpr int kWide = Panels<T>::kWide;
  if (columns == kWide) {
    for (int j = 0; j < kWide; ++j) greater[j] += !(x[j] <= own);
    for (int j = 0; j < kWide; ++j) equal[j] += x[j] == own;
  } else {
    for (int j = 0; j < columns; ++j) greater[j] += !(x[j] <= own);
    for (int j = 0; j < columns; ++j) equal[j] += x[j] == own;
  }
}

}  // namespace

template <class T>
void rank_tile(i64 op, const T* query, const T* positive, const i32* positive_ids, const T* tile, i64 first,
               const i32* filter_offsets, const i32* filter_ids, i32* greater, i32* equal, i64 queries, i64 width,
               i64 count) {
  static thread_local gemm_detail::Scratch kept;
  const ScoreOp how = static_cast<ScoreOp>(op);
  if (count == 0) return;
  const Panels<T> across{kept.get<T>(Panels<T>::size(width, count)), width, count};
  constexpr i64 kWide = Panels<T>::kWide;
  parallel_for(across.count(), 8, [&](i64 begin, i64 end) {
    for (i64 panel = begin; panel < end; ++panel) {
      gemm_detail::pack_b_transposed(tile + panel * kWide * width, width, width, across.columns(panel),
                                     across.padded(panel), across.at(panel));
    }
  });
  parallel_for(queries, kBlockQueries, [&](i64 begin, i64 end) {
    alignas(64) T scores[kBlockQueries * kWide];
    alignas(64) Counters<T> counters = {};
    i32 cursor[kBlockQueries];
    const i64 m = end - begin;
    for (i64 r = 0; r < m; ++r) {
      const i32* ids = filter_ids;
      cursor[r] = filter_offsets ? static_cast<i32>(std::lower_bound(ids + filter_offsets[begin + r],
                                                                     ids + filter_offsets[begin + r + 1], first) - ids)
                                 : 0;
    }
    for (i64 panel = 0; panel < across.count(); ++panel) {
      const int columns = across.columns(panel);
      const i64 from = first + panel * kWide, to = from + columns;
      chains(how, query + begin * width, width, across, panel, scores, kWide, m);
      for (i64 r = 0; r < m; ++r) {
        const i64 q = begin + r;
        T* x = scores + r * kWide;
        if (how != ScoreOp::dot) {
          for (int j = 0; j < columns; ++j) x[j] = finish(how, x[j]);
        }
        const T own = positive[q];
        count_row(x, own, columns, counters.greater[r], counters.equal[r]);
        const auto leave_out = [&](i64 id) {
          greater[q] -= !(x[id - from] <= own);
          equal[q] -= x[id - from] == own;
        };
        const i64 self = positive_ids[q];
        if (self >= from && self < to) leave_out(self);
        if (!filter_offsets) continue;
        const i32 last = filter_offsets[q + 1];
        for (i32& k = cursor[r]; k < last && filter_ids[k] < to; ++k) {
          if (filter_ids[k] != self && (k == filter_offsets[q] || filter_ids[k] != filter_ids[k - 1]))
            leave_out(filter_ids[k]);
        }
      }
    }
    for (i64 r = 0; r < m; ++r) {
      for (i64 j = 0; j < kWide; ++j) greater[begin + r] += counters.greater[r][j];
      for (i64 j = 0; j < kWide; ++j) equal[begin + r] += counters.equal[r][j];
    }
  }, Share::asked);
}

#define SKEIN_INSTANTIATE(T)                                                                                     \
  template void rank_tile(i64, const T*, const T*, const i32*, const T*, i64, const i32*, const i32*, i32*, i32*, \
                          i64, i64, i64);
SKEIN_INSTANTIATE(float)
SKEIN_INSTANTIATE(double)
#undef SKEIN_INSTANTIATE

}  // namespace skein
