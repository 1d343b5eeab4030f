// The rows of edges in temporal attention, and the dropout mask of their weights.
#pragma once

#include <algorithm>
#include <vector>

#include "attention/head_scores.h"
#include "attention/padded_rows.h"
#include "random/philox_counters.h"
#include "attention/time_wave.h"

namespace skein {

// Edges that are gathered together: rows of a few hundred numbers then stay in the first-level cache.
constexpr i64 kTileEdges = 16;

// Row p is [h[neighbors[p]] ‖ features[event_rows[p]] ‖ cosines, 1], each of the three sections padded with zeros to whole
// lanes, so that rows are written and read in whole lines.
template <class T>
struct EdgeRows {
  const T* h;
  const i32* neighbors;
  const T* features;
  const i32* event_rows;
  i64 node, edge, time;

  i64 width() const { return node + edge + time + 1; }
  i64 edge_at() const { return padded_width<T>(node); }
  i64 time_at() const { return edge_at() + padded_width<T>(edge); }
  i64 padded() const { return time_at() + padded_width<T>(time + 1); }

  // Rows from … to − 1; `cosines(p, place)` writes theirs, and may write on to the end of the last lanes.
  template <class F>
  void gather(i64 from, i64 to, T* x, F&& cosines) const {
    const i64 wide = padded(), at_edge = edge_at(), at_time = time_at();
    for (i64 p = from; p < to; ++p, x += wide) {
      pad_copy(h + neighbors[p] * node, x, node);
      if (edge > 0) pad_copy(features + event_rows[p] * edge, x + at_edge, edge);
      T* own = x + at_time;
      cosines(p, own);
      own[time] = T(1);
      for (i64 f = time + 1; f < wide - at_time; ++f) own[f] = T(0);
    }
  }

  // Prefetches what gather will read of these edges.
  void fetch(i64 from, i64 to) const {
    constexpr i64 kLine = 64 / static_cast<i64>(sizeof(T));
    for (i64 p = from; p < to; ++p) {
      const T* row = features + event_rows[p] * edge;
      for (i64 f = 0; f < edge; f += kLine) __builtin_prefetch(row + f);
    }
  }

  // Rows of all heads of destination i of [heads, num_dst, width()], padded in the same way, and back.
  void take_heads(const T* from, i64 i, i64 num_dst, i64 heads, T* to) const {
    for (i64 k = 0; k < heads; ++k, to += padded()) {
      const T* row = from + (k * num_dst + i) * width();
      pad_copy(row, to, node);
      pad_copy(row + node, to + edge_at(), edge);
      pad_copy(row + node + edge, to + time_at(), time + 1);
    }
  }
  void put_heads(const T* from, i64 i, i64 num_dst, i64 heads, T* to) const {
    for (i64 k = 0; k < heads; ++k, from += padded()) {
      T* row = to + (k * num_dst + i) * width();
      copy(from, row, node);
      copy(from + edge_at(), row + node, edge);
      copy(from + time_at(), row + node + edge, time + 1);
    }
  }

 private:
  static void pad_copy(const T* from, T* to, i64 n) {
    for_lanes<T>(n, [=](i64 f, auto lanes) { Lanes<T>::load(from + f, lanes, T(0)).store(to + f); });
  }
  static void copy(const T* from, T* to, i64 n) {
    for_lanes<T>(n, [=](i64 f, auto lanes) { Lanes<T>::load(from + f).store(to + f, lanes); });
  }
};

// Frequencies and phases in double, with zeros up to whole lanes: rows of waves then have no tail.
template <class T>
struct Waves {
  std::vector<double> w, b;
  Waves(const T* from_w, const T* from_b, i64 n)
      : w(static_cast<std::size_t>(padded_width<T>(n))), b(static_cast<std::size_t>(padded_width<T>(n))) {
    std::copy(from_w, from_w + n, w.begin());
    std::copy(from_b, from_b + n, b.begin());
  }
  template <bool cosine>
  void row(T span, T* out) const {
    wave_row<cosine>(static_cast<double>(span), w.data(), b.data(), out, static_cast<i64>(w.size()));
  }
};

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

// Numbers in whole lines.
template <class T>
class Lines {
 public:
  T* resize(i64 n) {
    room_.resize(static_cast<std::size_t>(n + Lanes<T>::count));
    const auto address = reinterpret_cast<std::uintptr_t>(room_.data());
    return data_ = room_.data() + (64 - address % 64) % 64 / sizeof(T);
  }
  T* data() const { return data_; }

 private:
  std::vector<T> room_;
  T* data_ = nullptr;
};

// Scratch of one thread: a tile of rows, two sets of head rows, one of sums, sines of a tile, numbers of edges and heads.
template <class T>
struct EdgeBuffers {
  Lines<T> x, query, out, sums, sines;
  std::vector<T> shares, scores, common;
  void resize(i64 padded, i64 heads, i64 time) {
    x.resize(kTileEdges * padded);
    for (auto* rows : {&query, &out, &sums}) rows->resize(heads * padded);
    sines.resize(kTileEdges * padded_width<T>(time));
    common.resize(static_cast<std::size_t>(heads));
  }
  void edges(i64 n) {
    shares.resize(static_cast<std::size_t>(n));
    scores.resize(static_cast<std::size_t>(n));
  }
};

}  // namespace skein
