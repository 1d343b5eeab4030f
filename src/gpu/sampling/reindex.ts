/**
 * Ordered unique on a device: maps ids to rows in order of first appearance, through the same hash table as batches of
 * very large graphs.
 */
import { expected, ValueError } from '../../util/errors.js';
import type { GpuDevice } from '../device/gpu-device.js';
import { grid } from '../device/program.js';
import { HopBuffers } from './hop-buffers.js';
import { HopRecorder } from './hop-recorder.js';
import { edgeState, groupSize, plainHop, stateWords, tileSize } from './hop-wgsl.js';
import { NodeHashTable } from './node-hash-table.js';

export interface Reindexed {
  /** Each id once, in order of first appearance. */
  readonly unique: Uint32Array;
  /** Index of each given id in `unique`. */
  readonly local: Uint32Array;
}

/**
 * Numbers ids in order of first appearance. Ids are at most 2^32 − 2.
 *
 * @example
 * const { unique, local } = await reindexIds(gpu, Uint32Array.of(7, 3, 7)); // [7, 3], [0, 1, 0]
 */
export async function reindexIds(device: GpuDevice, ids: Uint32Array | Int32Array): Promise<Reindexed> {
  if (!(ids instanceof Int32Array) && !(ids instanceof Uint32Array))
    throw new ValueError(expected('reindexIds', 'an Int32Array or a Uint32Array', 'ids', ids));
  const bad = ids.indexOf(ids instanceof Int32Array ? -1 : 2 ** 32 - 1);
  if (bad >= 0)
    throw new ValueError(
      expected('reindexIds', 'ids of at most 2^32 - 2', 'ids', `${ids[bad]} at position ${bad}`),
    );
  const count = ids.length;
  const buffers = new HopBuffers(device, 'hash', { nodes: count, edges: count, frontier: 1 });
  const table = new NodeHashTable(device, 'hash', 0);
  const given = device.bufferOf(ids, 'ids');
  try {
    // The ids are treated as the neighbours of a node that takes all of them.
    const state = new Uint32Array(stateWords);
    state[edgeState + 1] = count;
    device.write(buffers.state, state);
    device.write(
      buffers.positions,
      Uint32Array.from({ length: count }, (_, i) => i),
    );
    const segment = { first: 0, count, buffer: given };
    const recorder = new HopRecorder(device, { rows: [], indices: [segment], sums: null });
    const hop = plainHop(0);
    table.enter(buffers, hop, 0, count);
    device.write(buffers.grid, Uint32Array.of(...grid(count, groupSize), 1, ...grid(count, tileSize), 1));
    recorder.reindex(hop, buffers, table, { rows: 0, edges: count });
    const [counts, nodeIds, rows] = await device.readAll([
      { buffer: buffers.state, bytes: 8 },
      { buffer: buffers.nodeIds, bytes: 4 * count },
      { buffer: buffers.rows, bytes: 4 * count },
    ]);
    const [, unique] = new Uint32Array(counts);
    return { unique: new Uint32Array(nodeIds).slice(0, unique), local: new Uint32Array(rows) };
  } finally {
    given.release();
    table.release();
    buffers.releaseAll();
  }
}
