/**
 * Large results whose rows are whole, aligned cache lines are written past the cache. Shifted by one element they are
 * not: both paths must give the same bytes.
 */

import type { FloatArray } from 'skein/native';
import { describe, expect, it } from 'vitest';
import { type Kernels, nativeKernels, prepareBlock, reduceCode } from '#internal/native/index.js';
import { randomFloats, randomIds } from './harness.js';

const [rows, cols] = [33000, 128]; // 33 MB of f64
const n = rows * cols;

/** n elements that start `shift` elements behind a border of 64 bytes. */
function placed(shift: number): FloatArray {
  const bytes = new Uint8Array(8 * n + 128);
  const start = (64 - prepareBlock(bytes)) % 64;
  return new Float64Array(bytes.buffer, start + 8 * shift, n).fill(7);
}

describe.skipIf(nativeKernels === null)('streamed = stored', () => {
  const k = nativeKernels as Kernels;
  const x = randomFloats('f64', n, 1);
  const gy = randomFloats('f64', n, 2);
  const gamma = randomFloats('f64', cols, 3);
  const [perRow, perColumn] = [randomFloats('f64', rows, 4), randomFloats('f64', cols, 5)];
  const [rowOut, rowOut2] = [new Float64Array(rows), new Float64Array(rows)];
  const [colOut, colOut2] = [new Float64Array(cols), new Float64Array(cols)];
  const cases: Record<string, (out: FloatArray) => void> = {
    dropout: (out) => k.dropout(x, out, n, 0.4, Uint32Array.of(1, 2, 3, 4)),
    softmax: (out) => k.softmax(x, out, rows, cols),
    softmaxBackward: (out) => k.softmaxBackward(x, gy, out, rows, cols),
    logSoftmax: (out) => k.logSoftmax(x, out, rows, cols),
    logSoftmaxBackward: (out) => k.logSoftmaxBackward(x, gy, out, rows, cols),
    crossEntropyBackward: (out) =>
      k.crossEntropyBackward(x, randomIds(rows, cols), perRow, perRow, out, rows, cols),
    layerNorm: (out) =>
      k.layerNorm({ x, gamma, beta: gamma, y: out, mean: rowOut, rstd: rowOut2, rows, cols, eps: 1e-5 }),
    layerNormBackward: (out) =>
      k.layerNormBackward({
        x,
        gy,
        gamma,
        mean: perRow,
        rstd: perRow,
        gx: out,
        ggamma: colOut,
        gbeta: colOut2,
        rows,
        cols,
      }),
    batchNorm: (out) => k.batchNorm(x, perColumn, perColumn, gamma, gamma, out, rows, cols),
    batchNormBackward: (out) =>
      k.batchNormBackward({
        x,
        gy,
        mean: perColumn,
        rstd: perColumn,
        gamma,
        gx: out,
        ggamma: colOut,
        gbeta: colOut2,
        rows,
        cols,
      }),
  };
  const offsets = Int32Array.from({ length: rows + 1 }, (_, r) => 2 * r);
  const indices = randomIds(2 * rows, rows);
  const scale = randomFloats('f64', rows, 6);
  cases.spmm = (out) =>
    k.spmm({
      op: reduceCode.sum,
      x,
      w: null,
      xScale: scale,
      yScale: scale,
      offsets,
      indices,
      positions: null,
      y: out,
      arg: null,
      rows,
      xRows: rows,
      width: cols,
      wCols: 1,
      hasSelf: true,
      self: 0,
      accumulate: false,
    });
  it.each(Object.entries(cases))('%s', (_name, run) => {
    const [streamed, stored] = [placed(0), placed(1)];
    run(streamed);
    run(stored);
    const bytes = (a: FloatArray) => Buffer.from(a.buffer as ArrayBuffer, a.byteOffset, a.byteLength);
    expect(Buffer.compare(bytes(streamed), bytes(stored))).toBe(0);
  });
});
