/** Sparse structures for the graph kernels' tests: no edges, empty rows, multi-edges, hubs, both types of offsets. */

import type { Offsets } from 'skein/native';
import { referenceKernels } from '#internal/native/index.js';
import { randomIds } from './harness.js';

export interface Structure {
  readonly rows: number;
  readonly sources: number;
  readonly entries: number;
  /** Grouped by destination: entry p of row r comes from indices[p]. */
  readonly offsets: Offsets;
  readonly indices: Int32Array;
  /** Grouped by source: entry q of source u goes to out.indices[q] and is entry out.slots[q] above. */
  readonly out: { readonly offsets: Offsets; readonly indices: Int32Array; readonly slots: Int32Array };
}

function structureOf(sizes: readonly number[], sources: number, wide = false): Structure {
  const rows = sizes.length;
  const offsets = wide ? new Float64Array(rows + 1) : new Int32Array(rows + 1);
  for (let r = 0; r < rows; r++) offsets[r + 1] = offsets[r] + sizes[r];
  const entries = offsets[rows];
  const indices = randomIds(entries, sources, rows + sources);
  const owner = new Int32Array(entries);
  for (let r = 0; r < rows; r++) owner.fill(r, offsets[r], offsets[r + 1]);
  const outOffsets = wide ? new Float64Array(sources + 1) : new Int32Array(sources + 1);
  const slots = new Int32Array(entries);
  referenceKernels.groupByKey(indices, outOffsets, slots, entries, sources);
  const destinations = slots.map((slot) => owner[slot]);
  return {
    rows,
    sources,
    entries,
    offsets,
    indices,
    out: { offsets: outOffsets, indices: destinations, slots },
  };
}

/** For expectClose: a row's entries are added one after another, so rounding errors grow with the longest row. */
export function slackOf(s: Structure): number {
  return s.entries > 1000 ? 5 : 1;
}

/** In `multi-edges` every pair of ends is joined several times. */
export const structures: Readonly<Record<string, Structure>> = {
  'no rows': structureOf([], 3),
  'no edges': structureOf([0, 0, 0, 0], 5, true),
  'one edge': structureOf([1], 1),
  short: structureOf([...randomIds(60, 7, 3)], 50),
  'multi-edges': structureOf([0, 31, 33, 0, 1, 64], 3, true),
  hub: structureOf([0, 0, 1500, 2, 0], 40),
};

/** Large enough for several chunks of work, with one hub. */
export const large = structureOf([0, 3, 9000, ...randomIds(3000, 12, 5), 0, 2000], 2500);
