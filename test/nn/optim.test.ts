/** Optimisers against PyTorch along 100 steps, dense and by rows; groups, state, clipping. */
import {
  Adagrad,
  Adam,
  AdamW,
  clipGradNorm,
  clipGradValue,
  Embedding,
  Linear,
  Optimizer,
  SGD,
} from 'skein/nn';
import {
  abs,
  type FloatDType,
  fromArray,
  mul,
  ones,
  scope,
  sub,
  sum,
  type Tensor,
  tensor,
  zeros,
} from 'skein/tensor';
import { describe, expect, test } from 'vitest';
import { type Cases, dtypes, expectClose, fill, golden, leaf, pattern, tolerance } from './golden.js';

const cases: Cases<Record<FloatDType, Record<string, number[]>>> = golden('optim');
type Make = (p: Tensor[]) => Pick<SGD, 'step' | 'zeroGrad' | 'stateDict' | 'loadStateDict'>;

const dense: Record<string, Make> = {
  sgd: (p) => new SGD(p, { lr: 0.05 }),
  sgdMomentum: (p) => new SGD(p, { lr: 0.02, momentum: 0.9, dampening: 0.1, weightDecay: 0.01 }),
  sgdNesterov: (p) => new SGD(p, { lr: 0.02, momentum: 0.9, nesterov: true }),
  adagrad: (p) => new Adagrad(p, { lr: 0.1 }),
  adagradOptions: (p) =>
    new Adagrad(p, { lr: 0.1, lrDecay: 0.01, weightDecay: 0.02, initialAccumulator: 0.1, eps: 1e-6 }),
  adam: (p) => new Adam(p, { lr: 0.02 }),
  adamOptions: (p) => new Adam(p, { lr: 0.02, betas: [0.8, 0.95], eps: 1e-4, weightDecay: 0.03 }),
  adamW: (p) => new AdamW(p, { lr: 0.02 }),
  adamWOptions: (p) => new AdamW(p, { lr: 0.02, betas: [0.8, 0.95], eps: 1e-4, weightDecay: 0.1 }),
};

const rows: Record<string, Make> = {
  rowsSgd: (p) => new SGD(p, { lr: 0.05 }),
  rowsAdagrad: (p) => new Adagrad(p, { lr: 0.1, lrDecay: 0.01, initialAccumulator: 0.1 }),
  rowsAdam: (p) => new Adam(p, { lr: 0.02, eps: 1e-14 }),
};

describe('wrong input', () => {
  const p = (): Tensor[] => [zeros([2], { requiresGrad: true })];

  test('hyper-parameters', () => {
    expect(() => new SGD(p(), { lr: -1 })).toThrow(
      'SGD: expected a finite number of at least 0 for lr, got -1.',
    );
    expect(() => new SGD(p(), { lr: Number.NaN })).toThrow(
      'SGD: expected a finite number of at least 0 for lr, got NaN.',
    );
    expect(() => new SGD(p(), { lr: '0.1' as never })).toThrow('for lr, got "0.1".');
    expect(() => new SGD(p(), { momentum: -0.1 })).toThrow('for momentum, got -0.1.');
    expect(() => new SGD(p(), { nesterov: true })).toThrow(
      'SGD: expected momentum above 0 and dampening 0 with nesterov',
    );
    expect(() => new Adam(p(), { betas: [0.9, 1] })).toThrow(
      'Adam: expected a number of at least 0 and below 1 for betas[1], got 1.',
    );
    expect(() => new AdamW(p(), { betas: [-0.1, 0.9] })).toThrow(
      'AdamW: expected a number of at least 0 and below 1 for betas[0], got -0.1.',
    );
    expect(() => new Adam(p(), { betas: [0.9] as never })).toThrow(
      'Adam: expected two numbers for betas, got [0.9].',
    );
    expect(() => new Adam(p(), { eps: Infinity })).toThrow('for eps, got Infinity.');
    expect(() => new Adagrad(p(), { initialAccumulator: -1 })).toThrow('for initialAccumulator, got -1.');
    expect(() => new Adagrad(p(), { lrDecay: -1 })).toThrow('for lrDecay, got -1.');
    expect(() => new Adam(p(), { learningRate: 1 } as never)).toThrow(
      'Adam: expected only lr, betas, eps, weightDecay, amsgrad for the options, got "learningRate".',
    );
    expect(() => new SGD([{ params: p(), rate: 1 } as never])).toThrow('for a group, got "rate".');
  });

  test('parameters', () => {
    expect(() => new SGD([])).toThrow('SGD: expected at least one parameter');
    expect(() => new SGD([zeros([2])])).toThrow(
      'SGD: expected a leaf with requiresGrad for parameter 0, got "one without requiresGrad".',
    );
    expect(() => new SGD([p()[0].mul(2)])).toThrow('for parameter 0, got "the result of an operation".');
    const [one] = p();
    expect(() => new SGD([one, one])).toThrow('SGD: expected each parameter once for parameter 1');
    expect(() => new SGD([{ params: [one] }, { params: [one] }])).toThrow('expected each parameter once');
    expect(() => new SGD([3 as never])).toThrow(
      'expected a parameter or a group { params, … } for the parameters, got 3.',
    );
  });

  test('steps, rates and states', () => {
    const optimizer = new SGD(p());
    expect(() => {
      optimizer.lr = -1;
    }).toThrow('SGD: expected a finite number of at least 0 for lr, got -1.');
    optimizer.groups[0].lr = Number.NaN;
    expect(() => optimizer.step()).toThrow(
      'SGD.step: expected a finite number of at least 0 for lr, got NaN.',
    );
    const table = new Embedding(3, 2, { sparse: true });
    table.forward([1]).sum().backward();
    const rowStep = new SGD(table.parameters(), { momentum: 0.9, nesterov: true });
    expect(() => rowStep.step()).toThrow('SGD.step: expected neither nesterov nor dampening');
    const [param] = p();
    expect(() => {
      param.grad = zeros([2], { dtype: 'f64' });
    }).toThrow('grad: expected f32 of shape [2] for the gradient');
    expect(() => new SGD(new Linear(2, 2) as never)).toThrow('Pass module.parameters().');

    expect(() => new Adam(p()).loadStateDict(optimizer.stateDict())).toThrow(
      'Adam.loadStateDict: expected the state of Adam for state, got "one of SGD".',
    );
    const two = new SGD([...p(), ...p()]);
    expect(() => two.loadStateDict(new SGD(p()).stateDict())).toThrow(
      'expected groups of 2 parameters for state, got "groups of 1".',
    );
    const trained = new Adam([leaf([3], 1, 'f32')]);
    trained.groups[0].params[0].grad = ones([3]);
    trained.step();
    const damaged = { ...trained.stateDict(), steps: [-1] };
    expect(() => trained.loadStateDict(damaged)).toThrow('for steps[0], got -1.');
    expect(trained.stateDict().steps).toEqual([1]);
    expect(() => new Adam(p()).loadStateDict(trained.stateDict())).toThrow(
      'expected shape [2] for 0.mean, got "[3]".',
    );
  });

  test('clipping', () => {
    expect(() => clipGradNorm(p(), -1)).toThrow(
      'clipGradNorm: expected a finite number of at least 0 for maxNorm, got -1.',
    );
    expect(() => clipGradValue(p(), Number.NaN)).toThrow('for limit, got NaN.');
    const [bad] = p();
    bad.grad = fromArray([1, Number.NaN]);
    expect(() => clipGradNorm([bad], 1)).toThrow(
      'clipGradNorm: expected finite gradients, got a norm of NaN at gradient 0.',
    );
  });
});

/** Steps 1 … last of the problem in scripts/golden/nn.py; `kept` receives the values after some. */
function runDense(
  optimizer: ReturnType<Make>,
  p: Tensor,
  from: number,
  last: number,
  visit: (t: number) => void,
): void {
  const dtype = p.dtype as FloatDType;
  for (let t = from; t <= last; t++) {
    optimizer.zeroGrad();
    scope(() =>
      sum(mul(abs(pattern([6], 2, dtype)), sub(p, pattern([6], 3 + t, dtype)).square())).backward(),
    );
    optimizer.step();
    visit(t);
  }
}

function runRows(optimizer: ReturnType<Make>, table: Embedding, visit: (t: number) => void): void {
  const dtype = table.weight.dtype as FloatDType;
  for (let t = 1; t <= 100; t++) {
    optimizer.zeroGrad();
    const ids = [(3 * t) % 5, (7 * t + 1) % 5, t % 2];
    scope(() =>
      table
        .forward(ids)
        .sub(pattern([3, 2], 3 + t, dtype))
        .square()
        .sum()
        .backward(),
    );
    optimizer.step();
    visit(t);
  }
}

describe.each(dtypes)('PyTorch, %s', (dtype) => {
  const compare =
    (name: string, p: Tensor) =>
    (t: number): void => {
      const wanted = cases[name][dtype][String(t)];
      if (wanted !== undefined) expectClose(p, wanted, tolerance[dtype], `${name} after ${t} steps`);
    };

  test.each(Object.keys(dense))('%s', (name) => {
    const p = leaf([6], 1, dtype);
    runDense(dense[name]([p]), p, 1, 100, compare(name, p));
  });

  test.each(Object.keys(rows))('%s', (name) => {
    const table = new Embedding(5, 2, { dtype, sparse: true });
    fill(table, ['weight']);
    runRows(rows[name](table.parameters()), table, compare(name, table.weight));
    expect(table.weight.ownGrad).toBeNull();
  });
});

describe('state', () => {
  test.each(Object.keys(dense))('%s continues from a saved state with the same bits', (name) => {
    const p = leaf([6], 1, 'f32');
    const optimizer = dense[name]([p]);
    runDense(optimizer, p, 1, 7, () => {});
    const saved = optimizer.stateDict();
    const values = p.clone().detach().setRequiresGrad();
    runDense(optimizer, p, 8, 20, () => {});

    const other = dense[name]([values]);
    other.loadStateDict(saved);
    runDense(other, values, 8, 20, () => {});
    expect(values.toArray()).toEqual(p.toArray());
  });

  test('a state is a copy, and its numbers survive JSON', () => {
    const p = leaf([6], 1, 'f32');
    const optimizer = new Adam([p], { lr: 0.02 });
    runDense(optimizer, p, 1, 1, () => {});
    const { tensors, ...numbers } = optimizer.stateDict();
    const before = tensors['0.mean'].toArray();
    runDense(optimizer, p, 2, 2, () => {});
    expect(tensors['0.mean'].toArray()).toEqual(before);
    expect(JSON.parse(JSON.stringify(numbers))).toEqual(numbers);
    expect(numbers.steps).toEqual([1]);
  });
});

describe('steps', () => {
  test('groups have their own options; lr sets all', () => {
    const a = ones([1], { requiresGrad: true });
    const b = ones([1], { requiresGrad: true });
    const optimizer = new SGD([{ params: [a] }, { params: [b], lr: 1 }], { lr: 0.5 });
    expect(optimizer).toBeInstanceOf(Optimizer);
    a.grad = ones([1]);
    b.grad = ones([1]);
    optimizer.step();
    expect([a.item(), b.item()]).toEqual([0.5, 0]);
    optimizer.lr = 0.25;
    optimizer.step();
    expect([a.item(), b.item()]).toEqual([0.25, -0.25]);
    expect(optimizer.lr).toBe(0.25);
  });

  test('a parameter without a gradient stays, and has no state', () => {
    const [a, b] = [leaf([2], 1, 'f32'), leaf([2], 2, 'f32')];
    const optimizer = new Adam([a, b]);
    const before = b.toArray();
    a.grad = ones([2]);
    optimizer.step();
    expect(b.toArray()).toEqual(before);
    expect(optimizer.stateDict().steps).toEqual([1, 0]);
  });

  test('rows give what dense gives when every row has a gradient', () => {
    for (const make of [
      dense.adam,
      dense.adamWOptions,
      dense.adagradOptions,
      dense.sgd,
      (p: Tensor[]) => new SGD(p, { lr: 0.1, momentum: 0.9, weightDecay: 0.1 }),
    ]) {
      const tables = [true, false].map((sparse) => new Embedding(3, 4, { sparse, dtype: 'f64' }));
      tables[1].loadStateDict(tables[0].stateDict());
      const optimizers = tables.map((table) => make(table.parameters()));
      for (let t = 0; t < 5; t++) {
        for (const [i, table] of tables.entries()) {
          optimizers[i].zeroGrad();
          table
            .forward([2, 0, 1, 2])
            .sub(pattern([4, 4], t, 'f64'))
            .square()
            .sum()
            .backward();
          optimizers[i].step();
        }
      }
      expectClose(tables[0].weight, Array.from(tables[1].weight.dataSync()), 1e-12, 'rows');
    }
  });

  test('backward throws for a graph recorded before a step', () => {
    const layer = new Linear(2, 1);
    const optimizer = new SGD(layer.parameters());
    const x = ones([1, 2], { requiresGrad: true });
    const y = layer.forward(x).sum();
    y.backward(undefined, { retainGraph: true });
    optimizer.step();
    expect(() => y.backward()).toThrow('changed in place');
  });

  test('a training step inside a scope leaves nothing behind but what it must', () => {
    const layer = new Linear(3, 1, { dtype: 'f64' });
    const optimizer = new Adam(layer.parameters(), { lr: 0.05 });
    const x = pattern([8, 3], 1, 'f64');
    const target = x.sum(1, { keepDims: true });
    let loss = Infinity;
    for (let t = 0; t < 400; t++) {
      optimizer.zeroGrad();
      loss = scope(() => {
        const value = layer.forward(x).sub(target).square().mean();
        value.backward();
        optimizer.step();
        return value.item();
      });
    }
    expect(loss).toBeLessThan(1e-6);
  });
});

describe('clipping', () => {
  test('the common norm of dense and row gradients', () => {
    const a = zeros([2], { requiresGrad: true });
    a.grad = fromArray([3, 0]);
    const table = new Embedding(4, 1, { sparse: true });
    table
      .forward([1, 1, 3])
      .mul(fromArray([[1], [3], [0]]))
      .sum()
      .backward();
    expect(clipGradNorm([a, table.weight], 10)).toBe(5);
    expect((a.grad as Tensor).toArray()).toEqual([3, 0]);
    expect(clipGradNorm([a, table.weight], 1)).toBe(5);
    expectClose(a.grad as Tensor, [0.6, 0], 1e-6, 'dense');
    expectClose(table.weight.sparseGrad?.rows as Float32Array, [0.8, 0], 1e-6, 'rows');
    expect(Array.from(table.weight.sparseGrad?.ids as Int32Array)).toEqual([1, 3]);
    expect(clipGradNorm([zeros([1], { requiresGrad: true })], 1)).toBe(0);
  });

  test('a norm that is not finite may be let through', () => {
    const a = zeros([2], { requiresGrad: true });
    a.grad = fromArray([Infinity, 1]);
    expect(clipGradNorm([a], 1, { errorIfNonFinite: false })).toBe(Infinity);
  });

  test('values', () => {
    const a = zeros([3], { requiresGrad: true });
    a.grad = fromArray([-5, 0.5, 5]);
    const table = new Embedding(4, 1, { sparse: true });
    table
      .forward(tensor(Int32Array.of(1, 1)))
      .sum()
      .backward();
    clipGradValue([a, table.weight], 1.5);
    expect((a.grad as Tensor).toArray()).toEqual([-1.5, 0.5, 1.5]);
    expect(Array.from(table.weight.sparseGrad?.rows as Float32Array)).toEqual([1.5]);
  });
});
