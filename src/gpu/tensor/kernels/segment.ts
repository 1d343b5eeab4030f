/**
 * Reductions over consecutive rows. Long sums are split into chunks with fixed bounds when the offsets are in memory.
 */
import { type Kernels, reduceCode } from '../../../native/index.js';
import type { Argument, Compute } from '../compute.js';
import { onGpu } from '../gpu-array.js';
import { tensorProgram } from '../tensor-program.js';
import { specialValues } from './elementwise.js';
import { sumChunks } from './rows.js';
import { longestChunk, splitIntoChunks } from './rows-by-destination.js';

const segmentReduce = tensorProgram({
  name: 'segmentReduce',
  arrays: ['read f32 x', 'read i32 offsets', 'write f32 y', 'write i32 arg'],
  params: ['n u32', 'width u32', 'op u32', 'keep_arg u32'],
  helpers: specialValues,
  body: /* wgsl */ `
  let segment = p.offsets_at + i / p.width;
  let column = p.x_at + i % p.width;
  let start = offsets[segment];
  let end = offsets[segment + 1u];
  if (p.op < ${reduceCode.max}u) {
    var sum = 0.0;
    for (var row = start; row < end; row++) { sum += x[column + u32(row) * p.width]; }
    if (p.op == ${reduceCode.mean}u && end > start) { sum /= f32(end - start); }
    y[p.y_at + i] = sum;
    return;
  }
  let direction = select(1.0, -1.0, p.op == ${reduceCode.min}u);
  var winner = select(-1, start, start < end);
  var best = 0.0;
  if (start < end) { best = x[column + u32(start) * p.width]; }
  for (var row = start + 1; row < end; row++) {
    let value = x[column + u32(row) * p.width];
    if (direction * value > direction * best || (isNan(value) && !isNan(best))) { winner = row; best = value; }
  }
  y[p.y_at + i] = best;
  if (p.keep_arg != 0u) { arg[p.arg_at + i] = winner; }`,
});

/** y[s, :] = Σ of the sums bounds[s] … bounds[s + 1] − 1, divided by the length of the segment for a mean. */
const joinChunks = tensorProgram({
  name: 'segmentReduce.join',
  arrays: ['read f32 sums', 'read i32 bounds', 'read i32 offsets', 'write f32 y'],
  params: ['n u32', 'width u32', 'op u32'],
  body: /* wgsl */ `
  let s = i / p.width;
  var sum = 0.0;
  for (var k = bounds[p.bounds_at + s]; k < bounds[p.bounds_at + s + 1u]; k++) {
    sum += sums[p.sums_at + u32(k) * p.width + i % p.width];
  }
  let count = offsets[p.offsets_at + s + 1u] - offsets[p.offsets_at + s];
  if (p.op == ${reduceCode.mean}u && count > 0) { sum /= f32(count); }
  y[p.y_at + i] = sum;`,
});

const segmentReduceBackward = tensorProgram({
  name: 'segmentReduceBackward',
  arrays: ['read f32 gy', 'read i32 offsets', 'read i32 arg', 'write f32 gx'],
  params: ['n u32', 'segments u32', 'width u32', 'op u32'],
  body: /* wgsl */ `
  let row = i32(i / p.width);
  let column = i % p.width;
  if (row < offsets[p.offsets_at] || row >= offsets[p.offsets_at + p.segments]) { return; }
  // The last segment that starts at or before the row.
  var low = 0u;
  var high = p.segments;
  while (high - low > 1u) {
    let middle = (low + high) / 2u;
    if (offsets[p.offsets_at + middle] <= row) { low = middle; } else { high = middle; }
  }
  let source = low * p.width + column;
  var g = gy[p.gy_at + source];
  if (p.op == ${reduceCode.mean}u) {
    g /= f32(offsets[p.offsets_at + low + 1u] - offsets[p.offsets_at + low]);
  } else if (p.op >= ${reduceCode.max}u) {
    g = select(0.0, g, arg[p.arg_at + source] == row);
  }
  gx[p.gx_at + i] = g;`,
});

/** Returns whether some sum is long enough to be split. */
function hasLong(offsets: Int32Array, segments: number): boolean {
  for (let s = 0; s < segments; s++) if (offsets[s + 1] - offsets[s] > 4 * longestChunk) return true;
  return false;
}

function sumLong(
  c: Compute,
  op: number,
  x: Argument,
  offsets: Int32Array,
  y: Argument,
  segments: number,
  width: number,
): void {
  const { chunks, bounds } = splitIntoChunks(offsets, segments);
  const count = chunks.length - 1;
  const sums = c.allocate('f32', count * width, 'segment sums');
  c.launch(sumChunks, [x, null, chunks, sums], [count * width, width, 0], count * width);
  c.launch(joinChunks, [sums, bounds, offsets, y], [segments * width, width, op], segments * width);
  sums.release();
}

export function segmentKernels(c: Compute): Partial<Kernels> {
  return {
    segmentReduce(op, x, offsets, y, arg, segments, width) {
      const n = segments * width;
      if (op < reduceCode.max && offsets instanceof Int32Array && hasLong(offsets, segments))
        sumLong(c, op, x, offsets, y, segments, width);
      else c.launch(segmentReduce, [x, offsets, y, arg], [n, width, op, arg !== null], n);
    },
    segmentReduceBackward(op, gy, offsets, arg, gx, segments, width) {
      const n = onGpu(gx).length;
      if (segments > 0) c.launch(segmentReduceBackward, [gy, offsets, arg, gx], [n, segments, width, op], n);
    },
  };
}
