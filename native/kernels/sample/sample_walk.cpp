// Walks, negatives and sorted rows. Each walk and each negative draws from separate counters, so chunks need no order.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <stdexcept>

#include "random/philox_counters.h"
#include "sample/sample.h"

namespace skein {
namespace {

constexpr i64 kWalkGrain = 256;
constexpr i64 kRowGrain = 4096;
constexpr u32 kMaxTries = 255;
constexpr u32 kNegativeTries = 16;

// Rows of a graph, whose offsets and indices are range-checked; an invalid one ends the call when all threads are done.
struct Rows {
  List<const i32> offsets;
  i64 entries;
  std::atomic<bool>& damaged;

  // Entries first … first + count − 1; none where the offsets lead nowhere.
  struct Range {
    i32 first;
    u32 count;
  };
  Range of(i32 node) const {
    if (node < 0 || node + i64{1} >= offsets.size) return refuse();
    const i32 first = offsets[node], end = offsets[node + i64{1}];
    if (first < 0 || end < first || end > entries) return refuse();
    return {first, static_cast<u32>(end - first)};
  }
  Range refuse() const {
    damaged.store(true, std::memory_order_relaxed);
    return {0, 0};
  }
  bool has_neighbor(const i32* sorted, i32 node, i32 id) const {
    const Range row = of(node);
    return std::binary_search(sorted + row.first, sorted + row.first + row.count, id);
  }
};

void throw_if(const std::atomic<bool>& damaged) {
  if (damaged.load()) throw std::out_of_range("offsets fall or lead beyond the entries, or an index is not one of the graph's nodes");
}

struct Walker {
  Rows rows;
  List<const i32> indices;
  const i32* sorted;  // not null: second-order walk
  u32 restart, back, near, far;

  // Rejection: a candidate is kept with a chance by its distance from the node before.
  i32 move(const DrawKey& key, i32 start, i32 before, i32 at, i64 position) const {
    const auto [first, degree] = rows.of(at);
    u32 words[4];
    philox_counter(key, static_cast<u32>(start), static_cast<u32>(position << 8), words);
    if (words[0] < restart) return start;
    if (degree == 0) return -1;
    i32 next = indices[first + static_cast<i32>(bounded_word(words[1], degree))];
    if (sorted == nullptr || before < 0) return next;
    for (u32 attempt = 1; attempt <= kMaxTries; ++attempt) {
      const u32 chance = next == before ? back : rows.has_neighbor(sorted, before, next) ? near : far;
      if (words[2] <= chance) break;
      philox_counter(key, static_cast<u32>(start), static_cast<u32>(position << 8) | attempt, words);
      next = indices[first + static_cast<i32>(bounded_word(words[1], degree))];
    }
    return next;
  }
};

// The first node from `id` upwards, and around, that is not a neighbour; -1 when all are.
i32 next_stranger(const Rows& rows, const i32* sorted, i32 node, i32 id, i64 num_nodes) {
  for (i64 i = 0; i < num_nodes; ++i) {
    if (!rows.has_neighbor(sorted, node, id)) return id;
    id = id + 1 == num_nodes ? 0 : id + 1;
  }
  return -1;
}

}  // namespace

void random_walk(List<const i32> offsets, List<const i32> indices, const i32* sorted, const i32* starts, i64 count, i64 walks,
                 i64 length, i64 restart, i64 back, i64 near, i64 far, const u32* key, i64 step, i32* out) {
  std::atomic<bool> damaged{false};
  const Walker walker = {{offsets, indices.size, damaged}, indices, sorted, static_cast<u32>(restart), static_cast<u32>(back),
                         static_cast<u32>(near), static_cast<u32>(far)};
  parallel_for(count * walks, kWalkGrain, [=](i64 begin, i64 end) {
    for (i64 i = begin; i < end; ++i) {
      const DrawKey draws = draw_key(key, step, i % walks);
      i32* walk = out + i * (length + 1);
      const i32 start = starts[i / walks];
      walk[0] = start;
      i32 before = -1;
      for (i64 s = 1; s <= length; ++s) {
        const i32 at = walk[s - 1];
        walk[s] = at < 0 ? -1 : walker.move(draws, start, before, at, s);
        if (walk[s] < -1) walker.rows.refuse();
        before = at;
      }
    }
  });
  throw_if(damaged);
}

void sample_negatives(List<const i32> offsets, List<const i32> sorted, const i32* population, i64 population_size,
                      const i32* nodes, i64 count, i64 per_node, i64 by_degree, i64 num_nodes, const u32* key, i64 step,
                      i64 tag, i32* out) {
  const DrawKey draws = draw_key(key, step, tag);
  std::atomic<bool> damaged{false};
  const Rows rows{offsets, sorted.size, damaged};
  parallel_for(count, kWalkGrain, [=](i64 begin, i64 end) {
    for (i64 i = begin; i < end; ++i) {
      for (i64 j = 0; j < per_node; ++j) {
        i32 id = 0;
        for (u32 attempt = 0;; ++attempt) {
          u32 words[4];
          philox_counter(draws, static_cast<u32>(i), static_cast<u32>(j << 8) | attempt, words);
          id = words[0] < static_cast<u32>(by_degree)
                   ? population[bounded_word(words[1], static_cast<u32>(population_size))]
                   : static_cast<i32>(bounded_word(words[1], static_cast<u32>(num_nodes)));
          if (sorted.data == nullptr || !rows.has_neighbor(sorted.data, nodes[i], id)) break;
          if (attempt + 1 == kNegativeTries) {
            id = next_stranger(rows, sorted.data, nodes[i], id, num_nodes);
            break;
          }
        }
        out[i * per_node + j] = id;
      }
    }
  });
  throw_if(damaged);
}

void sort_rows(const i32* offsets, const i32* indices, i32* out, i64 rows) {
  parallel_for(rows, kRowGrain, [=](i64 begin, i64 end) {
    for (i64 r = begin; r < end; ++r) {
      const i64 from = offsets[r], size = offsets[r + 1] - from;
      if (size == 0) continue;
      std::memcpy(out + from, indices + from, static_cast<size_t>(size) * sizeof(i32));
      std::sort(out + from, out + from + size);
    }
  }, Share::asked);
}

}  // namespace skein
