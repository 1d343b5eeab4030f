// Samplers: neighbours over several hops, one hop of one relation, walks, negatives. Integers only, so that every
// implementation gives the same bits. What is drawn for a node depends on (key, step, hop, node, draw), never on its row in a batch.
#pragma once

#include "support/list.h"

namespace skein {

// All hops of a batch. Returns 0, or the number of edges to make room for (a lower bound) when `capacity` is too small.
i64 sample_neighbors(List<const i32> offsets, List<const i32> indices, const u32* weights, const i32* seeds, i64 num_seeds,
                     const i32* fanouts, const u32* drops, i64 hops, bool replace, const u32* key, i64 step, i64 tag,
                     List<i32> map, i32* seed_rows, i32* node_ids, i32* trees, i32* local_offsets, i32* local_indices,
                     i32* positions, i32* per_hop, i64 capacity);

// One hop of one relation. Returns the new number of nodes, or -1 - (edges to make room for).
i64 sample_hop(List<const i32> offsets, List<const i32> indices, const u32* weights, const i32* frontier, i64 count, i64 fanout,
               i64 drop, bool replace, const u32* key, i64 step, i64 tag, List<i32> map, List<i32> node_ids, i64 num_nodes,
               i32* local_offsets, i32* local_indices, i32* positions, i64 capacity);

// One hop for nodes whose rows are a range of a larger graph's. Returns the number of edges, or -1 - (edges to make room for).
i64 draw_neighbors(List<const i32> offsets, List<const u32> weights, const i32* nodes, i64 count, i64 first_node, i64 fanout,
                   i64 drop, bool replace, const u32* key, i64 step, i64 tag, i32* local_offsets, i32* positions,
                   i64 capacity);

// Walks of `length` moves, `walks` from each start; -1 after a node without neighbours.
void random_walk(List<const i32> offsets, List<const i32> indices, const i32* sorted, const i32* starts, i64 count, i64 walks,
                 i64 length, i64 restart, i64 back, i64 near, i64 far, const u32* key, i64 step, i32* out);

// Random nodes for each of nodes; with `sorted` rows none that is a neighbour (-1 when all are).
void sample_negatives(List<const i32> offsets, List<const i32> sorted, const i32* population, i64 population_size,
                      const i32* nodes, i64 count, i64 per_node, i64 by_degree, i64 num_nodes, const u32* key, i64 step,
                      i64 tag, i32* out);

// Every row of indices in ascending order.
void sort_rows(const i32* offsets, const i32* indices, i32* out, i64 rows);

// Balanced partitions of a symmetric graph without self loops. Returns the number of edges between them; -1 without METIS.
i64 metis_partition(const i32* offsets, const i32* indices, i64 n, i64 parts, i64 seed, i32* out);

// metis_partition with a weight per edge (equal in both directions) and `constraints` weights per node, each balanced.
i64 metis_partition_weighted(const i32* offsets, const i32* indices, const i32* edge_weights, const i32* node_weights,
                             i64 constraints, i64 n, i64 parts, i64 seed, i32* out);

}  // namespace skein
