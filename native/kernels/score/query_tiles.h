// How queries against all rows of a table are divided, and the work on one tile of its rows for one thread.
//
// Tiles and groups of tiles depend on the table's sizes alone, so that a query's results depend neither on the other queries nor on
// the threads. A tile's rows stay in the second-level cache while bands of queries pass by.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "random/philox.h"
#include "score/query_rows.h"
#include "score/score_chunks.h"

namespace skein {
namespace score_detail {

template <class T>
struct QueryArguments {
  QueryKind kind;
  const T *query, *table, *bias;
  const T *omega, *tau, *sigma;
  T offset;
  const u8* kept;  // for each element of the table, 0 where it is dropped; null: nothing is
  T kept_scale;
  T *loss, *g_query, *g_table, *g_bias;
  i64 queries, count, width;

  bool gradient() const { return g_query || g_table || g_bias; }
};

constexpr i64 kTileBytes = i64{1} << 18;  // of a tile's rows, where that makes tiles of kLeastTile to kMostTile rows
constexpr i64 kLeastTile = 256, kMostTile = 512, kTileStep = 64;
constexpr i64 kLeastTiles = 4;            // where the table is not too small: several threads have work
constexpr i64 kBandQueries = 256;         // whose scores against a tile are in the cache together

// Which elements of a table are kept: half-words of the key's sequence, of each word the lower one first, that are at least
// `threshold`. Half of the random numbers would be wasted on more digits of p; the scale is that of the probability used.
struct Dropout {
  u32 threshold;

  explicit Dropout(double p) : threshold(static_cast<u32>(std::lround(p * 65536))) {}
  double scale() const { return 65536.0 / (65536.0 - threshold); }
  void draw(const u32* key, u8* kept, i64 n) const {
    parallel_for(n, kElementGrain, [=](i64 begin, i64 end) {  // begin is even
      philox_words(key, static_cast<u64>(begin / 2), (end - begin + 1) / 2, [=](const u32* words, i64 offset, i64) {
        const i64 first = begin + 2 * offset, count = std::min<i64>(2 * kPhiloxPiece, end - first);
        u16 halves[2 * kPhiloxPiece];
        std::memcpy(halves, words, static_cast<std::size_t>(count) * sizeof(u16));
        for (i64 i = 0; i < count; ++i) kept[first + i] = halves[i] >= threshold;
      });
    });
  }
};

// y = x scaled where it is kept, else 0; they may be the same array.
template <class T>
inline void drop(const T* x, const u8* kept, T scale, T* y, i64 n) {
  for (i64 i = 0; i < n; ++i) {
    const T scaled = x[i] * scale;
    y[i] = kept[i] ? scaled : T(0);
  }
}

// Tiles of `size` rows, the last one shorter; groups are runs of tiles that add up the gradient of the queries separately.
struct Tiling {
  i64 count, size, tiles, groups;

  Tiling(i64 count, i64 row_bytes) : count(count) {
    const i64 fit = kTileBytes / row_bytes / kTileStep * kTileStep;
    const i64 share = ceil_div(ceil_div(count, kLeastTiles), kTileStep) * kTileStep;
    size = std::min(share, std::max(kLeastTile, std::min(kMostTile, fit)));
    tiles = ceil_div(count, size);
    groups = std::min(tiles, std::max<i64>(2, std::min<i64>(16, (i64{1} << 15) / row_bytes)));
  }
  i64 begin(i64 tile) const { return tile * size; }
  i64 rows(i64 tile) const { return std::min(size, count - tile * size); }
  i64 first_tile(i64 group) const { return tiles * group / groups; }
};

// Ids of a sub-batch's queries, by tile, and within a tile by query.
class TileLists {
 public:
  struct Entry {
    i32 query, column;  // within the sub-batch, within the tile
    i64 at;             // position in the list of ids of the sub-batch
  };

  TileLists(const Tiling& tiling, const i32* offsets, const i32* ids, i64 queries) : begin_(tiling.tiles + 1) {
    if (!offsets) return;
    const i64 first = offsets[0], size = offsets[queries] - first;
    entries_.resize(size);
    for (i64 k = 0; k < size; ++k) ++begin_[ids[first + k] / tiling.size + 1];
    for (i64 t = 0; t < tiling.tiles; ++t) begin_[t + 1] += begin_[t];
    std::vector<i64> next(begin_.begin(), begin_.end() - 1);
    for (i64 i = 0; i < queries; ++i) {
      for (i64 k = offsets[i] - first; k < offsets[i + 1] - first; ++k) {
        const i64 id = ids[first + k], tile = id / tiling.size;
        entries_[next[tile]++] = {static_cast<i32>(i), static_cast<i32>(id - tile * tiling.size), k};
      }
    }
  }

  // Calls f(entry) for the ids of queries [from, to) in a tile.
  template <class F>
  void each(i64 tile, i64 from, i64 to, F&& f) const {
    const auto end = entries_.begin() + begin_[tile + 1];
    auto at = std::lower_bound(entries_.begin() + begin_[tile], end, from,
                               [](const Entry& entry, i64 query) { return entry.query < query; });
    for (; at != end && at->query < to; ++at) f(*at);
  }

 private:
  std::vector<i64> begin_;
  std::vector<Entry> entries_;
};

// Scratch of one thread: a tile's rows as factors [rows, d] and [d, rows], the scores of a band, and the rows after dropout.
template <class T>
struct TileWork {
  Panels<T> plain, across;
  T *scores, *dropped;
  i64 stride;

  TileWork(const Tiling& tiling, i64 d, bool drops, gemm_detail::Scratch& scratch) : stride(score_stride<T>(tiling.size)) {
    const i64 n = tiling.size, sizes[] = {Panels<T>::size(n, d), Panels<T>::size(d, n), kBandQueries * stride};
    T* at = scratch.get<T>(sizes[0] + sizes[1] + sizes[2] + (drops ? n * d : 0));
    plain = {at, n, d};
    across = {at += sizes[0], d, n};
    scores = at += sizes[1];
    dropped = at + sizes[2];
  }

  const T* rows(const QueryArguments<T>& a, i64 first, i64 n) const {
    const T* const from = a.table + first * a.width;
    if (!a.kept) return from;
    drop(from, a.kept + first * a.width, a.kept_scale, dropped, n * a.width);
    return dropped;
  }
  void take_plain(const T* rows, i64 n) {
    plain.k = n;
    gather_panels(rows, nullptr, plain);
  }
  void take_across(const T* rows, i64 n) {
    across.n = n;
    for (i64 panel = 0; panel < across.count(); ++panel) {
      gemm_detail::pack_b_transposed(rows + panel * across.kWide * across.k, across.k, across.k, across.columns(panel),
                                     across.padded(panel), across.at(panel));
    }
  }
  T* row(i64 r) const { return scores + r * stride; }
};

}  // namespace score_detail
}  // namespace skein
