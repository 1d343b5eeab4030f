/** Rows by id: twins of `native/kernels/rows_*.cpp`. */
import type { FloatArray, TypedArray } from '../types.js';

export { readRows } from './read-rows.js';

export function gatherRows(x: TypedArray, ids: Int32Array, y: TypedArray, n: number, rowBytes: number): void {
  const from = new Uint8Array(x.buffer, x.byteOffset, x.byteLength);
  const to = new Uint8Array(y.buffer, y.byteOffset, y.byteLength);
  for (let i = 0; i < n; i++) {
    const start = ids[i] * rowBytes;
    to.set(from.subarray(start, start + rowBytes), i * rowBytes);
  }
}

export function gatherRowsBeside(
  x: TypedArray,
  ids: Int32Array,
  y: TypedArray,
  n: number,
  rowBytes: number,
  strideBytes: number,
): void {
  const from = new Uint8Array(x.buffer, x.byteOffset, x.byteLength);
  const to = new Uint8Array(y.buffer, y.byteOffset, y.byteLength);
  for (let i = 0; i < n; i++) {
    const [start, place] = [ids[i] * rowBytes, i * strideBytes];
    if (ids[i] < 0) to.fill(0, place, place + rowBytes);
    else to.set(from.subarray(start, start + rowBytes), place);
  }
}

export function putRows(
  src: TypedArray,
  ids: Int32Array,
  dst: TypedArray,
  n: number,
  rowBytes: number,
): void {
  const from = new Uint8Array(src.buffer, src.byteOffset, src.byteLength);
  const to = new Uint8Array(dst.buffer, dst.byteOffset, dst.byteLength);
  for (let i = 0; i < n; i++) to.set(from.subarray(i * rowBytes, (i + 1) * rowBytes), ids[i] * rowBytes);
}

export function scatterAddRows(
  ids: Int32Array,
  src: FloatArray,
  dst: FloatArray,
  n: number,
  _rows: number,
  width: number,
): void {
  for (let i = 0; i < n; i++) {
    const to = ids[i] * width;
    const from = i * width;
    for (let j = 0; j < width; j++) dst[to + j] += src[from + j];
  }
}

export function sumRows(
  ids: Int32Array,
  src: FloatArray,
  out: FloatArray,
  n: number,
  rows: number,
  width: number,
): void {
  out.fill(0, 0, rows * width);
  scatterAddRows(ids, src, out, n, rows, width);
}

export function coalesceRows(
  ids: Int32Array,
  src: FloatArray,
  outIds: Int32Array,
  outRows: FloatArray,
  n: number,
  _rows: number,
  width: number,
): number {
  // Positions by id, equal ids by position: one BigInt key holds both and sorts as an integer.
  const keys = BigUint64Array.from({ length: n }, (_, i) => (BigInt(ids[i]) << 32n) | BigInt(i)).sort();
  let count = 0;
  for (let k = 0; k < n; k++) {
    const id = Number(keys[k] >> 32n);
    const from = Number(keys[k] & 0xffffffffn) * width;
    if (count > 0 && outIds[count - 1] === id) {
      const to = (count - 1) * width;
      for (let j = 0; j < width; j++) outRows[to + j] += src[from + j];
    } else {
      outIds[count] = id;
      outRows.set(src.subarray(from, from + width), count * width);
      count++;
    }
  }
  return count;
}
