/** queryLoss: native against the twin for every kind, sub-batches, rows on their own, threads, masks of dropout. */
import type { FloatArray } from 'skein/native';
import { describe, expect, it } from 'vitest';
import {
  type Kernels,
  nativeKernels,
  queryCode,
  queryKinds,
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

const native = nativeKernels as Kernels;

interface Sizes {
  readonly queries: number;
  readonly count: number;
  readonly width: number;
}

/** Bias, dropout, label smoothing. */
interface Extras {
  readonly bias?: boolean;
  readonly drop?: number;
  readonly smooth?: boolean;
  /** Only the loss, or some gradients. */
  readonly without?: readonly ('gQuery' | 'gTable' | 'gBias')[];
}

interface Results {
  readonly loss: FloatArray;
  readonly gQuery: FloatArray;
  readonly gTable: FloatArray;
  readonly gBias: FloatArray;
}

/** Off the edges of vectors, tiles and blocks; none and one. */
const sizes: readonly Sizes[] = [
  { queries: 0, count: 5, width: 3 },
  { queries: 3, count: 0, width: 3 },
  { queries: 1, count: 1, width: 1 },
  { queries: 2, count: 17, width: 7 },
  { queries: 33, count: 300, width: 19 },
  { queries: 70, count: 1031, width: 40 },
  { queries: 300, count: 400, width: 10 },
];

/** Lists of 0, 1, 2, … ids with repetitions; the known ones are ascending and include the answers. */
function lists(queries: number, count: number) {
  const many = count === 0 ? 0 : 5;
  const answerOffsets = Int32Array.from({ length: queries + 1 }, (_, i) => (many > 0 ? 2 * i : 0));
  const answers = Int32Array.from(
    { length: answerOffsets[queries] },
    (_, k) => (k * k + 3 * (k >> 2)) % count,
  );
  for (let i = 1; i < queries; i += 7) answerOffsets[i] = answerOffsets[i - 1]; // a query without answers
  const known = Array.from({ length: queries }, (_, i) => {
    const own = answers.subarray(answerOffsets[i], answerOffsets[i + 1]);
    const more = count === 0 ? [] : Array.from({ length: many }, (_, k) => (i * 11 + k * k) % count);
    return [...new Set([...own, ...more])].sort((a, b) => a - b);
  });
  const knownOffsets = new Int32Array(queries + 1);
  for (const [i, list] of known.entries()) knownOffsets[i + 1] = knownOffsets[i] + list.length;
  return { answerOffsets, answers, knownOffsets, known: Int32Array.from(known.flat()) };
}

function run(
  k: Kernels,
  kind: number,
  type: FloatType,
  { queries, count, width }: Sizes,
  extras: Extras,
): Results {
  const { bias = false, drop = 0, smooth = false, without = [] } = extras;
  const made = {
    loss: zeros(type, queries + 1).fill(7),
    gQuery: zeros(type, queries * width + 1).fill(7),
    gTable: zeros(type, count * width + 1).fill(7),
    gBias: zeros(type, count + 1).fill(7),
  };
  k.queryLoss({
    kind,
    query: randomFloats(type, queries * width, 1, -1, 1),
    table: randomFloats(type, count * width, 2, -1, 1),
    bias: bias ? randomFloats(type, count, 3) : null,
    ...lists(queries, count),
    omega: randomFloats(type, queries, 4, 0.5, 1.5),
    tau: randomFloats(type, queries, 5, 0.2, 0.5),
    sigma: smooth ? randomFloats(type, queries, 6, 0.001, 0.01) : zeros(type, queries),
    offset: queryKinds[kind] === 'bce' ? -1.5 : 0,
    drop,
    key: drop > 0 ? Uint32Array.of(1, 2, 3, 4) : null,
    loss: made.loss,
    gQuery: without.includes('gQuery') ? null : made.gQuery,
    gTable: without.includes('gTable') ? null : made.gTable,
    gBias: without.includes('gBias') || !bias ? null : made.gBias,
    queries,
    count,
    width,
  });
  return made;
}

const kinds = queryKinds.map((name) => [name, queryCode[name]] as const);
const variants: readonly Extras[] = [
  {},
  { bias: true, smooth: true },
  { drop: 0.4 },
  { bias: true, drop: 1 },
];

describe.skipIf(nativeKernels === null)('native = reference', () => {
  it.each(kinds)('%s', (_name, kind) => {
    for (const type of floatTypes) {
      for (const size of sizes) {
        for (const extras of variants) {
          const want = run(referenceKernels, kind, type, size, extras);
          const got = run(native, kind, type, size, extras);
          // Sums over a thousand rows.
          for (const name of ['loss', 'gQuery', 'gTable', 'gBias'] as const)
            expectClose(got[name], want[name], type, 5);
        }
      }
    }
  });

  it.each(kinds)('%s: outputs that are not wanted change nothing', (_name, kind) => {
    const size = { queries: 20, count: 90, width: 9 };
    const all = run(native, kind, 'f32', size, { bias: true, drop: 0.3, smooth: true });
    for (const name of ['gQuery', 'gTable', 'gBias'] as const) {
      const some = run(native, kind, 'f32', size, { bias: true, drop: 0.3, smooth: true, without: [name] });
      for (const other of ['loss', 'gQuery', 'gTable', 'gBias'] as const)
        if (other !== name) expectSameBytes(some[other], all[other], `${other} without ${name}`);
    }
    const without = ['gQuery', 'gTable', 'gBias'] as const;
    const alone = run(native, kind, 'f64', size, { bias: true, drop: 0.3, smooth: true, without });
    expectClose(
      alone.loss,
      run(native, kind, 'f64', size, { bias: true, drop: 0.3, smooth: true }).loss,
      'f64',
    );
  });
});

describe.skipIf(nativeKernels === null)('queries are independent', () => {
  /** The queries first … first + some − 1 of all, on their own. */
  function part(kind: number, all: number, first: number, some: number, count: number, width: number) {
    const { answerOffsets, answers, knownOffsets, known } = lists(all, count);
    const cut = (offsets: Int32Array): Int32Array =>
      offsets.slice(first, first + some + 1).map((at) => at - offsets[first]);
    const of = (values: FloatArray, each: number): FloatArray =>
      values.slice(first * each, (first + some) * each);
    const made = {
      loss: zeros('f32', some),
      gQuery: zeros('f32', some * width),
      gTable: zeros('f32', count * width),
    };
    native.queryLoss({
      kind,
      query: of(randomFloats('f32', all * width, 1, -1, 1), width),
      table: randomFloats('f32', count * width, 2, -1, 1),
      bias: null,
      answerOffsets: cut(answerOffsets),
      answers: answers.slice(answerOffsets[first], answerOffsets[first + some]),
      knownOffsets: cut(knownOffsets),
      known: known.slice(knownOffsets[first], knownOffsets[first + some]),
      omega: of(randomFloats('f32', all, 4, 0.5, 1.5), 1),
      tau: of(randomFloats('f32', all, 5, 0.2, 0.5), 1),
      sigma: zeros('f32', some),
      offset: 0,
      drop: 0.3,
      key: Uint32Array.of(1, 2, 3, 4),
      ...made,
      gBias: null,
      queries: some,
      count,
      width,
    });
    return made;
  }

  it.each(kinds)('%s: a query has the same bytes in any company', (_name, kind) => {
    const [all, count, width] = [40, 2500, 24];
    const whole = part(kind, all, 0, all, count, width);
    for (const [first, some] of [
      [0, 1],
      [17, 1],
      [5, 30],
    ]) {
      const few = part(kind, all, first, some, count, width);
      expectSameBytes(few.loss, whole.loss.slice(first, first + some));
      expectSameBytes(few.gQuery, whole.gQuery.slice(first * width, (first + some) * width));
    }
  });

  it('divides many queries against a large table into sub-batches', () => {
    const [all, count, width] = [130, 140_000, 3];
    const whole = part(queryCode.softmax, all, 0, all, count, width);
    const sums = new Float64Array(count * width);
    for (const [first, some] of [
      [0, 50],
      [50, 80],
    ]) {
      const few = part(queryCode.softmax, all, first, some, count, width);
      expectSameBytes(few.loss, whole.loss.slice(first, first + some));
      expectSameBytes(few.gQuery, whole.gQuery.slice(first * width, (first + some) * width));
      for (const [i, g] of few.gTable.entries()) sums[i] += g;
    }
    expectClose(whole.gTable, Float32Array.from(sums), 'f32');
  });
});

it('gives the same bytes for any number of threads', () => {
  expectSameBytesForThreads((k) =>
    kinds.flatMap(([, kind]) =>
      floatTypes.flatMap((type) =>
        Object.values(
          run(
            k,
            kind,
            type,
            { queries: 150, count: 1900, width: 50 },
            { bias: true, drop: 0.3, smooth: true },
          ),
        ),
      ),
    ),
  );
});

it('drops about a share p of the elements, and divides the others by 1 − p', () => {
  for (const k of nativeKernels === null ? [referenceKernels] : [referenceKernels, nativeKernels]) {
    const [count, width] = [1001, 33];
    const call = (p: number, seed: number): FloatArray => {
      const gTable = zeros('f64', count * width);
      // The gradient of Σ s by an element of the table is the element's factor.
      k.queryLoss({
        kind: queryCode.bce,
        query: new Float64Array(width).fill(1),
        table: new Float64Array(count * width).fill(Number.POSITIVE_INFINITY),
        bias: null,
        answerOffsets: Int32Array.of(0, 0),
        answers: new Int32Array(0),
        knownOffsets: null,
        known: null,
        omega: Float64Array.of(1),
        tau: Float64Array.of(0),
        sigma: Float64Array.of(0),
        offset: 0,
        drop: p,
        key: Uint32Array.of(seed, 8, 7, 6),
        loss: zeros('f64', 1),
        gQuery: null,
        gTable,
        gBias: null,
        queries: 1,
        count,
        width,
      });
      return gTable;
    };
    for (const p of [0.01, 0.25, 0.9]) {
      const factors = call(p, 9);
      const dropped = factors.filter((f) => f === 0).length / factors.length;
      // Five standard deviations of a share of 33,033 elements.
      expect(Math.abs(dropped - p)).toBeLessThan(5 * Math.sqrt((p * (1 - p)) / factors.length));
      // p is a multiple of 2⁻¹⁶.
      for (const f of new Set(factors)) if (f !== 0) expect(f * (1 - p)).toBeCloseTo(1, 3);
    }
    expect(call(0.5, 9)).toEqual(call(0.5, 9));
    expect(call(0.5, 9)).not.toEqual(call(0.5, 10));
  }
});

it('keeps NaN and large scores apart', () => {
  for (const k of nativeKernels === null ? [referenceKernels] : [referenceKernels, nativeKernels]) {
    for (const [, kind] of kinds) {
      const loss = zeros('f32', 3);
      k.queryLoss({
        kind,
        query: Float32Array.of(Number.NaN, 90, -90),
        table: Float32Array.of(1, 0.5, -1),
        bias: null,
        answerOffsets: Int32Array.of(0, 1, 2, 3),
        answers: Int32Array.of(0, 0, 2),
        knownOffsets: Int32Array.of(0, 1, 2, 5),
        known: Int32Array.of(0, 0, 0, 1, 2), // everything is known to the last query
        omega: Float32Array.of(1, 1, 1),
        tau: Float32Array.of(1, 1, 1),
        sigma: zeros('f32', 3),
        offset: 0,
        drop: 0,
        key: null,
        loss,
        gQuery: zeros('f32', 3),
        gTable: zeros('f32', 3),
        gBias: null,
        queries: 3,
        count: 3,
        width: 1,
      });
      expect(loss[0]).toBeNaN();
      const squares = 89 ** 2 + 45 ** 2 + 90 ** 2;
      const want = { softmax: [0, 0], masked_softmax: [0, 0], bce: [45, 0], squares: [squares, squares] };
      for (const [i, value] of want[queryKinds[kind]].entries()) expect(loss[1 + i]).toBeCloseTo(value, 6);
    }
  }
});
