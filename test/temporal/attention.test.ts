/** Temporal attention against PyTorch, its gradients by differences, and what order and company must not change. */
import { readFileSync } from 'node:fs';
import { getThreads, setThreads } from 'skein/native';
import { TemporalHop } from 'skein/sample';
import { TemporalAttentionLayer } from 'skein/temporal';
import {
  backward,
  type FloatDType,
  gatherRows,
  manualSeed,
  mul,
  noGrad,
  rand,
  sum,
  type Tensor,
  zeros,
} from 'skein/tensor';
import { Random } from 'skein/util';
import { describe, expect, it } from 'vitest';
import type { AttentionInput } from '#internal/temporal/layers/attention-layer.js';
import { temporalAttention } from '#internal/temporal/layers/attention-op.js';
import {
  expectClose,
  expectFiniteDifferences,
  expectRecorded,
  fill,
  leaf,
  pattern,
  type Recorded,
} from '../nn/golden.js';

interface Golden {
  readonly hop: Readonly<
    Record<'indptr' | 'neighbors' | 'eventRows' | 'spans' | 'dstRows', number[]> &
      Record<'dimNode' | 'dimEdge' | 'dimTime' | 'heads' | 'dimOut' | 'rows' | 'numEvents', number>
  >;
  readonly cases: Readonly<Record<'tgl' | 'tgn', Recorded & { readonly parameters: string[] }>>;
}

const file = new URL('../golden/temporal-attention.json', import.meta.url);
const golden: Golden = JSON.parse(readFileSync(file, 'utf8'));
const variants = ['tgl', 'tgn'] as const;

/** A hop with just what attention reads. */
function hopOf(indptr: Int32Array, eventRows: Int32Array, spans: Float32Array): TemporalHop {
  const numDst = indptr.length - 1;
  return new TemporalHop({
    indptr,
    eventRows,
    spans,
    sources: new Int32Array(eventRows.length),
    dstNodes: new Int32Array(numDst),
    dstTimes: new Float64Array(numDst),
    srcNodes: new Int32Array(numDst),
    srcTimes: new Float64Array(numDst),
  });
}

function goldenInput(dtype: FloatDType): AttentionInput {
  const g = golden.hop;
  return {
    hop: hopOf(Int32Array.from(g.indptr), Int32Array.from(g.eventRows), Float32Array.from(g.spans)),
    h: leaf([g.rows, g.dimNode], 1, dtype),
    dstRows: Int32Array.from(g.dstRows),
    srcRows: Int32Array.from(g.neighbors),
    edgeFeatures: Float32Array.from(pattern([g.numEvents, g.dimEdge], 2, 'f64').dataSync()),
    featureWidth: g.dimEdge,
  };
}

/** Destinations with the given numbers of edges. */
function randomInput(
  degrees: readonly number[],
  dtype: FloatDType,
  width: number,
  featureWidth: number,
): AttentionInput {
  const random = new Random(4);
  const indptr = new Int32Array(degrees.length + 1);
  for (const [i, n] of degrees.entries()) indptr[i + 1] = indptr[i] + n;
  const edges = indptr[degrees.length];
  const ids = (n: number, bound: number): Int32Array =>
    Int32Array.from({ length: n }, () => random.nextInt(bound));
  return {
    hop: hopOf(
      indptr,
      ids(edges, 60),
      Float32Array.from({ length: edges }, () => random.nextFloat() * 50),
    ),
    h: rand([50, width], { lo: -1, hi: 1, dtype, random }),
    dstRows: ids(degrees.length, 50),
    srcRows: ids(edges, 50),
    edgeFeatures: Float32Array.from({ length: 60 * featureWidth }, () => random.nextFloat() - 0.5),
    featureWidth,
  };
}

/** Returns the destinations in another order, or some of them. */
function pick(input: AttentionInput, order: readonly number[]): AttentionInput {
  const { hop } = input;
  const edges = order.flatMap((i) => Array.from(hop.spans.keys()).slice(hop.indptr[i], hop.indptr[i + 1]));
  const indptr = new Int32Array(order.length + 1);
  for (const [at, i] of order.entries()) indptr[at + 1] = indptr[at] + hop.indptr[i + 1] - hop.indptr[i];
  return {
    ...input,
    hop: hopOf(
      indptr,
      Int32Array.from(edges, (e) => hop.eventRows[e]),
      Float32Array.from(edges, (e) => hop.spans[e]),
    ),
    dstRows: Int32Array.from(order, (i) => input.dstRows[i]),
    srcRows: Int32Array.from(edges, (e) => input.srcRows[e]),
  };
}

function layerOf(variant: 'tgl' | 'tgn', dtype: FloatDType, sizes: Partial<Golden['hop']> = {}, drop = 0) {
  const { dimNode, dimEdge, dimTime, dimOut, heads } = { ...golden.hop, ...sizes };
  manualSeed(3);
  const options = {
    dimNode,
    dimEdge,
    dimTime,
    dimOut,
    heads,
    dtype,
    dropout: drop,
    attDropout: drop,
    variant,
  };
  return new TemporalAttentionLayer(options);
}

const degrees = [3, 0, 10, 1, 7, 0, 20, 2];
const large = { dimNode: 100, dimEdge: 172, dimTime: 100, dimOut: 100, heads: 2 };

describe.each(variants)('TemporalAttentionLayer, %s', (variant) => {
  it.each(['f64', 'f32'] as const)('has the values and gradients of PyTorch, %s', (dtype) => {
    const layer = layerOf(variant, dtype);
    const wanted = golden.cases[variant];
    const leaves = fill(layer, wanted.parameters);
    for (const name of wanted.parameters) {
      const data = leaves[name].dataSync();
      for (let i = 0; i < data.length; i++) data[i] *= 0.4;
    }
    const input = goldenInput(dtype);
    expectRecorded(wanted, layer.forward(input), { h: input.h, ...leaves });
  });

  it('has the gradients of finite differences, with dropout too', () => {
    for (const drop of [0, 0.4]) {
      const layer = layerOf(variant, 'f64', {}, drop);
      const input = goldenInput('f64');
      const leaves = { h: input.h, ...Object.fromEntries(layer.namedParameters()) };
      const run = (): Tensor => {
        manualSeed(17);
        return layer.forward(input);
      };
      expectFiniteDifferences(run, leaves);
    }
  });

  it('gives a destination the same bits in any order and in any company', () => {
    const input = randomInput(degrees, 'f32', 100, 172);
    const layer = layerOf(variant, 'f32', large).eval();
    const y = layer.forward(input);
    for (const order of [[7, 6, 5, 4, 3, 2, 1, 0], [2], [1], [0, 0, 6]]) {
      expect(layer.forward(pick(input, order)).dataSync()).toEqual(gatherRows(y, order).dataSync());
    }
    const crowd = Array.from({ length: 500 }, (_, i) => i % degrees.length);
    expect(layer.forward(pick(input, crowd)).dataSync()).toEqual(gatherRows(y, crowd).dataSync());
    // Evaluation embeds many destinations in slices, and computes the queries of equal rows once.
    const many = Array.from({ length: 4100 }, (_, i) => (i * 3) % degrees.length);
    const sliced = noGrad(() => layer.forward(pick(input, many)));
    expect(sliced.dataSync()).toEqual(gatherRows(y, many).dataSync());
  });

  it('sees the own row alone where there are no edges', () => {
    const layer = layerOf(variant, 'f64').eval();
    const none = randomInput([0, 0, 0], 'f64', 6, 5);
    const y = layer.forward(none);
    const own = layer.forward(pick(randomInput([0, 4, 0], 'f64', 6, 5), [0]));
    expect(y.shape).toEqual([3, 8]);
    expect(own.dataSync().every(Number.isFinite)).toBe(true);
    const h = none.h.clone().setRequiresGrad();
    backward(sum(layer.forward({ ...none, h })));
    expect((h.grad as Tensor).dataSync().some((v) => v !== 0)).toBe(true);
    expect(layer.forward(randomInput([], 'f64', 6, 5)).shape).toEqual([0, 8]);
  });

  it('gives the same bytes for 1 and 2 threads', () => {
    const results = [1, 2].map((threads) => {
      const before = getThreads();
      setThreads(threads);
      try {
        const layer = layerOf(variant, 'f32', large, 0.1);
        const input = randomInput(
          Array.from({ length: 300 }, (_, i) => i % 11),
          'f32',
          100,
          172,
        );
        input.h.setRequiresGrad();
        const y = layer.forward(input);
        backward(sum(mul(y, y)));
        const grads = layer.parameters().map((p) => p.grad?.dataSync().slice());
        return [y.dataSync().slice(), input.h.grad?.dataSync().slice(), ...grads];
      } finally {
        setThreads(before);
      }
    });
    expect(results[1]).toEqual(results[0]);
  });

  it.each([
    ['no node features', { dimNode: 0, dimTime: 4 }],
    ['no edge features', { dimEdge: 0 }],
    ['no times', { dimTime: 0 }],
  ])('works with %s', (_, sizes) => {
    const layer = layerOf(variant, 'f64', sizes);
    const all = { ...golden.hop, ...sizes };
    const input = randomInput(degrees, 'f64', all.dimNode, all.dimEdge);
    const y = layer.forward({ ...input, edgeFeatures: all.dimEdge > 0 ? input.edgeFeatures : null });
    expect(y.shape).toEqual([degrees.length, 8]);
    expect(y.dataSync().every(Number.isFinite)).toBe(true);
    backward(sum(mul(y, y)));
    for (const [name, p] of layer.namedParameters())
      expect(p.grad?.dataSync().every(Number.isFinite) ?? true, name).toBe(true);
  });

  it('names what does not fit', () => {
    const layer = layerOf(variant, 'f64');
    const input = randomInput(degrees, 'f64', 6, 5);
    const named = /^TemporalAttentionLayer: expected/;
    expect(() => layer.forward({ ...input, h: zeros([50, 7], { dtype: 'f64' }) })).toThrow(named);
    expect(() => layer.forward({ ...input, edgeFeatures: null })).toThrow(named);
    expect(() => layer.forward({ ...input, dstRows: Int32Array.of(1) })).toThrow(named);
    expect(() => layerOf(variant, 'f64', { heads: 3 })).toThrow(/a divisor of/);
    const beyond = input.srcRows.map(() => 50);
    expect(() => layer.forward({ ...input, srcRows: beyond })).toThrow(/neighbors, got "50 at position 0"/);
    const short = (input.edgeFeatures as Float32Array).slice(0, 10);
    expect(() => layer.forward({ ...input, edgeFeatures: short })).toThrow(/eventRows/);
  });
});

describe('temporalAttention', () => {
  it('check 8: is softmax attention over keys and values formed edge by edge', () => {
    const edges = {
      indptr: Int32Array.of(0, 2),
      neighbors: Int32Array.of(0, 1),
      eventRows: Int32Array.of(0, 0),
      spans: Float32Array.of(0, 0),
      features: null,
      featureWidth: 0,
    };
    const h = pattern([2, 2], 1, 'f64');
    const none = zeros([0], { dtype: 'f64' });
    const query = pattern([1, 1, 3], 2, 'f64');
    const y = temporalAttention(edges, query, h, none, none, { scale: 0.5 });
    const [a, b, c, d] = h.dataSync();
    const [q, r] = query.dataSync();
    const [first, second] = [Math.exp(0.5 * (q * a + r * b)), Math.exp(0.5 * (q * c + r * d))];
    const share = first / (first + second);
    expectClose(y, [share * a + (1 - share) * c, share * b + (1 - share) * d, 1], 1e-12, 'y');
  });

  it('refuses lists that do not fit together', () => {
    const edges = {
      indptr: Int32Array.of(0, 2, 1),
      neighbors: Int32Array.of(0),
      eventRows: Int32Array.of(0),
      spans: Float32Array.of(1),
      features: null,
      featureWidth: 0,
    };
    const [h, none] = [zeros([1, 2]), zeros([0])];
    expect(() => temporalAttention(edges, zeros([1, 2, 3]), h, none, none)).toThrow(/indptr/);
    const ordered = { ...edges, indptr: Int32Array.of(0, 1, 1) };
    expect(() => temporalAttention(ordered, zeros([1, 2, 4]), h, none, none)).toThrow(/query/);
    expect(() =>
      temporalAttention({ ...ordered, spans: new Float32Array(2) }, zeros([1, 2, 3]), h, none, none),
    ).toThrow(/spans/);
  });
});
