// Rows of features divided into tiles of whole vectors that fit into the registers.
//
// A row that is not a multiple of a vector ends with one that steps back over columns already covered, so that no load
// needs a mask; it shares its tile with the vector it overlaps. A row shorter than a vector is one tile of that many lanes.
#pragma once

#include <type_traits>

#include "sparse/edge_weights.h"

namespace skein {

// Vectors (64 bytes each) per tile: half of the registers.
#if defined(__AVX512F__)
constexpr int kTileVectors = 8;
#elif defined(__AVX2__) || defined(SKEIN_NEON)
constexpr int kTileVectors = 4;
#else
constexpr int kTileVectors = 2;
#endif

// A tile's size changes no result. Doubles serve checks of gradients, where small tiles that compile quickly will do.
template <class T>
constexpr int kTileVectorsOf = sizeof(T) == 8 ? 2 : kTileVectors;

template <class T, bool partial, int N>
inline Lanes<T> load_tile(const T* row, const TileColumns<N>& columns, int k) {
  if constexpr (partial) return Lanes<T>::load(row, columns.lanes, T(0));
  else return Lanes<T>::load(row + columns.at[k]);
}

template <class T, bool partial, int N>
inline void store_tile(const Lanes<T>& v, T* row, const TileColumns<N>& columns, int k, bool streamed = false) {
  if constexpr (partial) v.store(row, columns.lanes);
  else v.store(row + columns.at[k], AllLanes{}, streamed);
}

// Rows fetched ahead of their use, by the indices of the entries to come.
template <class T>
struct GatheredRows {
  const T* x;
  const i32* indices;
  i64 width;
  i64 end;    // of the entries
  i64 ahead;  // how many entries ahead a row is fetched

  GatheredRows(const T* rows, const i32* from, i64 row_width, i64 entries)
      : x(rows), indices(from), width(row_width), end(entries), ahead(rows_ahead(row_width * i64{sizeof(T)})) {}
  const T* row(i64 p) const { return x + static_cast<i64>(indices[p]) * width; }
  template <bool partial, int N>
  void fetch(i64 p, const TileColumns<N>& columns) const {
    if (p + ahead >= end) return;
    const T* next = row(p + ahead);
#pragma GCC unroll 16
    for (int k = 0; k < N; ++k) __builtin_prefetch(next + columns.at[k]);
    // The last byte: rows need not start with a line.
    __builtin_prefetch(next + (partial ? columns.lanes : columns.at[N - 1] + Lanes<T>::count) - 1);
  }
};

template <int N, class F>
inline void with_count(int n, F&& f) {
  if constexpr (N > 0) {
    if (n == N) f(std::integral_constant<int, N>{});
    else with_count<N - 1>(n, f);
  }
}

// Calls f(columns, partial) for every tile of a row; columns is a TileColumns<N>, partial a true_type or false_type.
// `most`: vectors per tile, at least 2.
template <class T, int most = kTileVectorsOf<T>, class F>
inline void for_tiles(i64 width, F&& f) {
  constexpr i64 lanes = Lanes<T>::count;
  if (width < lanes) {
    f(TileColumns<1>{{0}, static_cast<int>(width)}, std::true_type{});
    return;
  }
  const i64 vectors = (width + lanes - 1) / lanes;
  const i64 tiles = (vectors + most - 1) / most;
  for (i64 t = 0; t < tiles; ++t) {
    // The last tiles are the larger ones: the vector that steps back is never alone.
    const i64 first = vectors * t / tiles, last = vectors * (t + 1) / tiles;
    with_count<most>(static_cast<int>(last - first), [&](auto n) {
      TileColumns<n.value> columns{};
      for (int k = 0; k < n.value; ++k) columns.at[k] = (first + k) * lanes;
      if (last * lanes > width) columns.at[n.value - 1] = width - lanes;
      f(columns, std::false_type{});
    });
  }
}

// Calls f(weights) with the struct that serves these weights in this tile.
template <class T, bool partial, int N, class F>
inline void with_weights(const EdgeWeights<T>& weights, i64 width, const TileColumns<N>& columns, F&& f) {
  switch (weight_kind(weights, width)) {
    case WeightKind::none: return f(NoWeight<T, N>(weights, columns));
    case WeightKind::entry: return f(EntryWeight<T, N>(weights, columns));
    case WeightKind::vector: return f(VectorWeight<T, N>(weights, columns));
    case WeightKind::feature: return f(FeatureWeight<T, N, partial>(weights, columns));
    case WeightKind::spread: return f(SpreadWeight<T, N>(weights, columns));
  }
}

}  // namespace skein
