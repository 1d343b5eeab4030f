// One row for each distinct (node, time) pair of a temporal hop, by first appearance.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "support/common.h"

namespace skein {

// Rows by (node, time): open addressing.
class PairRows {
 public:
  PairRows(i32* nodes, double* times, i64 entries) : nodes_(nodes), times_(times) {
    size_t size = 1024;
    while (size < 2 * static_cast<size_t>(entries)) size *= 2;
    if (table().size() < size) table().resize(size);
    mask_ = size - 1;
    std::fill(table().begin(), table().begin() + static_cast<std::ptrdiff_t>(size), -1);
    slots_ = table().data();
  }
  size_t place(i32 node, double t) const {
    u64 bits;
    std::memcpy(&bits, &t, sizeof bits);
    const u64 spread = static_cast<u64>(static_cast<u32>(node)) * 0x9e3779b97f4a7c15ull;
    const u64 mixed = (bits ^ spread) * 0xff51afd7ed558ccdull;
    return static_cast<size_t>(mixed ^ (mixed >> 32)) & mask_;
  }
  void fetch(i32 node, double t) const { __builtin_prefetch(slots_ + place(node, t), 1); }
  // The row of a pair: the one that has it, or `fresh`, which then does.
  i32 row(i32 node, double t, i32 fresh) {
    size_t at = place(node, t);
    for (; slots_[at] >= 0; at = (at + 1) & mask_) {
      if (nodes_[slots_[at]] == node && times_[slots_[at]] == t) return slots_[at];
    }
    slots_[at] = fresh;
    return fresh;
  }

 private:
  static std::vector<i32>& table() {
    thread_local std::vector<i32> slots;
    return slots;
  }
  i32* nodes_;
  double* times_;
  i32* slots_;
  size_t mask_;
};

// Gives equal pairs one row, by first appearance, and moves them together. Returns the number of rows.
inline i64 share_rows(i32* nodes, double* times, i32* cutoffs, i64 num_dst, i64 edges, i32* sources) {
  constexpr i64 ahead = 8;
  PairRows pairs(nodes, times, num_dst + edges);
  for (i64 i = 0; i < num_dst; ++i) pairs.row(nodes[i], times[i], static_cast<i32>(i));
  i64 count = num_dst;
  for (i64 e = 0; e < edges; ++e) {
    const i64 from = num_dst + e;
    if (e + ahead < edges) pairs.fetch(nodes[from + ahead], times[from + ahead]);
    const i32 node = nodes[from], cutoff = cutoffs[from];
    const double t = times[from];
    const i32 row = pairs.row(node, t, static_cast<i32>(count));
    sources[e] = row;
    // Also where the row is not new: the next one then overwrites it. Never ahead of what is still to be read.
    nodes[count] = node;
    times[count] = t;
    cutoffs[count] = cutoff;
    count += row == count ? 1 : 0;
  }
  return count;
}

}  // namespace skein
