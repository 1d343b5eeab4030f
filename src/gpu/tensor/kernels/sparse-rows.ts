/**
 * What the kernels over a sparse structure share: its arrays on the device, and which rows are long.
 *
 * Rows are reduced without atomics, in an order that depends on the structure alone, so results are the same each time. One
 * invocation walks a row for one feature. Long rows are cut into pieces that are reduced on their own and then joined in
 * order, so that a hub is no single invocation's work.
 */
import type { Offsets } from '../../../native/index.js';
import { DeviceError } from '../../../util/errors.js';
import type { Compute } from '../compute.js';
import type { GpuArray } from '../gpu-array.js';
import { piecesOf } from './rows-by-destination.js';

/** Entries beyond which one invocation should not walk a row alone. */
const longRow = 512;

/** Rows in pieces: piece k has the entries pieces[k] … pieces[k+1]−1, row r the pieces bounds[r] … bounds[r+1]−1. */
export interface CutRows {
  readonly pieces: Int32Array;
  readonly bounds: Int32Array;
}

const cuts = new WeakMap<Offsets, CutRows | null>();

/** The pieces of rows of which some are long; null where none is. */
export function cutRows(offsets: Offsets): CutRows | null {
  let cut = cuts.get(offsets);
  if (cut === undefined) {
    let longest = 0;
    for (let r = 1; r < offsets.length; r++) longest = Math.max(longest, offsets[r] - offsets[r - 1]);
    cut = longest > longRow ? piecesOf(narrow(offsets), offsets.length - 1) : null;
    cuts.set(offsets, cut);
  }
  return cut;
}

const narrowed = new WeakMap<Offsets, Int32Array>();

/** Row boundaries on the device. */
export function offsetsOn(c: Compute, offsets: Offsets): GpuArray {
  return c.structure(narrow(offsets));
}

/** Row boundaries with 32 bits, as the device counts entries. */
function narrow(offsets: Offsets): Int32Array {
  if (offsets instanceof Int32Array) return offsets;
  let small = narrowed.get(offsets);
  if (small === undefined) {
    const entries = offsets[offsets.length - 1];
    if (entries >= 2 ** 31)
      throw new DeviceError(
        `webgpu: expected fewer than 2^31 edges, got ${entries}. Train on sampled blocks, or on the CPU.`,
        { reason: 'memory' },
      );
    small = Int32Array.from(offsets);
    narrowed.set(offsets, small);
  }
  return small;
}

/** WGSL: the row of an entry, for an `offsets` array of p.rows + 1. */
export const rowOfEntry = /* wgsl */ `
fn rowOf(entry: u32) -> u32 {
  var low = 0u;
  var high = p.rows;
  while (high - low > 1u) {
    let middle = (low + high) / 2u;
    if (u32(offsets[p.offsets_at + middle]) <= entry) { low = middle; } else { high = middle; }
  }
  return low;
}
`;
