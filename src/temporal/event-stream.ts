/** The columns of a temporal graph that negatives and baselines read: sources, destinations and times, in order of time. */
import { expected, ValueError } from '../util/errors.js';

export interface EventStream {
  readonly numNodes: number;
  readonly src: Int32Array;
  readonly dst: Int32Array;
  /** Ascending. */
  readonly time: Float64Array;
}

/** The splits of a stream. */
export type StreamSplit = 'train' | 'validation' | 'test';

/** All splits, in order of time. */
export const streamSplits: readonly StreamSplit[] = ['train', 'validation', 'test'];

/** Returns the distinct node ids, ascending. */
export function distinctIds(where: string, ids: ArrayLike<number>, numNodes: number): Int32Array {
  const present = new Uint8Array(numNodes);
  let count = 0;
  for (let i = 0; i < ids.length; i++) {
    const id = ids[i];
    if (!Number.isInteger(id) || id < 0 || id >= numNodes)
      throw new ValueError(
        expected(where, `ids from 0 to ${numNodes - 1}`, 'a node', `${id} at position ${i}`),
      );
    if (present[id] === 0) count++;
    present[id] = 1;
  }
  const out = new Int32Array(count);
  for (let id = 0, at = 0; id < numNodes; id++) if (present[id] === 1) out[at++] = id;
  return out;
}
