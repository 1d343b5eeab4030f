// Which neighbours a node draws: the positions of its row that a hop takes, always in ascending order.
//
// Without replacement: Floyd's algorithm (k draws for any degree; Bentley and Floyd, CACM 30, 1987). Eight nodes draw
// side by side, one per lane: their words, the comparisons with earlier picks and the sorting network are plain vector
// code. Large fan-outs, weights and edge dropout go node by node. Only integers decide, so every implementation agrees.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "support/list.h"
#include "random/philox_counters.h"
#include "sample/sort_picks.h"

namespace skein {

// One hop over one relation. `weights` holds, per position, the running sum of integer weights within its row.
struct Hop {
  List<const i32> offsets;
  i64 entries;  // that the offsets may speak of
  i64 room;     // for positions
  const u32* weights;
  DrawKey key;
  i64 fanout;  // negative: all
  u32 drop;    // not 0: each edge is left out when its word is below
  bool replace;
  i64 first = 0;  // id of the node whose row is the first
};

// Damaged structures end a call, never the process.
[[noreturn]] __attribute__((cold, noinline)) inline void refuse_sampling(const char* what) { throw std::out_of_range(what); }

struct NodeRow {
  i32 start, degree;
};

inline NodeRow row_of(const Hop& hop, i32 node) {
  const i64 at = static_cast<i64>(node) - hop.first;
  if (!hop.offsets.has(at) || at + 1 >= hop.offsets.size) refuse_sampling("a node is not one of the graph's");
  const i32 start = hop.offsets[at], end = hop.offsets[at + 1];
  if (start < 0 || end < start || end > hop.entries) refuse_sampling("offsets fall, or lead beyond the entries");
  return {start, end - start};
}

// Upper bound of the positions that a node of this degree takes.
inline i64 most_picks(const Hop& hop, i64 degree) {
  const bool all = hop.fanout < 0 || degree == 0 || hop.drop != 0 || (!hop.replace && degree < hop.fanout);
  return all ? degree : hop.fanout;
}

// The words of one node in order, for node-by-node code.
class NodeWords {
 public:
  NodeWords(const DrawKey& key, i32 node) : key_(key), node_(static_cast<u32>(node)) {}
  u32 next() {
    if ((drawn_ & 3) == 0) philox_counter(key_, node_, static_cast<u32>(drawn_ >> 2), words_);
    return words_[drawn_++ & 3];
  }

 private:
  const DrawKey& key_;
  u32 node_;
  i64 drawn_ = 0;
  u32 words_[4];
};

constexpr i64 kGroupFanout = 32;  // up to here the quadratic comparisons of a group are cheaper than a table
typedef i32 Lanes __attribute__((vector_size(4 * kCounterLanes)));
typedef i32 LanesAt __attribute__((vector_size(4 * kCounterLanes), aligned(4)));

// Compare-exchange pairs of Batcher's merge exchange (Knuth, TAOCP 3, algorithm 5.2.2M) for n values.
class SortingNetwork {
 public:
  explicit SortingNetwork(i64 n) {
    i64 top = 1;
    while (2 * top < n) top *= 2;
    for (i64 p = top; p > 0; p /= 2) {
      for (i64 q = top, r = 0, d = p; d > 0; d = q - p, q /= 2, r = p) {
        for (i64 i = 0; i + d < n; ++i) {
          if ((i & p) == r) pairs_[count_++] = {static_cast<u8>(i), static_cast<u8>(i + d)};
        }
        if (q == p) break;
      }
    }
  }
  void sort(Lanes* values) const {
    for (int i = 0; i < count_; ++i) {
      const Lanes a = values[pairs_[i].low], b = values[pairs_[i].high];
      const Lanes swap = a > b;
      values[pairs_[i].low] = swap ? b : a;
      values[pairs_[i].high] = swap ? a : b;
    }
  }

 private:
  struct Pair { u8 low, high; };
  Pair pairs_[kGroupFanout * 8];
  int count_ = 0;
};

// Nodes that wait for their draw: id, first position and degree of the row, and where their picks go.
struct Group {
  u32 node[kCounterLanes] = {};
  i32 start[kCounterLanes] = {};
  i32 degree[kCounterLanes] = {};
  i64 position[kCounterLanes] = {};
  int count = 0;
};

// By reference, because passing vectors by value depends on the instruction set.
inline void bounded_lanes(const u32* words, const Lanes& range, Lanes& out) {
  for (int i = 0; i < kCounterLanes; ++i) out[i] = static_cast<i32>(bounded_word(words[i], static_cast<u32>(range[i])));
}

inline void draw_group(const Hop& hop, const SortingNetwork& network, Group& group, i32* positions) {
  const i64 k = hop.fanout;
  alignas(64) u32 words[kGroupFanout + 4][kCounterLanes];
  alignas(64) Lanes picks[kGroupFanout];
  for (i64 draw = 0; draw < k; draw += 4) {
    u32 block[kCounterLanes];
    for (u32& b : block) b = static_cast<u32>(draw >> 2);
    philox_counters(hop.key, group.node, block, words + draw);
  }
  const Lanes degree = *reinterpret_cast<const LanesAt*>(group.degree);
  if (hop.replace) {
    for (i64 i = 0; i < k; ++i) bounded_lanes(words[i], degree, picks[i]);
  } else {
    for (i64 i = 0; i < k; ++i) {
      const Lanes last = degree - static_cast<i32>(k - i);
      Lanes drawn;
      bounded_lanes(words[i], last + 1, drawn);
      Lanes taken = {};
      for (i64 j = 0; j < i; ++j) taken |= picks[j] == drawn;
      picks[i] = taken ? last : drawn;
    }
  }
  network.sort(picks);
  const i32* flat = reinterpret_cast<const i32*>(picks);
  for (int lane = 0; lane < group.count; ++lane) {
    i32* SKEIN_RESTRICT to = positions + group.position[lane];
    for (i64 i = 0; i < k; ++i) to[i] = group.start[lane] + flat[i * kCounterLanes + lane];
  }
  group.count = 0;
}

// A fan-out beyond a group's: the earlier picks are looked up in a table.
inline void draw_many(const Hop& hop, i32 node, i32 start, i32 degree, i32* to) {
  const i64 k = hop.fanout;
  NodeWords words(hop.key, node);
  if (hop.replace) {
    for (i64 i = 0; i < k; ++i) to[i] = start + static_cast<i32>(bounded_word(words.next(), static_cast<u32>(degree)));
  } else {
    thread_local std::vector<i32> table;
    size_t size = 64;
    while (size < 2 * static_cast<size_t>(k)) size *= 2;
    table.assign(size, -1);
    const auto insert = [&](i32 value) {
      size_t at = (static_cast<u32>(value) * 0x9e3779b9u) & (size - 1);
      for (; table[at] >= 0; at = (at + 1) & (size - 1)) {
        if (table[at] == value) return false;
      }
      table[at] = value;
      return true;
    };
    for (i64 i = 0; i < k; ++i) {
      const i32 last = degree - static_cast<i32>(k - i);
      const i32 drawn = static_cast<i32>(bounded_word(words.next(), static_cast<u32>(last + 1)));
      const bool fresh = insert(drawn);
      if (!fresh) insert(last);
      to[i] = start + (fresh ? drawn : last);
    }
  }
  sort_picks(to, k);
}

// Weighted picks; without replacement each draw runs over what the earlier ones left. Returns how many.
inline i64 draw_weighted(const Hop& hop, i32 node, i32 start, i32 degree, i32* to) {
  const u32* sums = hop.weights + start;
  const auto before = [&](i32 i) { return i == 0 ? 0u : sums[i - 1]; };
  const u32 total = degree == 0 ? 0 : sums[degree - 1];
  i64 count = 0;
  if (hop.fanout < 0 || (!hop.replace && degree <= hop.fanout)) {
    for (i32 i = 0; i < degree; ++i) {
      if (sums[i] != before(i)) to[count++] = start + i;
    }
    return count;
  }
  NodeWords words(hop.key, node);
  for (u32 left = total; count < hop.fanout && left > 0; ++count) {
    u32 u = bounded_word(words.next(), left);
    for (i64 j = 0; !hop.replace && j < count; ++j) {
      const i32 taken = read_once(to + j) - start;
      if (taken < 0 || taken >= degree) refuse_sampling("a position was overwritten during the call");
      if (u < before(taken)) break;
      u += sums[taken] - before(taken);
    }
    const i32 pick = static_cast<i32>(std::upper_bound(sums, sums + degree - 1, u) - sums);
    if (!hop.replace) left -= sums[pick] - before(pick);
    i64 at = count;
    for (; at > 0 && to[at - 1] > start + pick; --at) to[at] = to[at - 1];
    to[at] = start + pick;
  }
  return count;
}

inline i64 draw_dropout(const Hop& hop, i32 node, i32 start, i32 degree, i32* to) {
  NodeWords words(hop.key, node);
  i64 count = 0;
  for (i32 i = 0; i < degree; ++i) {
    to[count] = start + i;
    count += words.next() >= hop.drop ? 1 : 0;
  }
  return count;
}

// At most how many edges these nodes take.
inline i64 bound_edges(const Hop& hop, const i32* nodes, i64 count) {
  i64 total = 0;
  for (i64 i = 0; i < count; ++i) total += most_picks(hop, row_of(hop, nodes[i]).degree);
  return total;
}

// Positions of nodes[begin … end): to positions[edge …], with the end of each node's range in ends. Returns the new edge count.
inline i64 pick_rows(const Hop& hop, const SortingNetwork& network, const i32* nodes, i64 begin, i64 end, i32* ends,
                     i32* positions, i64 edge) {
  Group group;
  const bool one_by_one = hop.weights != nullptr || hop.drop != 0;
  const bool roomy = hop.fanout >= 0 && hop.drop == 0 && edge + (end - begin) * hop.fanout <= hop.room;
  for (i64 i = begin; i < end; ++i) {
    const i32 node = nodes[i];
    const auto [start, degree] = row_of(hop, node);
    if (!roomy && edge + most_picks(hop, degree) > hop.room) refuse_sampling("the graph changed during the call");
    i32* to = positions + edge;
    if (one_by_one) {
      edge += hop.drop != 0 ? draw_dropout(hop, node, start, degree, to) : draw_weighted(hop, node, start, degree, to);
    } else if (hop.fanout < 0 || degree == 0 || (!hop.replace && degree <= hop.fanout)) {
      for (i32 j = 0; j < degree; ++j) to[j] = start + j;
      edge += degree;
    } else if (hop.fanout > kGroupFanout) {
      draw_many(hop, node, start, degree, to);
      edge += hop.fanout;
    } else {
      group.node[group.count] = static_cast<u32>(node);
      group.start[group.count] = start;
      group.degree[group.count] = degree;
      group.position[group.count] = edge;
      edge += hop.fanout;
      if (++group.count == kCounterLanes) draw_group(hop, network, group, positions);
    }
    ends[i] = static_cast<i32>(edge);
  }
  if (group.count > 0) draw_group(hop, network, group, positions);
  return edge;
}

}  // namespace skein
