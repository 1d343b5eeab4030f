/**
 * What the kernels over a sparse structure share: its arrays on the device, and which rows are long.
 *
 * Rows are reduced without atomics, in an order that depends on the structure alone, so results are the same each time.
 * Where no row is long, one invocation walks a row for one feature; otherwise a workgroup shares each row, and its parts are
 * added in a fixed order.
 */
import type { Offsets } from '../../../native/index.js';
import { DeviceError } from '../../../util/errors.js';
import type { Compute } from '../compute.js';
import type { GpuArray } from '../gpu-array.js';

/** Invocations of a workgroup that shares a row. */
export const teamSize = 256;

/** Entries beyond which one invocation should not walk a row alone. */
const longRow = 512;

const longest = new WeakMap<Offsets, number>();

/** Whether rows are shared by a workgroup. */
export function hasLongRows(offsets: Offsets): boolean {
  let most = longest.get(offsets);
  if (most === undefined) {
    most = 0;
    for (let r = 1; r < offsets.length; r++) most = Math.max(most, offsets[r] - offsets[r - 1]);
    longest.set(offsets, most);
  }
  return most > longRow;
}

const narrowed = new WeakMap<Offsets, Int32Array>();

/** Row boundaries on the device, which counts entries with 32 bits. */
export function offsetsOn(c: Compute, offsets: Offsets): GpuArray {
  if (offsets instanceof Int32Array) return c.structure(offsets);
  let narrow = narrowed.get(offsets);
  if (narrow === undefined) {
    const entries = offsets[offsets.length - 1];
    if (entries >= 2 ** 31)
      throw new DeviceError(
        `webgpu: expected fewer than 2^31 edges, got ${entries}. Train on sampled blocks, or on the CPU.`,
        { reason: 'memory' },
      );
    narrow = Int32Array.from(offsets);
    narrowed.set(offsets, narrow);
  }
  return c.structure(narrow);
}

/** Features that a workgroup computes side by side; the rest of it shares the entries. */
export function teamColumns(width: number): number {
  let columns = 1;
  while (columns < width && columns < 64) columns *= 2;
  return columns;
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

/** WGSL: a main function in which workgroup g is `team(g, lane)`. */
export const teamMain = /* wgsl */ `
@compute @workgroup_size(${teamSize})
fn main(
  @builtin(workgroup_id) id: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  team(id.y * groups.x + id.x, lane);
}
`;
