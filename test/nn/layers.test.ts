/** Every layer against PyTorch: output and all gradients, f64 and f32; then what only Skein promises. */
import {
  type ActivationName,
  activation,
  BatchNorm1d,
  Dropout,
  Embedding,
  GRUCell,
  LayerNorm,
  Linear,
  MLP,
  type Module,
  RNNCell,
  Sequential,
  Tanh,
  TimeEncode,
} from 'skein/nn';
import { fromArray, noGrad, ones, type Tensor, tensor, zeros } from 'skein/tensor';
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

const cases: Cases<Record<'f32' | 'f64', Recorded>> = golden('modules');
const ids = tensor(Int32Array.of(0, 5, 2, 2, 2, 1), { shape: [2, 3] });

describe('wrong input', () => {
  test('shapes and dtypes are named', () => {
    expect(() => new Linear(4, 3).forward(zeros([2, 5]))).toThrow(
      'linear: expected a last axis of 4 (weight is [3, 4]) for x, got "[2, 5]".',
    );
    expect(() => new Linear(4, 3).forward(zeros([2, 4], { dtype: 'f64' }))).toThrow('the dtype of weight');
    expect(() => new LayerNorm(3).forward(zeros([2, 4]))).toThrow(
      'LayerNorm: expected a last axis of 3 for x, got "[2, 4]".',
    );
    expect(() => new BatchNorm1d(3).forward(zeros([2, 4]))).toThrow(
      'BatchNorm1d: expected shape [N, 3] for x, got "[2, 4]".',
    );
    expect(() => new GRUCell(3, 4).forward(zeros([2, 3]), zeros([1, 4]))).toThrow(
      'GRUCell: expected shape [2, 4] for h, got "[1, 4]".',
    );
    expect(() => new GRUCell(3, 4).forward(zeros([3]))).toThrow(
      'GRUCell: expected shape [B, in] for x, got "[3]".',
    );
    expect(() => new RNNCell(3, 4, { nonlinearity: 'selu' as never })).toThrow(
      "RNNCell: expected 'tanh' or 'relu' for nonlinearity",
    );
    expect(() => new Embedding(3, 2).forward([0, 3])).toThrow(
      'expected ids from 0 to 2 for ids, got "3 at position 1".',
    );
  });

  test('running statistics of another dtype', () => {
    const norm = new BatchNorm1d(3, { affine: false }).eval();
    expect(() => norm.forward(zeros([2, 3], { dtype: 'f64' }))).toThrow(
      'expected f64 (as x) for the dtype of stats.mean',
    );
  });

  test('one row has no variance', () => {
    const norm = new BatchNorm1d(3);
    expect(() => norm.forward(zeros([1, 3]))).toThrow(
      'BatchNorm1d: expected at least 2 rows in training for x, got "[1, 3]".',
    );
    expect(norm.eval().forward(zeros([1, 3])).shape).toEqual([1, 3]);
    expect(norm.numBatchesTracked?.item()).toBe(0);
  });
});

describe.each(dtypes)('PyTorch, %s', (dtype) => {
  /** A module of one tensor. */
  function check(
    name: string,
    module: Module & { forward(x: Tensor): Tensor },
    names: string[],
    x: Tensor,
    xName = 'x',
  ): void {
    const params = fill(module, names);
    expectRecorded(cases[name][dtype], module.forward(x), { [xName]: x, ...params });
  }

  test('linear', () => {
    check('linear', new Linear(4, 3, { dtype }), ['weight', 'bias'], leaf([5, 4], 1, dtype));
    check('linearNoBias', new Linear(4, 3, { dtype, bias: false }), ['weight'], leaf([2, 3, 4], 1, dtype));
  });

  test('sequential and mlp', () => {
    const layers = [new Linear(4, 5, { dtype }), new Tanh(), new Linear(5, 2, { dtype })];
    check(
      'sequential',
      new Sequential(layers),
      ['0.weight', '0.bias', '2.weight', '2.bias'],
      leaf([6, 4], 1, dtype),
    );
    const names = [
      'linears.0.weight',
      'linears.0.bias',
      'linears.1.weight',
      'linears.1.bias',
      'norms.0.weight',
      'norms.0.bias',
    ];
    check(
      'mlp',
      new MLP([4, 5, 2], { dtype, norm: 'layer', activation: 'gelu' }),
      names,
      leaf([6, 4], 1, dtype),
    );
  });

  test.each([false, true])('embedding, sparse %s', (sparse) => {
    for (const [name, options] of [
      ['embedding', {}],
      ['embeddingPadding', { paddingIdx: 2 }],
    ] as const) {
      const module = new Embedding(6, 3, { dtype, sparse, ...options });
      const params = fill(module, ['weight']);
      const output = module.forward(ids);
      const wanted = cases[name][dtype];
      if (!sparse) {
        expectRecorded(wanted, output, params);
        continue;
      }
      output
        .mul(pattern(output.shape, 99, dtype))
        .sum()
        .backward();
      expect(module.weight.grad).toBeNull();
      const dense = zeros([6, 3], { dtype });
      module.weight.sparseGrad?.coalesce().addTo(dense.dataSync() as Float64Array);
      expectClose(dense, wanted.grads.weight, tolerance[dtype], 'gradient rows');
    }
  });

  test('layer norm', () => {
    check('layerNorm', new LayerNorm(5, { dtype, eps: 1e-3 }), ['weight', 'bias'], leaf([4, 5], 1, dtype));
    check(
      'layerNormPlain',
      new LayerNorm(5, { dtype, eps: 1e-3, affine: false }),
      [],
      leaf([4, 5], 1, dtype),
    );
  });

  test.each([
    ['batchNorm', {}],
    ['batchNormCumulative', { momentum: null }],
    ['batchNormPlain', { affine: false, trackRunningStats: false }],
  ] as const)('%s', (name, options) => {
    const module = new BatchNorm1d(3, { dtype, ...options });
    const names = 'affine' in options ? [] : ['weight', 'bias'];
    fill(module, names);
    module.forward(pattern([7, 3], 5, dtype, 2));
    check(name, module, names, leaf([6, 3], 1, dtype));
    const wanted = cases[name][dtype];
    if (wanted.runningMean !== undefined) {
      expectClose(
        module.runningMean as Tensor,
        wanted.runningMean as number[],
        tolerance[dtype],
        'running mean',
      );
      expectClose(
        module.runningVar as Tensor,
        wanted.runningVar as number[],
        tolerance[dtype],
        'running variance',
      );
      expect(module.numBatchesTracked?.item()).toBe(2);
    }
    module.zeroGrad();
    module.eval();
    check(`${name}Eval`, module, names, leaf([2, 3], 2, dtype));
    const unrecorded = noGrad(() => module.forward(pattern([2, 3], 2, dtype)));
    expectClose(unrecorded, cases[`${name}Eval`][dtype].output, tolerance[dtype], 'output without recording');
  });

  test.each([
    ['gruCell', (): GRUCell => new GRUCell(3, 4, { dtype }), true],
    ['gruCellNoBias', (): GRUCell => new GRUCell(3, 4, { dtype, bias: false }), false],
    ['rnnCell', (): RNNCell => new RNNCell(3, 4, { dtype }), true],
    ['rnnCellRelu', (): RNNCell => new RNNCell(3, 4, { dtype, nonlinearity: 'relu' }), true],
  ] as const)('%s', (name, make, bias) => {
    const module = make();
    const params = fill(
      module,
      bias ? ['weightIh', 'weightHh', 'biasIh', 'biasHh'] : ['weightIh', 'weightHh'],
    );
    const x = leaf([2, 3], 1, dtype);
    const h = leaf([2, 4], 2, dtype);
    expectRecorded(cases[name][dtype], module.forward(x, h), { x, h, ...params });
  });

  test('time encoding', () => {
    const module = new TimeEncode(4, { dtype });
    module.loadStateDict({ bias: pattern([4], 10, dtype) }, { strict: false });
    const span = leaf([2, 3], 1, dtype, 10);
    const { weight, bias } = module;
    expectRecorded(cases.timeEncode[dtype], module.forward(span), { span, weight, bias });
  });

  test.each(['relu', 'leakyRelu', 'elu', 'gelu', 'sigmoid', 'tanh', 'softplus'] as ActivationName[])(
    '%s',
    (name) => {
      check(name, activation(name), [], leaf([9], 3, dtype, 4));
    },
  );
});

describe('beyond PyTorch', () => {
  test('finite differences: GRU cell and time encoding', () => {
    const cell = new GRUCell(3, 4, { dtype: 'f64', random: new Random(1) });
    const x = leaf([2, 3], 1, 'f64');
    const h = leaf([2, 4], 2, 'f64');
    expectFiniteDifferences(() => cell.forward(x, h), {
      x,
      h,
      ...Object.fromEntries(cell.namedParameters()),
    });
    const encode = new TimeEncode(5, { dtype: 'f64' });
    const span = leaf([4], 3, 'f64', 10);
    expectFiniteDifferences(() => encode.forward(span), { span, weight: encode.weight, bias: encode.bias });
  });

  test('cells start from a state of zeros', () => {
    for (const cell of [new GRUCell(3, 4), new RNNCell(3, 4)]) {
      const x = pattern([2, 3], 1, 'f32');
      expect(cell.forward(x).toArray()).toEqual(cell.forward(x, zeros([2, 4])).toArray());
    }
  });

  test('a fixed time encoding has buffers only', () => {
    const fixed = new TimeEncode(4, { trainable: false });
    expect(fixed.parameters()).toEqual([]);
    expect([...fixed.namedBuffers().keys()]).toEqual(['weight', 'bias']);
    expect(fixed.forward(fromArray([0, 1])).shape).toEqual([2, 4]);
  });

  test('dropout: only in training, scaled, from its own generator', () => {
    const layer = new Dropout(0.25, { random: new Random(5) });
    const x = ones([4000]);
    const y = layer.forward(x).dataSync();
    const kept = y.filter((v) => v !== 0);
    expect(kept.length / y.length).toBeCloseTo(0.75, 1);
    expect(new Set(kept)).toEqual(new Set([Math.fround(1 / 0.75)]));
    expect(layer.eval().forward(x)).toBe(x);
    const again = new Dropout(0.25, { random: new Random(5) });
    expect(again.forward(x).dataSync()).toEqual(y);
  });

  test('mlp: no activation after the last layer; batch norm and dropout follow the mode', () => {
    const mlp = new MLP([3, 4, 4, 2], {
      norm: 'batch',
      dropout: 0.5,
      activation: 'elu',
      random: new Random(2),
    });
    expect([...mlp.modules().keys()]).toEqual([
      '',
      'linears.0',
      'linears.1',
      'linears.2',
      'norms.0',
      'norms.1',
      'activation',
      'dropout',
    ]);
    const x = pattern([5, 3], 1, 'f32');
    mlp.forward(x);
    mlp.eval();
    expect(mlp.forward(x).toArray()).toEqual(mlp.forward(x).toArray());
    expect(new MLP([3, 2]).forward(x).shape).toEqual([5, 2]);
  });
});
