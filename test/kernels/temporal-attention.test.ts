/** Temporal attention: native against the twin, edge sizes of every section, threads, and independence of rows. */
import type { FloatArray } from 'skein/native';
import { describe, expect, it } from 'vitest';
import { type Kernels, nativeKernels, referenceKernels } from '#internal/native/index.js';
import {
  expectClose,
  expectSameBytes,
  expectSameBytesForThreads,
  type FloatType,
  floatTypes,
  randomFloats,
  randomIds,
  zeros,
} from './harness.js';

interface Case {
  readonly degrees: readonly number[];
  readonly heads: number;
  readonly node: number;
  readonly edge: number;
  readonly time: number;
  readonly drop?: number;
  readonly slope?: number;
  readonly type?: FloatType;
}

const native = nativeKernels as Kernels;
const key = Uint32Array.of(7, 0, 0x80000001, 5);
const hRows = 40;
const eventCount = 90;

function inputsOf({ degrees, heads, node, edge, time, type = 'f32' }: Case) {
  const offsets = new Int32Array(degrees.length + 1);
  for (const [i, n] of degrees.entries()) offsets[i + 1] = offsets[i] + n;
  const edges = offsets[degrees.length];
  const width = node + edge + time + 1;
  return {
    offsets,
    edges,
    width,
    query: randomFloats(type, heads * degrees.length * width, 1, -0.3, 0.3),
    h: randomFloats(type, hRows * node, 2),
    neighbors: randomIds(edges, hRows, 3),
    features: edge > 0 ? randomFloats(type, eventCount * edge, 4) : null,
    eventRows: randomIds(edges, eventCount, 5),
    spans: randomFloats(type, edges, 6, 0, 1000),
    w: randomFloats(type, time, 7, 0, 1),
    b: randomFloats(type, time, 8, -1, 1),
    gy: randomFloats(type, heads * degrees.length * width, 9),
  };
}

/** y, raw, alpha, then the gradients. */
function run(kernels: Kernels, c: Case, inputs = inputsOf(c), wanted = true): FloatArray[] {
  const { heads, node, edge, time, drop = 0, slope = 1, type = 'f32' } = c;
  const n = inputs.offsets.length - 1;
  const { query, h, neighbors, features, eventRows, spans, w, b, offsets, edges, width, gy } = inputs;
  const fresh = (size: number): FloatArray => zeros(type, size).fill(9);
  const random = drop > 0 ? key : null;
  const [raw, alpha, encoded] = [fresh(edges * heads), fresh(edges * heads), fresh(edges * time)];
  const y = fresh(heads * n * width);
  const common = {
    ...{ query, h, neighbors, features, eventRows, spans, w, b, offsets, key: random, drop, raw, alpha },
    ...{ numDst: n, heads, dimNode: node, dimEdge: edge, dimTime: time, scale: 0.7, slope },
  };
  kernels.temporalAttention({ ...common, encoded, y });
  const [gQuery, gNeighbors, gw, gb] = [fresh(y.length), fresh(edges * node), fresh(time), fresh(time)];
  const gradients = wanted
    ? { gQuery, gNeighbors, gw, gb }
    : { gQuery: null, gNeighbors: null, gw: null, gb: null };
  kernels.temporalAttentionBackward({ ...common, gy, encoded, ...gradients });
  return [y, raw, alpha, encoded, gQuery, gNeighbors, gw, gb];
}

const degrees = [0, 1, 10, 0, 3, 16, 17, 40, 2, 0];
const cases: Record<string, Case> = {
  'no destinations': { degrees: [], heads: 2, node: 3, edge: 2, time: 4 },
  'no edges at all': { degrees: [0, 0], heads: 2, node: 3, edge: 2, time: 4 },
  'nothing but the constant': { degrees, heads: 1, node: 0, edge: 0, time: 0 },
  'nodes only': { degrees, heads: 1, node: 7, edge: 0, time: 0 },
  'no node features': { degrees, heads: 3, node: 0, edge: 9, time: 8 },
  'no edge features': { degrees, heads: 4, node: 16, edge: 0, time: 15, slope: 0.2 },
  'no times': { degrees, heads: 2, node: 15, edge: 17, time: 0 },
  'whole lanes': { degrees, heads: 2, node: 16, edge: 32, time: 15, drop: 0.3, slope: 0.2 },
  'odd sizes, five heads': { degrees, heads: 5, node: 33, edge: 31, time: 129, drop: 0.5 },
  'as in training': { degrees, heads: 2, node: 100, edge: 172, time: 100, drop: 0.1, slope: 0.2 },
  'everything dropped': { degrees, heads: 2, node: 9, edge: 3, time: 4, drop: 1 },
};

describe.skipIf(nativeKernels === null)('temporalAttention: native = reference', () => {
  describe.each(Object.entries(cases))('%s', (_, c) => {
    it.each(floatTypes)('%s', (type) => {
      const typed = { ...c, type };
      const [want, got] = [run(referenceKernels, typed), run(native, typed)];
      // Gradients of w are sums of spans up to 1000 times slopes.
      for (const [i, expected] of want.entries()) expectClose(got[i], expected, type, i === 6 ? 20 : 8);
    });
  });

  it('gives the same bytes for every number of threads', () => {
    const many = Array.from({ length: 150 }, (_, i) => (i * 7) % 12);
    const c = { degrees: many, heads: 2, node: 100, edge: 20, time: 50, drop: 0.2, slope: 0.2 };
    expectSameBytesForThreads((kernels) => run(kernels, c));
  });
});

describe.each([
  ['reference', referenceKernels] as const,
  ...(nativeKernels === null ? [] : [['native', native] as const]),
])('temporalAttention: %s', (_, kernels) => {
  it('by hand: one edge gives its row, none gives 0', () => {
    const inputs = {
      ...inputsOf({ degrees: [1, 0], heads: 1, node: 2, edge: 1, time: 1, type: 'f64' }),
      h: Float64Array.of(3, 4),
      neighbors: Int32Array.of(0),
      features: Float64Array.of(5, 6),
      eventRows: Int32Array.of(1),
      spans: Float64Array.of(Math.PI),
      w: Float64Array.of(1),
      b: Float64Array.of(0),
    };
    const [y, , alpha] = run(
      kernels,
      { degrees: [1, 0], heads: 1, node: 2, edge: 1, time: 1, type: 'f64' },
      inputs,
    );
    expect([...y]).toEqual([3, 4, 6, -1, 1, 0, 0, 0, 0, 0]);
    expect([...alpha]).toEqual([1]);
  });

  it('a destination has the same bits in every batch', () => {
    const c: Case = { degrees, heads: 2, node: 100, edge: 172, time: 100, slope: 0.2 };
    const all = inputsOf(c);
    const [y] = run(kernels, c, all);
    const { width } = all;
    const n = degrees.length;
    for (const [i, degree] of degrees.entries()) {
      const part = [all.offsets[i], all.offsets[i + 1]] as const;
      const row = (k: number): FloatArray => all.query.slice((k * n + i) * width, (k * n + i + 1) * width);
      const query = Float32Array.from([...row(0), ...row(1)]);
      const alone = {
        ...all,
        offsets: Int32Array.of(0, degree),
        edges: degree,
        query,
        gy: query,
        neighbors: all.neighbors.slice(...part),
        eventRows: all.eventRows.slice(...part),
        spans: all.spans.slice(...part),
      };
      const [own] = run(kernels, { ...c, degrees: [degree] }, alone);
      for (const k of [0, 1]) {
        const at = (k * n + i) * width;
        expectSameBytes(own.subarray(k * width, (k + 1) * width), y.subarray(at, at + width), `row ${i}`);
      }
    }
  });

  it('writes no gradient that is not requested', () => {
    const c: Case = { degrees, heads: 2, node: 5, edge: 4, time: 3 };
    for (const g of run(kernels, c, inputsOf(c), false).slice(4)) expect(g.every((v) => v === 9)).toBe(true);
  });

  it('drops by destination and edge, and keeps the mean', () => {
    const c: Case = {
      degrees: Array.from({ length: 400 }, () => 10),
      heads: 2,
      node: 1,
      edge: 0,
      time: 0,
      drop: 0.25,
    };
    const inputs = inputsOf(c);
    inputs.query.fill(0);
    const [y] = run(kernels, c, inputs);
    let total = 0;
    for (let r = 0; r < 800; r++) total += y[r * 2 + 1];
    expect(total / 800).toBeCloseTo(1, 1);
  });
});
