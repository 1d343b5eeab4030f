/** Initial values: bounds, moments, repeatability (wrong input: module.test.ts). */
import { Embedding, GRUCell, init, Linear, MultiheadAttention, TimeEncode } from 'skein/nn';
import { manualSeed, type Tensor, zeros } from 'skein/tensor';
import { Random } from 'skein/util';
import { describe, expect, test } from 'vitest';

function moments(t: Tensor): { mean: number; std: number; bound: number } {
  const data = Array.from(t.dataSync());
  const mean = data.reduce((a, b) => a + b, 0) / data.length;
  const std = Math.sqrt(data.reduce((a, b) => a + (b - mean) ** 2, 0) / data.length);
  return { mean, std, bound: data.reduce((a, b) => Math.max(a, Math.abs(b)), 0) };
}

/** A uniform sample within ±limit that fills its range. */
function expectUniform(t: Tensor, limit: number): void {
  const { mean, std, bound } = moments(t);
  expect(bound).toBeLessThanOrEqual(limit * (1 + 1e-6));
  expect(bound).toBeGreaterThan(limit * 0.95);
  expect(Math.abs(mean)).toBeLessThan(limit * 0.1);
  expect(std).toBeCloseTo(limit / Math.sqrt(3), 1);
}

describe.each(['f32', 'f64'] as const)('%s', (dtype) => {
  const random = new Random(3);
  const weight = (): Tensor => zeros([60, 90], { dtype });

  test('glorot, kaiming, uniform, normal', () => {
    expectUniform(init.glorotUniform(weight(), { random }), Math.sqrt(6 / 150));
    expectUniform(init.glorotUniform(weight(), { random, gain: 2 }), 2 * Math.sqrt(6 / 150));
    expectUniform(init.kaimingUniform(weight(), { random }), Math.sqrt(6 / 90));
    expectUniform(init.kaimingUniform(weight(), { random, mode: 'fanOut' }), Math.sqrt(6 / 60));
    expectUniform(init.kaimingUniform(weight(), { random, slope: Math.sqrt(5) }), 1 / Math.sqrt(90));
    expectUniform(init.uniform(weight(), { random, lo: -3, hi: 3 }), 3);
    expect(moments(init.glorotNormal(weight(), { random })).std).toBeCloseTo(Math.sqrt(2 / 150), 2);
    const { mean, std } = moments(init.normal(weight(), { random, mean: 5, std: 0.5 }));
    expect(mean).toBeCloseTo(5, 1);
    expect(std).toBeCloseTo(0.5, 1);
  });

  test('fans count the kernel of a convolution', () => {
    expect(init.fans(zeros([4, 3, 5, 2], { dtype }))).toEqual({ fanIn: 30, fanOut: 40 });
  });

  test('a layer repeats itself from a seed', () => {
    const make = (): Tensor => new Linear(5, 4, { dtype, random: new Random(8) }).weight;
    expect(make().toArray()).toEqual(make().toArray());
    manualSeed(4);
    const first = new GRUCell(3, 2, { dtype }).weightHh.toArray();
    manualSeed(4);
    expect(new GRUCell(3, 2, { dtype }).weightHh.toArray()).toEqual(first);
  });
});

describe('layers start as in PyTorch', () => {
  test('linear and cells within one over the root of the fan', () => {
    const layer = new Linear(400, 30);
    expectUniform(layer.weight, 1 / 20);
    expect(moments(layer.bias as Tensor).bound).toBeLessThanOrEqual(1 / 20);
    expectUniform(new GRUCell(50, 25).weightIh, 1 / 5);
  });

  test('embedding standard normal, with a row of zeros for padding', () => {
    const { weight } = new Embedding(200, 30, { paddingIdx: 7 });
    expect(moments(weight).std).toBeCloseTo(1, 1);
    expect((weight.toArray() as number[][])[7]).toEqual(Array(30).fill(0));
  });

  test('attention: glorot weights, biases of 0', () => {
    const attention = new MultiheadAttention(40, 4);
    expectUniform(attention.inProjWeight as Tensor, Math.sqrt(6 / 160));
    expectUniform(attention.outProj.weight, 1 / Math.sqrt(40));
    expect(moments(attention.inProjBias as Tensor).bound).toBe(0);
    expect(moments(attention.outProj.bias as Tensor).bound).toBe(0);
  });

  test('time encoding: frequencies from 1 down to 1e-9', () => {
    const { weight, bias } = new TimeEncode(4, { dtype: 'f64' });
    for (const [i, w] of (weight.toArray() as number[]).entries())
      expect(w * 10 ** (3 * i)).toBeCloseTo(1, 12);
    expect(bias.toArray()).toEqual([0, 0, 0, 0]);
    expect(new TimeEncode(1).weight.toArray()).toEqual([1]);
  });
});
