/**
 * Rows by id on the GPU. Elements have 4 bytes. Ids of a gather may be in memory or on the device; ids of a scatter-add
 * must be in memory, where the order of the sums is computed.
 */
import type { Kernels, TypedArray } from '../../../native/index.js';
import { DeviceError } from '../../../util/errors.js';
import type { Argument, Compute } from '../compute.js';
import { GpuArray } from '../gpu-array.js';
import { type TensorProgram, tensorProgram } from '../tensor-program.js';
import { byDestination } from './rows-by-destination.js';

/** Defines a gather with one invocation per element, or per four: widths and offsets then count fours. */
function gatherProgram(name: string, type: string, per: number): TensorProgram {
  return tensorProgram({
    name,
    arrays: [`read ${type} x`, 'read i32 ids', `write ${type} y`],
    params: ['n u32', 'width u32', 'stride u32'],
    body: /* wgsl */ `
  let source = ids[p.ids_at + i / p.width];
  let column = i % p.width;
  let place = p.y_at / ${per}u + i / p.width * p.stride + column;
  if (source < 0) { y[place] = ${type}(0u); return; }
  y[place] = x[p.x_at / ${per}u + u32(source) * p.width + column];`,
  });
}

const gatherOne = gatherProgram('gatherRows', 'u32', 1);
const gatherFour = gatherProgram('gatherRows4', 'vec4<u32>', 4);

function gather(
  c: Compute,
  x: Argument,
  ids: Argument,
  y: Argument,
  n: number,
  width: number,
  stride: number,
): void {
  const startOf = (array: Argument): number => (array instanceof GpuArray ? array.offset : 0);
  const isAligned = [width, stride, startOf(x), startOf(y)].every((count) => count % 4 === 0);
  const [program, per] = isAligned ? ([gatherFour, 4] as const) : ([gatherOne, 1] as const);
  const size = (n * width) / per;
  c.launch(program, [x, ids, y], [size, width / per, stride / per], size);
}

const put = tensorProgram({
  name: 'putRows',
  arrays: ['read u32 src', 'read i32 ids', 'write u32 dst'],
  params: ['n u32', 'width u32'],
  body: /* wgsl */ `
  let row = u32(ids[p.ids_at + i / p.width]);
  dst[p.dst_at + row * p.width + i % p.width] = src[p.src_at + i];`,
});

/** out[k, :] = Σ of the rows of chunk k; `order` lists them, or they are consecutive. */
export const sumChunks = tensorProgram({
  name: 'rows.sumChunks',
  arrays: ['read f32 src', 'read i32 order', 'read i32 chunks', 'write f32 sums'],
  params: ['n u32', 'width u32', 'ordered u32'],
  body: /* wgsl */ `
  let chunk = p.chunks_at + i / p.width;
  let column = i % p.width;
  var sum = 0.0;
  for (var k = chunks[chunk]; k < chunks[chunk + 1u]; k++) {
    var row = u32(k);
    if (p.ordered != 0u) { row = u32(order[p.order_at + u32(k)]); }
    sum += src[p.src_at + row * p.width + column];
  }
  sums[p.sums_at + i] = sum;`,
});

/** dst[row(k), :] += Σ of the sums bounds[k] … bounds[k + 1] − 1; row(k) is rows[k]. */
const addSums = tensorProgram({
  name: 'rows.addSums',
  arrays: ['read f32 sums', 'read i32 bounds', 'read i32 rows', 'write f32 dst'],
  params: ['n u32', 'width u32'],
  body: /* wgsl */ `
  let which = i / p.width;
  let column = i % p.width;
  let at = p.dst_at + u32(rows[p.rows_at + which]) * p.width + column;
  var sum = dst[at];
  for (var k = bounds[p.bounds_at + which]; k < bounds[p.bounds_at + which + 1u]; k++) {
    sum += sums[p.sums_at + u32(k) * p.width + column];
  }
  dst[at] = sum;`,
});

/** Sums and adds in one pass, for destinations of one chunk each. */
const addChunks = tensorProgram({
  name: 'rows.addChunks',
  arrays: ['read f32 src', 'read i32 order', 'read i32 chunks', 'read i32 rows', 'write f32 dst'],
  params: ['n u32', 'width u32'],
  body: /* wgsl */ `
  let which = i / p.width;
  let column = i % p.width;
  let at = p.dst_at + u32(rows[p.rows_at + which]) * p.width + column;
  var sum = dst[at];
  for (var k = chunks[p.chunks_at + which]; k < chunks[p.chunks_at + which + 1u]; k++) {
    sum += src[p.src_at + u32(order[p.order_at + u32(k)]) * p.width + column];
  }
  dst[at] = sum;`,
});

const clearRows = tensorProgram({
  name: 'rows.clear',
  arrays: ['write f32 dst'],
  params: ['n u32'],
  body: 'dst[p.dst_at + i] = 0.0;',
});

/** dst[ids[i], :] += src[i, :], in ascending i; `ids` are in memory. */
export function scatterAdd(
  c: Compute,
  where: string,
  ids: unknown,
  src: Argument,
  dst: Argument,
  n: number,
  rows: number,
  width: number,
): void {
  if (!(ids instanceof Int32Array))
    throw new DeviceError(
      `webgpu: ${where} expects ids in memory, got ids on the device: the host computes the order of the sums. Pass an Int32Array.`,
      { reason: 'wait' },
    );
  if (n === 0 || width === 0) return;
  const to = byDestination(ids, n, rows);
  const count = to.chunks.length - 1;
  const named = to.rows.length;
  if (count === named) {
    c.launch(addChunks, [src, to.order, to.chunks, to.rows, dst], [named * width, width], named * width);
    return;
  }
  const sums = c.allocate('f32', count * width, 'row sums');
  c.launch(sumChunks, [src, to.order, to.chunks, sums], [count * width, width, 1], count * width);
  c.launch(addSums, [sums, to.bounds, to.rows, dst], [named * width, width], named * width);
  sums.release();
}

export function rowKernels(c: Compute): Partial<Kernels> {
  return {
    gatherRows(x, ids, y, n, rowBytes) {
      const width = elementsIn(x, rowBytes);
      gather(c, x, ids, y, n, width, width);
    },
    gatherRowsStrided(x, ids, y, n, rowBytes, strideBytes) {
      const width = elementsIn(x, rowBytes);
      gather(c, x, ids, y, n, width, elementsIn(x, strideBytes));
    },
    putRows(src, ids, dst, n, rowBytes) {
      const width = elementsIn(src, rowBytes);
      c.launch(put, [src, ids, dst], [n * width, width], n * width);
    },
    scatterAddRows: (ids, src, dst, n, rows, width) =>
      scatterAdd(c, 'scatterAddRows', ids, src, dst, n, rows, width),
    sumRows(ids, src, out, n, rows, width) {
      c.launch(clearRows, [out], [rows * width], rows * width);
      scatterAdd(c, 'sumRows', ids, src, out, n, rows, width);
    },
  };
}

/** Returns the elements of a row: all have 4 bytes on the device, flags (u8) too. */
function elementsIn(x: unknown, bytes: number): number {
  if (x instanceof GpuArray) return x.type === 'u32' ? bytes : bytes / 4;
  return bytes / (x as TypedArray).BYTES_PER_ELEMENT;
}
