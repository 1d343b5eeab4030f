/**
 * Common code of the kernels over a sparse structure: its arrays on the device, and the handling of long rows.
 *
 * Rows are reduced without atomics, in an order that depends on the structure alone, so results are reproducible. One
 * invocation walks a row for one feature. Long rows are split into chunks that are reduced independently and then
 * combined in order, so that a hub is not the work of a single invocation.
 */
import type { Offsets } from '../../../native/index.js';
import { DeviceError } from '../../../util/errors.js';
import type { Compute } from '../compute.js';
import type { GpuArray } from '../gpu-array.js';
import { splitIntoChunks } from './rows-by-destination.js';

/** Number of entries above which a row is split into chunks. */
const longRow = 512;

/** Rows in chunks: chunk k has the entries chunks[k] … chunks[k+1]−1, row r the chunks bounds[r] … bounds[r+1]−1. */
export interface ChunkedRows {
  readonly chunks: Int32Array;
  readonly bounds: Int32Array;
}

const chunkings = new WeakMap<Offsets, ChunkedRows | null>();

/** Splits rows into chunks; returns null if none is long. */
export function chunkRows(offsets: Offsets): ChunkedRows | null {
  let chunked = chunkings.get(offsets);
  if (chunked === undefined) {
    let longest = 0;
    for (let r = 1; r < offsets.length; r++) longest = Math.max(longest, offsets[r] - offsets[r - 1]);
    chunked = longest > longRow ? splitIntoChunks(narrow(offsets), offsets.length - 1) : null;
    chunkings.set(offsets, chunked);
  }
  return chunked;
}

const narrowed = new WeakMap<Offsets, Int32Array>();

/** Returns row boundaries on the device. */
export function offsetsOn(c: Compute, offsets: Offsets): GpuArray {
  return c.structure(narrow(offsets));
}

/** Converts row boundaries to 32 bits. */
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
