import type { FloatArray } from 'skein/native';
import { describe, expect, it } from 'vitest';
import { type Kernels, nativeKernels, referenceKernels } from '#internal/native/index.js';
import {
  edgeSizes,
  expectClose,
  expectSameBytesForThreads,
  type FloatType,
  floatTypes,
  randomFloats,
  zeros,
} from './harness.js';

const implementations: [string, Kernels | null][] = [
  ['reference', referenceKernels],
  ['native', nativeKernels],
];
const EPS = 1e-5;

interface Options {
  readonly affine?: boolean;
  /** Range of x: [offset − 2, offset + 2). */
  readonly offset?: number;
}

/** y, mean, rstd, gx, ggamma, gbeta; the last three from the reference's statistics, so that errors do not add up. */
function layerNorm(
  k: Kernels,
  type: FloatType,
  rows: number,
  cols: number,
  options: Options = {},
): FloatArray[] {
  const { affine = true, offset = 0 } = options;
  const n = rows * cols;
  const x = randomFloats(type, n, 2, offset - 2, offset + 2);
  const gamma = affine ? randomFloats(type, cols, 3) : null;
  const beta = affine ? randomFloats(type, cols, 4) : null;
  const [y, gx] = [zeros(type, n + 1).fill(7), zeros(type, n + 1).fill(7)];
  const [mean, rstd] = [zeros(type, rows + 1), zeros(type, rows + 1)];
  k.layerNorm({ x, gamma, beta, y, mean, rstd, rows, cols, eps: EPS });
  const [m, s] = [zeros(type, rows), zeros(type, rows)];
  referenceKernels.layerNorm({
    x,
    gamma: null,
    beta: null,
    y: zeros(type, n),
    mean: m,
    rstd: s,
    rows,
    cols,
    eps: EPS,
  });
  const ggamma = affine ? zeros(type, cols + 1).fill(7) : null;
  const gbeta = affine ? zeros(type, cols + 1).fill(7) : null;
  k.layerNormBackward({
    x,
    gy: randomFloats(type, n, 5),
    gamma,
    mean: m,
    rstd: s,
    gx,
    ggamma,
    gbeta,
    rows,
    cols,
  });
  return [y, mean, rstd, gx, ...(ggamma && gbeta ? [ggamma, gbeta] : [])];
}

/** mean, variance, y, gx, ggamma, gbeta; all after the first two from the reference's statistics. */
function batchNorm(
  k: Kernels,
  type: FloatType,
  rows: number,
  cols: number,
  options: Options = {},
): FloatArray[] {
  const { affine = true, offset = 0 } = options;
  const n = rows * cols;
  const x = randomFloats(type, n, 2, offset - 2, offset + 2);
  const gamma = affine ? randomFloats(type, cols, 3) : null;
  const beta = affine ? randomFloats(type, cols, 4) : null;
  const [mean, variance] = [zeros(type, cols + 1), zeros(type, cols + 1)];
  k.columnStats(x, mean, variance, rows, cols);
  const [m, s] = [zeros(type, cols), zeros(type, cols)];
  referenceKernels.columnStats(x, m, s, rows, cols);
  for (let c = 0; c < cols; c++) s[c] = 1 / Math.sqrt(s[c] + EPS);
  const [y, gx] = [zeros(type, n + 1).fill(7), zeros(type, n + 1).fill(7)];
  const [ggamma, gbeta] = [zeros(type, cols + 1).fill(7), zeros(type, cols + 1).fill(7)];
  k.batchNorm(x, m, s, gamma, beta, y, rows, cols);
  k.batchNormBackward({
    x,
    gy: randomFloats(type, n, 5),
    mean: m,
    rstd: s,
    gamma,
    gx,
    ggamma,
    gbeta,
    rows,
    cols,
  });
  return [mean, variance, y, gx, ggamma, gbeta];
}

function dot(a: FloatArray, b: FloatArray): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}

for (const [implementation, kernels] of implementations) {
  describe.skipIf(kernels === null)(`norms, ${implementation}`, () => {
    const k = kernels as Kernels;
    it('turn constant rows into beta', () => {
      const x = new Float32Array(3 * 20).fill(12345.678);
      const y = new Float32Array(60);
      const [mean, rstd] = [new Float32Array(3), new Float32Array(3)];
      k.layerNorm({
        x,
        gamma: null,
        beta: new Float32Array(20).fill(3),
        y,
        mean,
        rstd,
        rows: 3,
        cols: 20,
        eps: EPS,
      });
      expect([...y]).toEqual(new Array(60).fill(3));
      expect([...mean]).toEqual(new Array(3).fill(Math.fround(12345.678)));
      expect(rstd[0]).toBeCloseTo(1 / Math.sqrt(EPS), 2);
    });
    it('carry NaN and spare the other rows', () => {
      const x = Float32Array.of(1, 2, 3, 1, NaN, 3);
      const y = new Float32Array(6);
      k.layerNorm({
        x,
        gamma: null,
        beta: null,
        y,
        mean: new Float32Array(2),
        rstd: new Float32Array(2),
        rows: 2,
        cols: 3,
        eps: EPS,
      });
      expect([...y].map(Number.isNaN)).toEqual([false, false, false, true, true, true]);
    });
    it('have no statistics without rows', () => {
      const [mean, variance] = [new Float32Array(3), new Float32Array(3)];
      k.columnStats(new Float32Array(0), mean, variance, 0, 3);
      expect([...mean, ...variance].every(Number.isNaN)).toBe(true);
    });
    it('are stable for a mean of 10000 with deviation 1, f32', () => {
      const [rows, cols] = [3000, 130];
      const x = randomFloats('f32', rows * cols, 9, 10000 - Math.sqrt(3), 10000 + Math.sqrt(3));
      const [mean, variance] = [zeros('f32', cols), zeros('f32', cols)];
      k.columnStats(x, mean, variance, rows, cols);
      const [m, v] = [zeros('f64', cols), zeros('f64', cols)];
      referenceKernels.columnStats(Float64Array.from(x), m, v, rows, cols);
      for (let c = 0; c < cols; c++) {
        expect(Math.abs(mean[c] / m[c] - 1)).toBeLessThan(1e-7);
        expect(Math.abs(variance[c] / v[c] - 1)).toBeLessThan(1e-5);
      }
      const y = zeros('f32', x.length);
      const want = zeros('f64', x.length);
      const [rm, rs] = [zeros('f64', rows), zeros('f64', rows)];
      k.layerNorm({
        x,
        gamma: null,
        beta: null,
        y,
        mean: zeros('f32', rows),
        rstd: zeros('f32', rows),
        rows,
        cols,
        eps: EPS,
      });
      referenceKernels.layerNorm({
        x: Float64Array.from(x),
        gamma: null,
        beta: null,
        y: want,
        mean: rm,
        rstd: rs,
        rows,
        cols,
        eps: EPS,
      });
      expectClose(y, want, 'f32');
    });
    it('have derivatives as gradients', () => {
      checkLayerNormGradient(k);
      checkBatchNormGradient(k);
    });
  });
}

function checkLayerNormGradient(k: Kernels): void {
  const [rows, cols] = [2, 11];
  const x = randomFloats('f64', rows * cols, 8);
  const gamma = randomFloats('f64', cols, 3);
  const gy = randomFloats('f64', rows * cols, 9);
  const [mean, rstd] = [zeros('f64', rows), zeros('f64', rows)];
  const y = zeros('f64', rows * cols);
  const value = (input: FloatArray): number => {
    k.layerNorm({ x: input, gamma, beta: null, y, mean, rstd, rows, cols, eps: EPS });
    return dot(y, gy);
  };
  const gx = zeros('f64', rows * cols);
  value(x);
  k.layerNormBackward({ x, gy, gamma, mean, rstd, gx, ggamma: null, gbeta: null, rows, cols });
  checkDifferences(x, gx, value);
}

function checkBatchNormGradient(k: Kernels): void {
  const [rows, cols] = [9, 3];
  const x = randomFloats('f64', rows * cols, 8);
  const gamma = randomFloats('f64', cols, 3);
  const gy = randomFloats('f64', rows * cols, 9);
  const [mean, rstd] = [zeros('f64', cols), zeros('f64', cols)];
  const y = zeros('f64', rows * cols);
  const value = (input: FloatArray): number => {
    k.columnStats(input, mean, rstd, rows, cols);
    for (let c = 0; c < cols; c++) rstd[c] = 1 / Math.sqrt(rstd[c] + EPS);
    k.batchNorm(input, mean, rstd, gamma, null, y, rows, cols);
    return dot(y, gy);
  };
  const gx = zeros('f64', rows * cols);
  value(x);
  k.batchNormBackward({
    x,
    gy,
    mean,
    rstd,
    gamma,
    gx,
    ggamma: zeros('f64', cols),
    gbeta: zeros('f64', cols),
    rows,
    cols,
  });
  checkDifferences(x, gx, value);
}

function checkDifferences(x: FloatArray, gx: FloatArray, value: (input: FloatArray) => number): void {
  for (let i = 0; i < x.length; i++) {
    const [up, down] = [x.slice(), x.slice()];
    up[i] += 1e-5;
    down[i] -= 1e-5;
    expect(gx[i]).toBeCloseTo((value(up) - value(down)) / 2e-5, 7);
  }
}

describe.skipIf(nativeKernels === null)('native = reference', () => {
  const native = nativeKernels as Kernels;
  for (const [name, run] of Object.entries({ layerNorm, batchNorm })) {
    it.each(floatTypes)(`${name} %s`, (type) => {
      for (const cols of [...edgeSizes.slice(1), 47, 2500]) {
        for (const rows of cols < 100 ? [0, 1, 3, 4, 5, 1201] : [1, 40]) {
          for (const affine of [true, false]) {
            const want = run(referenceKernels, type, rows, cols, { affine });
            // Deviations of a few equal rows are differences of rounding errors, which rstd magnifies by 300.
            const scale = rows * cols < 100 ? 100 : 10;
            for (const [i, got] of run(native, type, rows, cols, { affine }).entries()) {
              expectClose(got, want[i], type, scale);
            }
          }
        }
      }
    });
  }
});

it('gives the same bytes for any number of threads', () => {
  expectSameBytesForThreads((k) =>
    floatTypes.flatMap((type) => [...layerNorm(k, type, 5003, 47), ...batchNorm(k, type, 5003, 47)]),
  );
});
