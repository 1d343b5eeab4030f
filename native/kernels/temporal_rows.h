// The rows that stand for edges in temporal attention, and the dropout mask of their weights.
#pragma once

#include <vector>

#include "head_scores.h"
#include "padded_rows.h"
#include "philox_counters.h"
#include "time_wave.h"

namespace skein {

// Edges that are gathered at once: rows of a few hundred numbers then stay in the first-level cache.
constexpr i64 kTileEdges = 16;

// Row p is [h[neighbors[p]] ‖ features[event_rows[p]] ‖ cosines ‖ 1], then zeros up to `padded`.
template <class T>
struct EdgeRows {
  const T* h;
  const i32* neighbors;
  const T* features;
  const i32* event_rows;
  const T* spans;
  const T* w;
  const T* b;
  i64 node, edge, time;

  i64 width() const { return node + edge + time + 1; }
  i64 padded() const { return padded_width<T>(width()); }

  // Rows from … to − 1 without cosines, for which `cosines(p, place)` is called.
  template <class F>
  void gather(i64 from, i64 to, T* x, F&& cosines) const {
    const i64 wide = padded(), ones = width() - 1;
    for (i64 p = from; p < to; ++p, x += wide) {
      std::memcpy(x, h + neighbors[p] * node, static_cast<std::size_t>(node) * sizeof(T));
      if (edge > 0) std::memcpy(x + node, features + event_rows[p] * edge, static_cast<std::size_t>(edge) * sizeof(T));
      cosines(p, x + node + edge);
      x[ones] = T(1);
      for (i64 f = ones + 1; f < wide; ++f) x[f] = T(0);
    }
  }
  // Asks for what gather will read of these edges.
  void fetch(i64 from, i64 to) const {
    constexpr i64 kLine = 64 / static_cast<i64>(sizeof(T));
    for (i64 p = from; p < to; ++p) {
      const T* row = features + event_rows[p] * edge;
      for (i64 f = 0; f < edge; f += kLine) __builtin_prefetch(row + f);
    }
  }
};

// Rows of all heads of destination i of [heads, num_dst, width], padded, and back.
template <class T>
inline void take_heads(const T* from, i64 i, i64 num_dst, i64 heads, i64 width, i64 padded, T* to) {
  for (i64 k = 0; k < heads; ++k, to += padded) {
    std::memcpy(to, from + (k * num_dst + i) * width, static_cast<std::size_t>(width) * sizeof(T));
    for (i64 f = width; f < padded; ++f) to[f] = T(0);
  }
}

template <class T>
inline void put_heads(const T* from, i64 i, i64 num_dst, i64 heads, i64 width, i64 padded, T* to) {
  for (i64 k = 0; k < heads; ++k, from += padded) {
    std::memcpy(to + (k * num_dst + i) * width, from, static_cast<std::size_t>(width) * sizeof(T));
  }
}

template <class T>
struct EdgeMask {
  const u32* key;
  u64 bound;
  T factor;

  EdgeMask(const u32* k, double drop)
      : key(k), bound(philox_threshold(drop)), factor(drop < 1 ? static_cast<T>(1.0 / (1.0 - drop)) : T(0)) {}

  // v[c] is dropped or scaled, c < n, for destination i.
  void apply(i64 i, i64 n, T* v) const {
    if (key == nullptr) return;
    const DrawKey draw{key[0], key[1], key[2], key[3]};
    u32 c0[kCounterLanes], c1[kCounterLanes], words[4][kCounterLanes];
    for (i64 first = 0; first < n; first += 4 * kCounterLanes) {
      for (int lane = 0; lane < kCounterLanes; ++lane) {
        c0[lane] = static_cast<u32>(i);
        c1[lane] = static_cast<u32>(first / 4 + lane);
      }
      philox_counters(draw, c0, c1, words);
      const i64 count = n - first < 4 * kCounterLanes ? n - first : 4 * kCounterLanes;
      for (i64 c = 0; c < count; ++c) {
        v[first + c] = words[c % 4][c / 4] >= bound ? v[first + c] * factor : T(0);
      }
    }
  }
};

// Buffers of one thread: a tile of rows, two sets of padded head rows, one of sums, and numbers of edges and times.
template <class T>
struct EdgeBuffers {
  std::vector<T> x, first, second, sums, shares, scores, slopes, times, common;
  void resize(i64 padded, i64 heads, i64 time) {
    x.resize(static_cast<std::size_t>(kTileEdges * padded));
    for (auto* rows : {&first, &second, &sums}) rows->resize(static_cast<std::size_t>(heads * padded));
    slopes.resize(static_cast<std::size_t>(time));
    times.resize(static_cast<std::size_t>(time));
    common.resize(static_cast<std::size_t>(heads));
  }
  void edges(i64 n) {
    shares.resize(static_cast<std::size_t>(n));
    scores.resize(static_cast<std::size_t>(n));
  }
};

}  // namespace skein
