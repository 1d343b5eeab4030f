/** Neighbour sampling as plain loops: the definition of `sampleNeighbors`, `sampleHop`, `drawNeighbors` (see kernels.ts). */
import type { Kernels } from '../kernels.js';
import { boundEdges, drawPositions, type Hop, NodeWords } from './node-draws.js';

export const neighborTwins = {
  sampleNeighbors(args) {
    const { offsets, indices, weights, seeds, numSeeds, fanouts, drops, hops, replace, key, step } = args;
    const { tag, map, seedRows, nodeIds, trees, localOffsets, localIndices, positions, perHop } = args;
    const { capacity } = args;
    let count = 0;
    const treeRows = new Map<number, number>();
    const rowOf = (tree: number, id: number): number => {
      const place = tree * 2 ** 31 + id;
      const known = trees === null ? map[id] : (treeRows.get(place) ?? -1);
      if (known >= 0) return known;
      if (trees === null) map[id] = count;
      else {
        treeRows.set(place, count);
        trees[count] = tree;
      }
      nodeIds[count] = id;
      return count++;
    };
    for (let i = 0; i < numSeeds; i++) seedRows[i] = rowOf(i, seeds[i]);
    perHop[0] = count;
    localOffsets[0] = 0;
    let needed = 0;
    let begin = 0;
    let edge = 0;
    for (let h = 0; h < hops; h++) {
      const end = count;
      const from = edge;
      const hop: Hop = { offsets, weights, fanout: fanouts[h], drop: drops === null ? 0 : drops[h], replace };
      const words = new NodeWords(key, step, tag + h);
      const bound = boundEdges(hop, nodeIds, begin, end);
      if (edge + bound > capacity) {
        needed = edge + bound;
        break;
      }
      for (let v = begin; v < end; v++) {
        const stop = drawPositions(hop, words, nodeIds[v], positions, edge);
        for (; edge < stop; edge++)
          localIndices[edge] = rowOf(trees === null ? 0 : trees[v], indices[positions[edge]]);
        localOffsets[v + 1] = edge;
      }
      perHop[1 + h] = count - end;
      perHop[1 + hops + h] = edge - from;
      begin = end;
    }
    if (trees === null) for (let i = 0; i < count; i++) map[nodeIds[i]] = -1;
    return needed;
  },
  sampleHop(args) {
    const { offsets, indices, weights, frontier, count, fanout, drop, replace, key, step, tag, map } = args;
    const { nodeIds, numNodes, localOffsets, localIndices, positions, capacity } = args;
    const hop: Hop = { offsets, weights, fanout, drop, replace };
    const bound = boundEdges(hop, frontier, 0, count);
    if (bound > capacity) return -1 - bound;
    const words = new NodeWords(key, step, tag);
    let nodes = numNodes;
    let edge = 0;
    localOffsets[0] = 0;
    for (let i = 0; i < count; i++) {
      const stop = drawPositions(hop, words, frontier[i], positions, edge);
      for (; edge < stop; edge++) {
        const id = indices[positions[edge]];
        if (map[id] < 0) {
          map[id] = nodes;
          nodeIds[nodes++] = id;
        }
        localIndices[edge] = map[id];
      }
      localOffsets[i + 1] = edge;
    }
    return nodes;
  },
  drawNeighbors(args) {
    const { offsets, weights, nodes, count, firstNode, fanout, drop, replace, key, step, tag } = args;
    const { localOffsets, positions, capacity } = args;
    const hop: Hop = { offsets, weights, fanout, drop, replace, first: firstNode };
    const bound = boundEdges(hop, nodes, 0, count);
    if (bound > capacity) return -1 - bound;
    const words = new NodeWords(key, step, tag);
    let edge = 0;
    localOffsets[0] = 0;
    for (let i = 0; i < count; i++) {
      edge = drawPositions(hop, words, nodes[i], positions, edge);
      localOffsets[i + 1] = edge;
    }
    return edge;
  },
} satisfies Partial<Kernels>;
