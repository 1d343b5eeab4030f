/** The memory half of a change: of every node the row that counts. */
import { kernels } from '../../native/index.js';
import { Tensor } from '../../tensor/index.js';
import { checkMemory, type MemoryDelta } from './check-delta.js';
import type { LatestFinder } from './merge.js';
import type { StateSizes } from './state.js';

/** Every node once, with the row of its greatest (time, event). */
export function latestMemory(
  where: string,
  sizes: StateSizes,
  finder: LatestFinder,
  all: MemoryDelta,
): MemoryDelta {
  const checked = checkMemory(where, sizes, all);
  const { nodes, rows } = finder.find(all.nodes, all.memoryTime, all.memoryEvents);
  const picked = Tensor.allocate(all.memory.dtype, [rows.length, sizes.width]);
  const rowBytes = sizes.width * checked.memory.BYTES_PER_ELEMENT;
  kernels().gatherRows(checked.memory, rows, picked.floats, rows.length, rowBytes);
  const memoryTime = new Float64Array(rows.length);
  const memoryEvents = new Int32Array(rows.length);
  for (let i = 0; i < rows.length; i++) {
    memoryTime[i] = all.memoryTime[rows[i]];
    memoryEvents[i] = all.memoryEvents[rows[i]];
  }
  return { nodes, memory: picked, memoryTime, memoryEvents };
}
