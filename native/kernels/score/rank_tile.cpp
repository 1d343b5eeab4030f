// How many rows of a tile score higher than, or the same as, each query's positive: one step of a rank over all nodes
// that never holds more scores than one block.
//
// The tile is packed once for all threads. A thread takes a block of queries and goes through the panels: scores are
// compared with the positives while they are in registers and leave them as two words of bits per query, from which the
// filtered rows are taken out before the rest is counted. Scores have the bits of pair_scores, so a row equal to the
// positive's counts as equal. A comparison with NaN counts as higher: a broken model must not look perfect.
#include "score/score.h"

#include <limits>

#include "score/score_chains.h"

namespace skein {
namespace {

using namespace score_detail;

constexpr i64 kBlockQueries = 8 * gemm_detail::kRowsWide;

// How the rows of one panel compare with each query's positive: bit j for row j.
struct Marks {
  u32 above[kBlockQueries], same[kBlockQueries];
};

template <class T, int C>
inline void mark(const typename Simd<T>::V (&x)[C], T own, u32& above, u32& same) {
  using S = Simd<T>;
  const typename S::V bar = S::set(own);
  above = same = 0;
#pragma GCC unroll 2
  for (int j = 0; j < C; ++j) {
    above |= S::above(x[j], bar) << (j * S::width);
    same |= S::same(x[j], bar) << (j * S::width);
  }
}

// R queries against one panel: dot products that are compared and never stored. The chains are those of gemm_micro.h.
template <class T, int R, int C>
void dot_tile(i64 k, const T* a, i64 lda, const T* b, const T* own, u32* above, u32* same) {
  using S = Simd<T>;
  typename S::V x[R][C];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
    for (int j = 0; j < C; ++j) x[r][j] = S::zero();
  }
  gemm_detail::sweep_rows<T, R, C>(x, k, a, lda, b, C * S::width, {a + R * lda, b, 0});
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) mark<T, C>(x[r], own[r], above[r], same[r]);
}

template <class T>
using DotTile = void (*)(i64, const T*, i64, const T*, const T*, u32*, u32*);

template <class T, int C, int... R>
constexpr std::array<DotTile<T>, sizeof...(R)> dot_tiles(std::integer_sequence<int, R...>) {
  return {&dot_tile<T, R + 1, C>...};
}

// m queries from `query` on against one panel.
template <class T>
void mark_panel(ScoreOp op, const T* query, const T* positive, const Panels<T>& across, i64 panel, i64 m, Marks& to) {
  using S = Simd<T>;
  using Heights = std::make_integer_sequence<int, gemm_detail::kRowsWide>;
  static constexpr auto wide = dot_tiles<T, 2>(Heights{}), narrow = dot_tiles<T, 1>(Heights{});
  const bool full = across.padded(panel) > S::width;
  if (op == ScoreOp::dot) {
    const Cut cut(m, gemm_detail::kRowsWide);
    i64 row = 0;
    for (i64 band = 0; band < cut.count; row += cut.height(band), ++band) {
      (full ? wide : narrow)[cut.height(band) - 1](across.k, query + row * across.k, across.k, across.at(panel),
                                                   positive + row, to.above + row, to.same + row);
    }
    return;
  }
  constexpr i64 kWide = Panels<T>::kWide;
  alignas(64) T scores[kBlockQueries * kWide];
  chains(op, query, across.k, across, panel, scores, kWide, m);
  for (i64 r = 0; r < m; ++r) {
    T* x = scores + r * kWide;
    for (int j = across.columns(panel); j < kWide; ++j) x[j] = T(0);
    for (int j = 0; j < kWide; ++j) x[j] = finish(op, x[j]);
    const typename S::V both[] = {S::load(x), S::load(x + S::width)};
    mark<T, 2>(both, positive[r], to.above[r], to.same[r]);
  }
}

// The nodes that are ignored for one query, in order: its positive and those of its list.
class Excluded {
 public:
  void start(const i32* begin, const i32* end, i32 self, i64 first) {
    at_ = begin == end ? end : std::lower_bound(begin, end, first);
    end_ = end;
    self_ = self >= first ? self : kNone;
    find_next();
  }
  // Bits of those in [from, to), which follows the last requested range.
  inline u32 take(i64 from, i64 to) {
    u32 bits = 0;
    while (next_ < to) {
      bits |= u32{1} << (next_ - from);
      if (next_ == self_) self_ = kNone;
      else ++at_;
      find_next();
    }
    return bits;
  }

 private:
  static constexpr i64 kNone = std::numeric_limits<i64>::max();
  void find_next() { next_ = std::min(self_, at_ == end_ ? kNone : i64{*at_}); }
  i64 next_, self_;
  const i32 *at_, *end_;
};

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
    Marks marks;
    Excluded excluded[kBlockQueries];
    i32 above[kBlockQueries] = {}, same[kBlockQueries] = {};
    const i64 m = end - begin;
    for (i64 r = 0; r < m; ++r) {
      const i64 q = begin + r;
      const i32 from = filter_offsets ? filter_offsets[q] : 0, to = filter_offsets ? filter_offsets[q + 1] : 0;
      excluded[r].start(filter_ids + from, filter_ids + to, positive_ids[q], first);
    }
    for (i64 panel = 0; panel < across.count(); ++panel) {
      const int columns = across.columns(panel);
      const i64 from = first + panel * kWide;
      const u32 exist = ~u32{0} >> (32 - columns);
      mark_panel(how, query + begin * width, positive + begin, across, panel, m, marks);
      for (i64 r = 0; r < m; ++r) {
        const u32 candidates = exist & ~excluded[r].take(from, from + columns);
        above[r] += __builtin_popcount(marks.above[r] & candidates);
        same[r] += __builtin_popcount(marks.same[r] & candidates);
      }
    }
    for (i64 r = 0; r < m; ++r) {
      greater[begin + r] += above[r];
      equal[begin + r] += same[r];
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
