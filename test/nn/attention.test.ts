/** Multi-head attention against PyTorch, by finite differences, and its own promise about empty rows. */
import { MultiheadAttention } from 'skein/nn';
import { manualSeed, type Tensor, tensor, zeros } from 'skein/tensor';
import { Random } from 'skein/util';
import { describe, expect, test } from 'vitest';
import {
  type Cases,
  dtypes,
  expectClose,
  expectFiniteDifferences,
  expectRecorded,
  fill,
  golden,
  leaf,
  pattern,
  type Recorded,
  tolerance,
} from './golden.js';

const cases: Cases<Record<'f32' | 'f64', Recorded>> = golden('attention');
const flags = (values: number[], shape: number[]): Tensor => tensor(Uint8Array.from(values), { shape });
const padding = flags([0, 0, 1, 0, 1, 0, 0, 1], [2, 4]);
const causal = flags([0, 1, 1, 1, 0, 0, 1, 1, 0, 0, 0, 1], [3, 4]);

describe('wrong input', () => {
  const attention = new MultiheadAttention(4, 2);
  const x = zeros([2, 3, 4]);

  test('sizes', () => {
    expect(() => new MultiheadAttention(5, 2)).toThrow(
      'MultiheadAttention: expected a divisor of embedDim (5) for heads, got 2.',
    );
    expect(() => new MultiheadAttention(4, 2, { dropout: 2 })).toThrow('for dropout, got 2.');
    expect(() => attention.forward(zeros([3, 4]), x, x)).toThrow(
      'expected shape [batch, length, size] for query, got "[3, 4]".',
    );
    expect(() => attention.forward(x, zeros([1, 3, 4]), x)).toThrow(
      'expected a batch of 2 (as query) for key, got "[1, 3, 4]".',
    );
    expect(() => attention.forward(x, x, zeros([2, 5, 4]))).toThrow(
      'expected as many values as keys (3) for value, got "[2, 5, 4]".',
    );
  });

  test('masks', () => {
    expect(() => attention.forward(x, x, x, { keyPaddingMask: flags([0, 1, 0], [1, 3]) })).toThrow(
      'MultiheadAttention: expected shape [2, 3] for keyPaddingMask, got "[1, 3]".',
    );
    expect(() => attention.forward(x, x, x, { keyPaddingMask: zeros([2, 3]) })).toThrow(
      'expected u8 for the dtype of keyPaddingMask',
    );
    expect(() => attention.forward(x, x, x, { attentionMask: flags([0, 1, 0], [3]) })).toThrow(
      'expected shape [3, 3] or [2, 2, 3, 3] for attentionMask',
    );
  });
});

describe.each(dtypes)('PyTorch, %s', (dtype) => {
  const joint = ['inProjWeight', 'inProjBias', 'outProj.weight', 'outProj.bias'];
  const apart = ['qProjWeight', 'kProjWeight', 'vProjWeight', ...joint.slice(1)];
  test.each([
    ['attention', {}, joint, {}],
    ['attentionPadding', {}, joint, { keyPaddingMask: padding }],
    ['attentionMask', {}, joint, { attentionMask: causal }],
    ['attentionAdded', {}, joint, { attentionMask: pattern([3, 4], 7, dtype) }],
    ['attentionSizes', { kDim: 3, vDim: 2 }, apart, {}],
  ])('%s', (name, sizes: { kDim?: number; vDim?: number }, names, call) => {
    const module = new MultiheadAttention(4, 2, { dtype, ...sizes });
    const params = fill(module, names);
    const query = leaf([2, 3, 4], 1, dtype);
    const key = leaf([2, 4, sizes.kDim ?? 4], 2, dtype);
    const value = leaf([2, 4, sizes.vDim ?? 4], 3, dtype);
    const { output, weights } = module.forward(query, key, value, { ...call, needWeights: true });
    expectClose(weights as Tensor, cases[name][dtype].weights as number[], tolerance[dtype], 'weights');
    expectRecorded(cases[name][dtype], output, { query, key, value, ...params });
  });
});

describe('beyond PyTorch', () => {
  test('finite differences', () => {
    const module = new MultiheadAttention(4, 2, { dtype: 'f64', random: new Random(1) });
    const query = leaf([2, 3, 4], 1, 'f64');
    const key = leaf([2, 4, 4], 2, 'f64');
    const value = leaf([2, 4, 4], 3, 'f64');
    const run = (): Tensor =>
      module.forward(query, key, value, { keyPaddingMask: padding, attentionMask: causal }).output;
    expectFiniteDifferences(run, { query, key, value, ...Object.fromEntries(module.namedParameters()) });
  });

  test('a query without keys gets the bias alone, and finite gradients', () => {
    const module = new MultiheadAttention(4, 2, { dtype: 'f64', random: new Random(1) });
    module.loadStateDict({ 'outProj.bias': pattern([4], 3, 'f64') }, { strict: false });
    const x = leaf([2, 3, 4], 1, 'f64');
    const gone = flags([1, 1, 1, 0, 0, 1], [2, 3]);
    const { output, weights } = module.forward(x, x, x, { keyPaddingMask: gone, needWeights: true });
    expect((weights as Tensor).slice(0, 1).toArray()).toEqual([Array(3).fill([0, 0, 0])]);
    for (const row of (output.slice(0, 1).toArray() as number[][][])[0])
      expect(row).toEqual(module.outProj.bias?.toArray());
    output.sum().backward();
    expect(Array.from((x.grad as Tensor).dataSync()).every(Number.isFinite)).toBe(true);
  });

  test('a mask for each head, and one shape of weights without being asked', () => {
    const module = new MultiheadAttention(4, 2, { random: new Random(1) });
    const x = pattern([1, 2, 4], 1, 'f32');
    const each = flags([0, 1, 0, 0, 0, 1, 0, 0], [1, 2, 2, 2]);
    const both = flags([0, 1, 0, 0], [2, 2]);
    const run = (attentionMask: Tensor): unknown =>
      module.forward(x, x, x, { attentionMask }).output.toArray();
    expect(run(each)).toEqual(run(both));
    expect(module.forward(x, x, x).weights).toBeNull();
  });

  test('dropout of weights follows the mode', () => {
    const module = new MultiheadAttention(4, 2, { dropout: 0.5, random: new Random(1) });
    const x = pattern([2, 5, 4], 1, 'f32');
    const run = (): unknown => module.forward(x, x, x).output.toArray();
    expect(run()).not.toEqual(run());
    module.eval();
    manualSeed(1);
    expect(run()).toEqual(run());
  });
});
