/** edgeSoftmax, attention and the scores of GATv2: against the twins, and against the composition they replace. */

import type { FloatArray } from 'skein/native';
import { describe, expect, it } from 'vitest';
import { type Kernels, nativeKernels, reduceCode, referenceKernels } from '#internal/native/index.js';
import {
  expectClose,
  expectSameBytesForThreads,
  type FloatType,
  floatTypes,
  randomFloats,
  randomIds,
  zeros,
} from './harness.js';
import { large, type Structure, slackOf, structures } from './structures.js';

const implementations: [string, Kernels][] = [['reference', referenceKernels]];
if (nativeKernels !== null) implementations.push(['native', nativeKernels]);
const native = nativeKernels as Kernels;
const key = Uint32Array.of(7, 0, 0x80000001, 5);
const slope = 0.2;
const shapes: [number, number][] = [
  [1, 1],
  [1, 7],
  [1, 64],
  [2, 16],
  [3, 5],
  [4, 8],
  [8, 8],
  [8, 16],
  [7, 1],
  [2, 100],
  [20, 3],
  [4, 64],
];

function runSoftmax(kernels: Kernels, s: Structure, type: FloatType, heads: number): FloatArray[] {
  const scores = randomFloats(type, s.entries * heads, 1, -6, 6);
  const out = zeros(type, s.entries * heads + 1).fill(9);
  kernels.edgeSoftmax(scores, s.offsets, out, s.rows, heads);
  const gout = randomFloats(type, s.entries * heads, 2);
  const gscores = zeros(type, s.entries * heads + 1).fill(9);
  kernels.edgeSoftmaxBackward(out, gout, s.offsets, gscores, s.rows, heads);
  return [out, gscores];
}

function attentionInputs(s: Structure, type: FloatType, heads: number, width: number, extra: boolean) {
  return {
    z: randomFloats(type, s.sources * heads * width, 1),
    el: randomFloats(type, s.sources * heads, 2),
    er: randomFloats(type, s.rows * heads, 3),
    ee: extra ? randomFloats(type, s.entries * heads, 4) : null,
    gy: randomFloats(type, s.rows * heads * width, 5),
  };
}

/** Ids of edges, and negative ones of loops. */
function entryIds(s: Structure): Int32Array {
  return randomIds(s.entries, 2 ** 31, 8).map((id, p) => (p % 3 === 0 ? -1 - id : id));
}

function runAttention(
  kernels: Kernels,
  s: Structure,
  type: FloatType,
  [heads, width]: readonly [number, number],
  extra: boolean,
  drop: number,
  byId = false,
): FloatArray[] {
  const { z, el, er, ee, gy } = attentionInputs(s, type, heads, width, extra);
  const random = drop > 0 ? key : null;
  const ids = byId ? entryIds(s) : null;
  const y = zeros(type, s.rows * heads * width).fill(9);
  const lse = zeros(type, s.rows * heads).fill(9);
  kernels.gatAttention({
    z,
    el,
    er,
    ee,
    offsets: s.offsets,
    indices: s.indices,
    ids,
    key: random,
    drop,
    y,
    lse,
    rows: s.rows,
    heads,
    width,
    slope,
  });
  const attention = zeros(type, s.entries * heads + 1).fill(9);
  const gscore = zeros(type, s.entries * heads + 1).fill(9);
  kernels.gatAttentionBackward({
    z,
    el,
    er,
    ee,
    y,
    lse,
    gy,
    offsets: s.offsets,
    indices: s.indices,
    ids,
    key: random,
    drop,
    attention,
    gscore,
    rows: s.rows,
    heads,
    width,
    slope,
  });
  return [y, lse, attention, gscore];
}

function runGatv2(
  kernels: Kernels,
  s: Structure,
  type: FloatType,
  [heads, width]: readonly [number, number],
  extra: boolean,
): FloatArray[] {
  const all = heads * width;
  const xl = randomFloats(type, s.sources * all, 1);
  const xr = randomFloats(type, s.rows * all, 2);
  const a = randomFloats(type, all, 3);
  const ee = extra ? randomFloats(type, s.entries * all, 4) : null;
  const gout = randomFloats(type, s.entries * heads, 5);
  const out = zeros(type, s.entries * heads + 1).fill(9);
  kernels.gatv2Scores({
    xl,
    xr,
    a,
    ee,
    offsets: s.offsets,
    indices: s.indices,
    out,
    rows: s.rows,
    heads,
    width,
    slope,
  });
  const gxr = zeros(type, s.rows * all).fill(9);
  const ga = zeros(type, all).fill(9);
  const gee = extra ? zeros(type, s.entries * all).fill(9) : null;
  kernels.gatv2ScoresBackward({
    xl,
    xr,
    a,
    ee,
    gout,
    offsets: s.offsets,
    indices: s.indices,
    gxr,
    ga,
    gee,
    rows: s.rows,
    heads,
    width,
    slope,
  });
  const gxl = zeros(type, s.sources * all).fill(9);
  const { offsets, indices, slots } = s.out;
  kernels.gatv2ScoresBackwardSource({
    xl,
    xr,
    a,
    ee,
    gout,
    offsets,
    indices,
    positions: slots,
    gxl,
    rows: s.sources,
    heads,
    width,
    slope,
  });
  return gee === null ? [out, gxr, ga, gxl] : [out, gxr, ga, gxl, gee];
}

describe.each(implementations)('attention: %s', (_, kernels) => {
  it('softmax by hand, also where exponentials would overflow', () => {
    const out = new Float64Array(4);
    kernels.edgeSoftmax(Float64Array.of(1000, 1000, -5000, 3), Int32Array.of(0, 3, 3, 4), out, 3, 1);
    expect([...out]).toEqual([0.5, 0.5, 0, 1]);
  });

  it.each(['short', 'multi-edges', 'hub'])('is the composition of its parts: %s', (name) => {
    const s = structures[name];
    const [heads, width] = [4, 8];
    for (const drop of [0, 0.4]) {
      const { z, el, er, ee, gy } = attentionInputs(s, 'f64', heads, width, true);
      const n = s.entries * heads;
      const sums = new Float64Array(n);
      for (let r = 0; r < s.rows; r++) {
        for (let p = s.offsets[r]; p < s.offsets[r + 1]; p++) {
          for (let h = 0; h < heads; h++) {
            sums[p * heads + h] =
              el[s.indices[p] * heads + h] + er[r * heads + h] + (ee as FloatArray)[p * heads + h];
          }
        }
      }
      const alpha = new Float64Array(n);
      kernels.edgeSoftmax(
        sums.map((v) => (v > 0 ? v : slope * v)),
        s.offsets,
        alpha,
        s.rows,
        heads,
      );
      const weights = alpha.slice();
      if (drop > 0) kernels.dropout(alpha, weights, n, drop, key);
      const want = new Float64Array(s.rows * heads * width);
      kernels.spmm({
        op: reduceCode.sum,
        x: z,
        w: weights,
        xScale: null,
        yScale: null,
        offsets: s.offsets,
        indices: s.indices,
        positions: null,
        y: want,
        arg: null,
        rows: s.rows,
        xRows: s.sources,
        width: heads * width,
        wCols: heads,
        hasSelf: false,
        self: 0,
        accumulate: false,
      });
      const dots = new Float64Array(n);
      kernels.sddmm({
        x: z,
        y: gy,
        xScale: null,
        yScale: null,
        arg: null,
        offsets: s.offsets,
        indices: s.indices,
        out: dots,
        rows: s.rows,
        width: heads * width,
        heads,
      });
      const galpha = dots.slice();
      if (drop > 0) kernels.dropout(dots, galpha, n, drop, key);
      const gscores = new Float64Array(n);
      kernels.edgeSoftmaxBackward(alpha, galpha, s.offsets, gscores, s.rows, heads);
      const gsums = gscores.map((v, i) => (sums[i] > 0 ? v : slope * v));
      const [y, , attention, gscore] = runAttention(kernels, s, 'f64', [heads, width], true, drop);
      expectClose(y, want, 'f64');
      expectClose(attention.subarray(0, n), weights, 'f64');
      expectClose(gscore.subarray(0, n), gsums, 'f64');
    }
  });

  it('drops the weights of an entry by its id, as dropoutRows does', () => {
    const s = structures.short;
    const [, , all] = runAttention(kernels, s, 'f64', [3, 5], false, 0);
    const [, , kept] = runAttention(kernels, s, 'f64', [3, 5], false, 0.6, true);
    const n = s.entries * 3;
    const want = zeros('f64', n);
    kernels.dropoutRows(all.subarray(0, n), entryIds(s), want, s.entries, 3, 0.6, key);
    expectClose(kept.subarray(0, n), want, 'f64');
  });

  it('drops everything for drop = 1', () => {
    const s = structures.short;
    const [y, , attention] = runAttention(kernels, s, 'f32', [2, 16], false, 1);
    expect(y.every((v) => v === 0)).toBe(true);
    expect(attention.subarray(0, s.entries * 2).every((v) => v === 0)).toBe(true);
  });
});

describe.skipIf(nativeKernels === null)('attention: native = reference', () => {
  const check = (s: Structure, type: FloatType, run: (kernels: Kernels) => FloatArray[]) => {
    const [want, got] = [run(referenceKernels), run(native)];
    for (const [i, expected] of want.entries()) expectClose(got[i], expected, type, slackOf(s));
  };
  describe.each(Object.entries(structures))('%s', (_, s) => {
    it.each(floatTypes)('edgeSoftmax, %s', (type) => {
      for (const heads of [1, 2, 3, 4, 7, 8, 16, 20]) check(s, type, (k) => runSoftmax(k, s, type, heads));
    });
    it.each(floatTypes)('gatAttention, %s', (type) => {
      for (const shape of shapes) {
        check(s, type, (k) => runAttention(k, s, type, shape, false, 0));
        check(s, type, (k) => runAttention(k, s, type, shape, true, 0.3));
        check(s, type, (k) => runAttention(k, s, type, shape, false, 0.6, true));
      }
    });
    it.each(floatTypes)('gatv2Scores, %s', (type) => {
      for (const shape of shapes) {
        check(s, type, (k) => runGatv2(k, s, type, shape, false));
        check(s, type, (k) => runGatv2(k, s, type, shape, true));
      }
    });
  });

  it('gives the same bytes for every number of threads', () => {
    for (const shape of [
      [4, 16],
      [1, 47],
      [8, 8],
    ] as const) {
      expectSameBytesForThreads((kernels) => [
        ...runSoftmax(kernels, large, 'f32', shape[0]),
        ...runAttention(kernels, large, 'f32', shape, true, 0.5),
        ...runAttention(kernels, large, 'f32', shape, false, 0.5, true),
        ...runGatv2(kernels, large, 'f32', shape, true),
      ]);
    }
  });
});
