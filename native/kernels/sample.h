// Samplers: neighbours over several hops, one hop of one relation, walks, negatives. Integers only, so that every
// implementation gives the same bits. What is drawn for a node depends on (key, step, hop, node, draw), never on its place.
#pragma once

#include "common.h"

namespace skein {

// All hops of a batch. Returns 0, or the number of edges to make room for (a lower bound) when `capacity` is too small.
i64 sample_neighbors(const i32* offsets, const i32* indices, const u32* weights, const i32* seeds, i64 numSeeds,
                     const i32* fanouts, const u32* drops, i64 hops, bool replace, const u32* key, i64 step, i64 tag,
                     i32* map, i32* seedRows, i32* nodeIds, i32* trees, i32* localOffsets, i32* localIndices,
                     i32* slots, i32* perHop, i64 capacity);

// One hop of one relation. Returns the new number of nodes, or -1 - (edges to make room for).
i64 sample_hop(const i32* offsets, const i32* indices, const u32* weights, const i32* frontier, i64 count, i64 fanout,
               i64 drop, bool replace, const u32* key, i64 step, i64 tag, i32* map, i32* nodeIds, i64 numNodes,
               i32* localOffsets, i32* localIndices, i32* slots, i64 capacity);

}  // namespace skein
