/** Walks, negatives and sorted rows as plain loops (see kernels.ts). METIS exists in the addon only. */
import { mulHigh32 } from '../../util/philox.js';
import type { Kernels } from '../kernels.js';
import { NodeWords } from './node-draws.js';
import { hasNeighbor } from './sorted-rows.js';

export const walkTwins = {
  randomWalk(args) {
    const { offsets, indices, sorted, starts, count, walks, length, restart, back, near, far, key } = args;
    const { step, out } = args;
    for (let i = 0; i < count * walks; i++) {
      const draws = new NodeWords(key, step, i % walks);
      const start = starts[Math.floor(i / walks)];
      const base = i * (length + 1);
      out[base] = start;
      for (let s = 1; s <= length; s++) {
        const at = out[base + s - 1];
        out[base + s] = -1;
        if (at < 0) continue;
        const first = offsets[at];
        const degree = offsets[at + 1] - first;
        let words = draws.block(start, s << 8);
        if (words[0] < restart) {
          out[base + s] = start;
          continue;
        }
        if (degree === 0) continue;
        let next = indices[first + mulHigh32(words[1], degree)];
        if (sorted !== null && s > 1) {
          const before = out[base + s - 2];
          for (let attempt = 1; attempt <= 255; attempt++) {
            const chance = next === before ? back : hasNeighbor(offsets, sorted, before, next) ? near : far;
            if (words[2] <= chance) break;
            words = draws.block(start, (s << 8) | attempt);
            next = indices[first + mulHigh32(words[1], degree)];
          }
        }
        out[base + s] = next;
      }
    }
  },
  sampleNegatives(args) {
    const { offsets, sorted, population, populationSize, nodes, count, perNode, byDegree, numNodes } = args;
    const { key, step, tag, out } = args;
    const draws = new NodeWords(key, step, tag);
    const known = (node: number, id: number): boolean =>
      sorted !== null && hasNeighbor(offsets as Int32Array, sorted, node, id);
    const draw = (i: number, j: number, attempt: number): number => {
      const words = draws.block(i, (j << 8) | attempt);
      if (words[0] >= byDegree) return mulHigh32(words[1], numNodes);
      return (population as Int32Array)[mulHigh32(words[1], populationSize)];
    };
    for (let i = 0; i < count; i++) {
      for (let j = 0; j < perNode; j++) {
        let id = draw(i, j, 0);
        for (let attempt = 1; attempt < 16 && known(nodes[i], id); attempt++) id = draw(i, j, attempt);
        let left = numNodes;
        while (left > 0 && known(nodes[i], id)) {
          id = id + 1 === numNodes ? 0 : id + 1;
          left--;
        }
        out[i * perNode + j] = left === 0 ? -1 : id;
      }
    }
  },
  sortRows(offsets, indices, out, rows) {
    out.set(indices.subarray(0, offsets[rows]));
    for (let r = 0; r < rows; r++) {
      if (offsets[r + 1] - offsets[r] > 1) out.subarray(offsets[r], offsets[r + 1]).sort();
    }
  },
  metisPartition() {
    return -1;
  },
  metisPartitionWeighted() {
    return -1;
  },
} satisfies Partial<Kernels>;
