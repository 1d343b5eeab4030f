/** spmm with its gradients, and sddmm. */

import type { FloatArray } from 'skein/native';
import { describe, expect, it } from 'vitest';
import {
  type Kernels,
  nativeKernels,
  type ReduceOp,
  reduceCode,
  reduceOps,
  referenceKernels,
} from '#internal/native/index.js';
import {
  expectClose,
  expectSameBytes,
  expectSameBytesForThreads,
  type FloatType,
  floatTypes,
  randomFloats,
  zeros,
} from './harness.js';
import { large, type Structure, slackOf, structures } from './structures.js';

const implementations: [string, Kernels][] = [['reference', referenceKernels]];
if (nativeKernels !== null) implementations.push(['native', nativeKernels]);
const native = nativeKernels as Kernels;

interface Case {
  readonly op: ReduceOp;
  readonly width: number;
  readonly wCols?: number;
  readonly scaled?: boolean;
  readonly self?: number;
  readonly accumulate?: boolean;
  readonly shuffled?: boolean;
}

/** Multiples of 1/4 make ties of max and min frequent. */
function coarse(type: FloatType, n: number, seed: number): FloatArray {
  return randomFloats(type, n, seed).map((v) => Math.round(v * 4) / 4);
}

function runSpmm(kernels: Kernels, s: Structure, type: FloatType, c: Case) {
  const { width, wCols = 1 } = c;
  const indexed = c.op === 'max' || c.op === 'min';
  const x = coarse(type, s.sources * width, 1);
  const w = c.wCols === undefined ? null : coarse(type, s.entries * wCols, 2);
  const xScale = c.scaled ? randomFloats(type, s.sources, 3, 0.5, 1) : null;
  const yScale = c.scaled ? randomFloats(type, s.rows, 4, 0.5, 1) : null;
  const slots = c.shuffled ? Int32Array.from({ length: s.entries }, (_, p) => s.entries - 1 - p) : null;
  const y = randomFloats(type, s.rows * width + 1, 5);
  const arg = indexed ? new Int32Array(s.rows * width).fill(7) : null;
  kernels.spmm({
    op: reduceCode[c.op],
    x,
    w,
    xScale,
    yScale,
    offsets: s.offsets,
    indices: s.indices,
    positions: slots,
    y,
    arg,
    rows: s.rows,
    xRows: s.sources,
    width,
    wCols,
    hasSelf: c.self !== undefined,
    self: c.self ?? 0,
    accumulate: c.accumulate ?? false,
  });
  const gx = randomFloats(type, s.sources * width + 1, 6);
  if (arg !== null && slots === null) {
    const { out } = s;
    const gy = randomFloats(type, s.rows * width, 7);
    kernels.spmmArgBackward({
      gy,
      w,
      arg,
      offsets: out.offsets,
      indices: out.indices,
      positions: out.slots,
      gx,
      rows: s.sources,
      width,
      wCols,
    });
  }
  return { y, arg, gx };
}

function runSddmm(
  kernels: Kernels,
  s: Structure,
  type: FloatType,
  width: number,
  heads: number,
  mode: string,
) {
  const x = randomFloats(type, s.sources * width, 1);
  const y = randomFloats(type, s.rows * width, 2);
  const scaled = mode === 'scaled';
  const xScale = scaled ? randomFloats(type, s.sources, 3) : null;
  const yScale = scaled ? randomFloats(type, s.rows, 4) : null;
  let arg: Int32Array | null = null;
  if (mode === 'arg') {
    arg = new Int32Array(s.rows * width).fill(-1);
    for (let r = 0; r < s.rows; r++) {
      const size = s.offsets[r + 1] - s.offsets[r];
      if (size > 0) for (let f = 0; f < width; f++) arg[r * width + f] = s.offsets[r] + ((f * 7) % size);
    }
  }
  const out = zeros(type, s.entries * heads + 1).fill(9);
  kernels.sddmm({
    x,
    y,
    xScale,
    yScale,
    arg,
    offsets: s.offsets,
    indices: s.indices,
    out,
    rows: s.rows,
    width,
    heads,
  });
  return out;
}

describe.each(implementations)('spmm: %s', (_, kernels) => {
  const offsets = Int32Array.of(0, 2, 2, 5);
  const indices = Int32Array.of(0, 2, 1, 1, 0);
  const x = Float64Array.of(1, 8, 3, 6, 5, 4);
  const run = (
    op: ReduceOp,
    w: Float64Array | null,
    hasSelf: boolean,
    self: number,
    y = new Float64Array(6),
  ) => {
    const arg = new Int32Array(6);
    kernels.spmm({
      op: reduceCode[op],
      x,
      w,
      xScale: null,
      yScale: null,
      offsets,
      indices,
      positions: null,
      y,
      arg,
      rows: 3,
      xRows: 3,
      width: 2,
      wCols: 1,
      hasSelf,
      self,
      accumulate: y[0] !== 0,
    });
    return [[...y], [...arg]];
  };

  it('reduces by hand', () => {
    expect(run('sum', null, false, 0)[0]).toEqual([6, 12, 0, 0, 7, 20]);
    expect(run('mean', null, false, 0)[0]).toEqual([3, 6, 0, 0, 7 / 3, 20 / 3]);
    expect(run('max', null, false, 0)).toEqual([
      [5, 8, 0, 0, 3, 8],
      [1, 0, -1, -1, 2, 4],
    ]);
    expect(run('min', null, false, 0)).toEqual([
      [1, 4, 0, 0, 1, 6],
      [0, 1, -1, -1, 4, 2],
    ]);
  });

  it('weighs, adds the row itself where there is one, accumulates', () => {
    const w = Float64Array.of(1, 2, 3, 4, 5);
    expect(run('sum', w, false, 0)[0]).toEqual([11, 16, 0, 0, 26, 82]);
    expect(run('sum', null, true, 0)[0]).toEqual([7, 20, 3, 6, 12, 24]);
    expect(run('mean', null, true, 1)[0]).toEqual([3, 6, 5, 4, 7 / 3, 20 / 3]);
    expect(run('sum', null, true, -1)[0]).toEqual([6, 12, 1, 8, 10, 26]);
    expect(run('sum', null, false, 0, new Float64Array(6).fill(1))[0]).toEqual([7, 13, 1, 1, 8, 21]);
  });

  it('lets NaN win max and min', () => {
    const values = Float32Array.of(1, Number.NaN, 3);
    for (const op of ['max', 'min'] as const) {
      const y = new Float32Array(1);
      const arg = new Int32Array(1);
      const row = Int32Array.of(0, 4);
      const from = Int32Array.of(0, 1, 2, 1);
      kernels.spmm({
        op: reduceCode[op],
        x: values,
        w: null,
        xScale: null,
        yScale: null,
        offsets: row,
        indices: from,
        positions: null,
        y,
        arg,
        rows: 1,
        xRows: 3,
        width: 1,
        wCols: 1,
        hasSelf: false,
        self: 0,
        accumulate: false,
      });
      expect(y[0]).toBeNaN();
      expect(arg[0]).toBe(1);
    }
  });
});

describe.skipIf(nativeKernels === null)('spmm: native = reference', () => {
  const widths = [0, 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 32, 47, 64, 100, 128, 129, 160, 256, 300];
  describe.each(Object.entries(structures))('%s', (_, s) => {
    const check = (type: FloatType, c: Case) => {
      const [want, got] = [runSpmm(referenceKernels, s, type, c), runSpmm(native, s, type, c)];
      const label = JSON.stringify(c);
      expectClose(got.y, want.y, type, slackOf(s));
      expectClose(got.gx, want.gx, type, slackOf(s));
      if (want.arg !== null) expectSameBytes(got.arg as Int32Array, want.arg, label);
    };
    it.each(floatTypes)('every reduction and width, %s', (type) => {
      for (const op of reduceOps) for (const width of widths) check(type, { op, width });
    });
    it.each(floatTypes)('weights, scales, positions, %s', (type) => {
      for (const op of reduceOps) {
        for (const width of [1, 5, 16, 47, 64, 128, 200]) {
          check(type, { op, width, wCols: 1 });
          check(type, { op, width, wCols: 1, scaled: true, shuffled: true });
          check(type, { op, width, scaled: true });
        }
        for (const [width, wCols] of [
          [8, 8],
          [12, 3],
          [14, 7],
          [21, 3],
          [32, 4],
          [64, 4],
          [64, 8],
          [128, 2],
          [120, 40],
          [256, 8],
        ]) {
          check(type, { op, width, wCols });
          check(type, { op, width, wCols, scaled: true, shuffled: true });
        }
      }
    });
    it.each(floatTypes)('self and accumulation, %s', (type) => {
      for (const op of ['sum', 'mean'] as const) {
        for (const width of [3, 16, 100, 128]) {
          for (const self of [0, 2, -3]) {
            check(type, { op, width, self });
            check(type, { op, width, wCols: 1, scaled: true, self, accumulate: true });
          }
        }
      }
    });
    it.each(floatTypes)('sddmm, %s', (type) => {
      for (const mode of ['plain', 'scaled', 'arg']) {
        for (const [width, heads] of [
          [1, 1],
          [7, 1],
          [8, 8],
          [12, 3],
          [16, 1],
          [17, 1],
          [32, 4],
          [40, 8],
          [47, 1],
          [64, 4],
          [100, 1],
          [128, 1],
          [128, 2],
          [130, 10],
          [256, 8],
          [64, 64],
        ]) {
          const [want, got] = [referenceKernels, native].map((k) => runSddmm(k, s, type, width, heads, mode));
          expectClose(got, want, type);
        }
      }
    });
  });

  it('gives the same bytes for every number of threads', () => {
    const cases: Case[] = reduceOps.flatMap((op): Case[] => [
      { op, width: 128 },
      { op, width: 47, wCols: 1, scaled: true },
      { op, width: 64, wCols: 4 },
      { op, width: 3 },
    ]);
    for (const c of cases) {
      expectSameBytesForThreads((kernels) => {
        const { y, arg, gx } = runSpmm(kernels, large, 'f32', c);
        return arg === null ? [y] : [y, arg, gx];
      });
    }
    for (const mode of ['plain', 'scaled', 'arg']) {
      expectSameBytesForThreads((kernels) => [runSddmm(kernels, large, 'f32', 64, 4, mode)]);
    }
  });
});
