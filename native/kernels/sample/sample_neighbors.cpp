// sampleNeighbors and sampleHop: picks, then neighbours, then rows by first appearance; drawNeighbors: picks only.
//
// Nearly all time is waiting for memory, three times per edge: the row's offsets, the picked entry, the map from node to
// row. So the frontier goes through in chunks, and each step fetches what the next step of that chunk reads while other
// chunks are worked on. Every hop draws for the nodes that the hop before found, so a node draws once per batch.
#include "sample/sample.h"

#include "sample/sample_picks.h"

namespace skein {
namespace {

constexpr i64 kChunkEdges = 256;

inline void fetch(const void* at) { __builtin_prefetch(at, 0, 3); }
inline void fetch_to_write(const void* at) { __builtin_prefetch(at, 1, 3); }

// Rows by node id: a dense array that holds -1 between calls.
struct DenseRows {
  List<i32> map;
  List<i32> nodes;
  i64 count;
  i32* ids = nodes.data;

  // Whether the nodes of so many edges fit, were they all new.
  bool has_room(i64 edges) const { return count + edges <= nodes.size; }

  void fetch_row(i64, i32 id) const { fetch_to_write(map.data + id); }
  i32 row(i64, i32 id) {
    if (!map.has(id)) refuse_sampling("an index is not one of the graph's nodes");
    const i32 known = map.data[id];
    const bool fresh = known < 0;
    // Without a branch, which would be mispredicted for every third edge; ids has room for one entry more.
    ids[count] = id;
    const i32 row = fresh ? static_cast<i32>(count) : known;
    map.data[id] = row;
    count += fresh ? 1 : 0;
    return row;
  }
  void reset(i64 from = 0) {
    constexpr i64 ahead = 24;
    for (i64 i = from; i < count; ++i) {
      if (i + ahead < count) fetch_to_write(map.data + ids[i + ahead]);
      const i32 id = nodes[i];
      if (map.has(id)) map.data[id] = -1;
    }
  }
};

// Rows by (tree, node id) when every seed has a separate tree: open addressing.
struct TreeRows {
  i32* ids;
  i32* trees;
  i64 count;
  std::vector<i32>& table;  // row, -1 = free; a power of two

  bool has_room(i64) const { return true; }

  size_t place(i32 tree, i32 id) const {
    const u64 mixed = ((static_cast<u64>(static_cast<u32>(tree)) << 32) | static_cast<u32>(id)) * 0x9e3779b97f4a7c15ull;
    return static_cast<size_t>(mixed >> 24) & (table.size() - 1);
  }
  void fetch_row(i64 dst, i32 id) const { fetch(table.data() + place(trees[dst], id)); }
  void grow(i64 entries) {
    size_t size = 1024;
    while (size < 2 * static_cast<size_t>(entries)) size *= 2;
    if (size <= table.size()) return;
    table.assign(size, -1);
    for (i64 i = 0; i < count; ++i) {
      size_t at = place(trees[i], ids[i]);
      while (table[at] >= 0) at = (at + 1) & (table.size() - 1);
      table[at] = static_cast<i32>(i);
    }
  }
  i32 row(i64 dst, i32 id) {
    const i32 tree = trees[dst];
    size_t at = place(tree, id);
    for (; table[at] >= 0; at = (at + 1) & (table.size() - 1)) {
      if (ids[table[at]] == id && trees[table[at]] == tree) return table[at];
    }
    if (2 * static_cast<size_t>(count + 1) > table.size()) refuse_sampling("the graph changed during the call");
    ids[count] = id;
    trees[count] = tree;
    table[at] = static_cast<i32>(count);
    return static_cast<i32>(count++);
  }
};

struct Output {
  i32* ends;     // per destination of this hop: where its edges end
  i32* indices;  // per edge: neighbour, then its row
  i32* positions;
};

// Draws for nodes[0 … count), whose rows start at `first`, and returns the number of edges after it.
template <class Rows>
i64 run_hop(const Hop& hop, List<const i32> indices, const i32* nodes, i64 count, i64 first, Rows& rows, const Output& out,
            i64 edge) {
  const SortingNetwork network(hop.fanout > 0 && hop.fanout <= kGroupFanout ? hop.fanout : 1);
  const i64 wanted = hop.fanout <= 0 ? 8 : kChunkEdges / hop.fanout / 8 * 8;
  const i64 chunk = wanted < 8 ? 8 : wanted > 64 ? 64 : wanted;
  const i64 chunks = (count + chunk - 1) / chunk;
  i64 picked[3] = {edge, edge, edge};  // edges after the three chunks in flight
  for (i64 i = 0; i < chunk && i < count; ++i) fetch(hop.offsets.data + nodes[i]);
  for (i64 c = 0; c < chunks + 2; ++c) {
    const i64 begin = c * chunk, end = begin + chunk < count ? begin + chunk : count;
    const i64 from = picked[0];
    if (c < chunks) {
      for (i64 i = end; i < end + chunk && i < count; ++i) fetch(hop.offsets.data + nodes[i]);
      edge = pick_rows(hop, network, nodes, begin, end, out.ends, out.positions, from);
      for (i64 e = from; e < edge; ++e) fetch(indices.data + out.positions[e]);
    }
    const auto each_edge = [&](i64 which, i64 e, i64 stop, auto&& f) {
      if constexpr (std::is_same_v<Rows, DenseRows>) {
        (void)which;
        for (; e < stop; ++e) f(0, e);
      } else {
        for (i64 i = which * chunk; e < stop && i < count; ++i) {
          const i64 until = std::min<i64>(read_once(out.ends + i), stop);
          for (; e < until; ++e) f(first + i, e);
        }
      }
    };
    if (c >= 1 && c <= chunks) {
      each_edge(c - 1, picked[1], picked[0], [&](i64 dst, i64 e) {
        const i32 position = read_once(out.positions + e);
        if (!indices.has(position)) refuse_sampling("a position was overwritten during the call");
        const i32 id = indices[position];
        out.indices[e] = id;
        rows.fetch_row(dst, id);
      });
    }
    if (c >= 2 && !rows.has_room(picked[1] - picked[2])) {
      each_edge(c - 2, picked[2], picked[1], [&](i64 dst, i64 e) {
        if (!rows.has_room(1)) refuse_sampling("there is no room for the nodes found");
        out.indices[e] = rows.row(dst, read_once(out.indices + e));
      });
    } else if (c >= 2) {
      each_edge(c - 2, picked[2], picked[1],
                [&](i64 dst, i64 e) { out.indices[e] = rows.row(dst, read_once(out.indices + e)); });
    }
    picked[2] = picked[1];
    picked[1] = picked[0];
    picked[0] = edge;
  }
  return edge;
}

// The most edges a hop can have; exact sums only when the simple product does not fit.
i64 most_edges(const Hop& hop, const i32* nodes, i64 count, i64 room) {
  if (hop.fanout >= 0 && hop.fanout * count <= room) return hop.fanout * count;
  return bound_edges(hop, nodes, count);
}

struct Batch {
  List<const i32> offsets;
  List<const i32> indices;
  const u32* weights;
  const i32* fanouts;
  const u32* drops;
  i64 hops;
  bool replace;
  const u32* key;
  i64 step, tag;
  i32 *local_offsets, *local_indices, *positions, *per_hop;
  i64 capacity;
};

template <class Rows>
i64 run_hops(const Batch& batch, Rows& rows) {
  i64 begin = 0, edge = 0;
  batch.per_hop[0] = static_cast<i32>(rows.count);
  batch.local_offsets[0] = 0;
  for (i64 h = 0; h < batch.hops; ++h) {
    const i64 end = rows.count;
    const Hop hop = {batch.offsets, batch.indices.size, batch.capacity, batch.weights, draw_key(batch.key, batch.step, batch.tag + h), batch.fanouts[h],
                     batch.drops == nullptr ? 0 : batch.drops[h], batch.replace};
    const i64 bound = most_edges(hop, rows.ids + begin, end - begin, batch.capacity - edge);
    if (edge + bound > batch.capacity) return edge + bound;
    if constexpr (!std::is_same_v<Rows, DenseRows>) rows.grow(end + bound);
    const Output out = {batch.local_offsets + 1 + begin, batch.local_indices, batch.positions};
    const i64 after = run_hop(hop, batch.indices, rows.ids + begin, end - begin, begin, rows, out, edge);
    batch.per_hop[1 + h] = static_cast<i32>(rows.count - end);
    batch.per_hop[1 + batch.hops + h] = static_cast<i32>(after - edge);
    edge = after;
    begin = end;
  }
  return 0;
}

// Forgets the nodes from row `from` on when the call fails, or always: the map is right for the next call.
template <class F>
i64 with_reset(DenseRows& rows, i64 from, F&& run, bool always) {
  try {
    const i64 result = run();
    if (always) rows.reset(from);
    return result;
  } catch (...) {
    rows.reset(from);
    throw;
  }
}

}  // namespace

i64 sample_neighbors(List<const i32> offsets, List<const i32> indices, const u32* weights, const i32* seeds, i64 num_seeds,
                     const i32* fanouts, const u32* drops, i64 hops, bool replace, const u32* key, i64 step, i64 tag,
                     List<i32> map, i32* seed_rows, i32* node_ids, i32* trees, i32* local_offsets, i32* local_indices,
                     i32* positions, i32* per_hop, i64 capacity) {
  const Batch batch = {offsets, indices, weights, fanouts, drops, hops, replace, key, step, tag,
                       local_offsets, local_indices, positions, per_hop, capacity};
  if (trees != nullptr) {
    thread_local std::vector<i32> table;
    table.clear();
    TreeRows rows{node_ids, trees, num_seeds, table};
    for (i64 i = 0; i < num_seeds; ++i) {
      node_ids[i] = seeds[i];
      trees[i] = seed_rows[i] = static_cast<i32>(i);
    }
    rows.grow(num_seeds);
    return run_hops(batch, rows);
  }
  DenseRows rows{map, {node_ids, num_seeds + capacity}, 0};
  const auto run = [&] {
    for (i64 i = 0; i < num_seeds; ++i) seed_rows[i] = rows.row(0, seeds[i]);
    return run_hops(batch, rows);
  };
  return with_reset(rows, 0, run, true);
}

i64 sample_hop(List<const i32> offsets, List<const i32> indices, const u32* weights, const i32* frontier, i64 count, i64 fanout,
               i64 drop, bool replace, const u32* key, i64 step, i64 tag, List<i32> map, List<i32> node_ids, i64 num_nodes,
               i32* local_offsets, i32* local_indices, i32* positions, i64 capacity) {
  const Hop hop = {offsets, indices.size, capacity, weights, draw_key(key, step, tag), fanout, static_cast<u32>(drop), replace};
  const i64 bound = most_edges(hop, frontier, count, capacity);
  if (bound > capacity) return -1 - bound;
  DenseRows rows{map, node_ids, num_nodes};
  local_offsets[0] = 0;
  const auto run = [&] {
    run_hop(hop, indices, frontier, count, 0, rows, {local_offsets + 1, local_indices, positions}, 0);
    return rows.count;
  };
  return with_reset(rows, num_nodes, run, false);
}

i64 draw_neighbors(List<const i32> offsets, List<const u32> weights, const i32* nodes, i64 count, i64 first_node, i64 fanout,
                   i64 drop, bool replace, const u32* key, i64 step, i64 tag, i32* local_offsets, i32* positions,
                   i64 capacity) {
  const i64 entries = weights.data == nullptr ? INT32_MAX : weights.size;
  const Hop hop = {offsets, entries, capacity, weights.data, draw_key(key, step, tag), fanout, static_cast<u32>(drop), replace,
                   first_node};
  const i64 bound = most_edges(hop, nodes, count, capacity);
  if (bound > capacity) return -1 - bound;
  const SortingNetwork network(fanout > 0 && fanout <= kGroupFanout ? fanout : 1);
  constexpr i64 chunk = 64;
  i64 edge = 0;
  local_offsets[0] = 0;
  for (i64 begin = 0; begin < count; begin += chunk) {
    const i64 end = begin + chunk < count ? begin + chunk : count;
    for (i64 i = end; i < end + chunk && i < count; ++i) fetch(offsets.data + (nodes[i] - first_node));
    edge = pick_rows(hop, network, nodes, begin, end, local_offsets + 1, positions, edge);
  }
  return edge;
}

}  // namespace skein
