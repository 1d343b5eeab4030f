/** Modules: their parameters and buffers, and how these are named, saved, loaded and printed. */
import {
  activation,
  buffer,
  Dropout,
  Embedding,
  init,
  Linear,
  MLP,
  Module,
  parameter,
  Sequential,
  Tanh,
} from 'skein/nn';
import { fromArray, ones, scope, type Tensor, zeros } from 'skein/tensor';
import { describe, expect, test } from 'vitest';
import { isParameter } from '#internal/nn/parameter.js';

class Net extends Module {
  readonly scale = parameter(ones([2]));
  readonly layers = [new Linear(2, 3), new Linear(3, 2, { bias: false })];
  readonly byName = { head: new Linear(2, 1) };
  readonly byKey = new Map([
    ['a', new Dropout(0.5)],
    ['b', new Dropout(0.1)],
  ]);
  readonly extra = [parameter(zeros([1])), parameter(zeros([4]))];
  readonly count = buffer(zeros([], { dtype: 'i32' }));
  readonly cache = zeros([9]);
  readonly shared: Linear;

  constructor() {
    super();
    this.shared = this.layers[0];
  }

  forward(x: Tensor): Tensor {
    return this.layers.reduce((value, layer) => layer.forward(value), x.mul(this.scale));
  }
}

const names = [
  'scale',
  'layers.0.weight',
  'layers.0.bias',
  'layers.1.weight',
  'byName.head.weight',
  'byName.head.bias',
  'extra.0',
  'extra.1',
];

describe('wrong input', () => {
  test('what cannot be a parameter or a buffer', () => {
    expect(() => parameter(3 as never)).toThrow('parameter: expected a tensor for tensor, got 3.');
    expect(() => parameter(zeros([2], { dtype: 'i32' }))).toThrow(
      'parameter: expected f32 or f64 for dtype, got "i32".',
    );
    expect(() => parameter(parameter(ones([2])).mul(2))).toThrow('parameter: expected a leaf tensor');
    expect(() => parameter(zeros([2, 3]).T)).toThrow(
      'parameter: expected a contiguous tensor, got a strided view.',
    );
    expect(() => buffer(parameter(ones([2])))).toThrow('buffer: expected a tensor without requiresGrad');
  });

  test('loading lists everything that does not fit and changes nothing', () => {
    const net = new Net();
    const before = net.layers[0].weight.toArray();
    const { 'layers.1.weight': _gone, ...state } = new Net().stateDict();
    const load = (): unknown =>
      net.loadStateDict({ ...state, 'layers.0.bias': zeros([7]), stranger: zeros([1]) });
    expect(load).toThrow(
      'Missing: layers.1.weight. Unexpected: stranger. Of another shape: layers.0.bias (expected [3] f32, got [7] f32).',
    );
    expect(load).toThrow(expect.objectContaining({ code: 'SKEIN_SHAPE', name: 'ShapeError' }));
    expect(net.layers[0].weight.toArray()).toEqual(before);
    expect(() => net.loadStateDict({})).toThrow('Pass { strict: false } to allow this.');
    expect(() => net.loadStateDict({ ...net.stateDict(), scale: 3 as never })).toThrow(
      'scale (expected [2] f32, got a value that is not a tensor)',
    );
    const wrongType = { ...net.stateDict(), count: zeros([]) };
    expect(() => net.loadStateDict(wrongType, { strict: false })).toThrow(
      'count (expected [] i32, got [] f32)',
    );
  });

  test('sizes, names and options', () => {
    expect(() => new Linear(0, 2)).toThrow(
      'Linear: expected a whole number of at least 1 for inFeatures, got 0.',
    );
    expect(() => new Linear(2, 2, { dtype: 'i32' as never })).toThrow(/expected 'f32' or 'f64' for dtype/);
    expect(() => new Dropout(1.5)).toThrow('Dropout: expected a finite number from 0 to 1 for p, got 1.5.');
    expect(() => new Embedding(3, 2, { paddingIdx: 3 })).toThrow(
      'Embedding: expected a whole number from 0 to 2 for paddingIdx, got 3.',
    );
    expect(() => new MLP([4])).toThrow(
      'MLP: expected at least an input and an output size for sizes, got [4].',
    );
    expect(() => new MLP([4, 2], { norm: 'group' as never })).toThrow(
      'MLP: expected one of none, batch, layer for norm, got "group".',
    );
    expect(() => new Sequential([3 as never])).toThrow('Sequential: expected a module for layers[0], got 3.');
    expect(() => activation('rellu' as never)).toThrow(
      'activation: expected one of relu, leakyRelu, elu, gelu, sigmoid, tanh, softplus, none for name, got "rellu".',
    );
    expect(() => activation('constructor' as never)).toThrow('activation: expected one of');
  });

  test('initialisers', () => {
    expect(() => init.glorotUniform(zeros([3]))).toThrow(
      'init.glorotUniform: expected at least two axes [out, in] for t, got "[3]".',
    );
    expect(() => init.normal(zeros([2]), { std: -1 })).toThrow(
      'init.normal: expected a finite number of at least 0 for std, got -1.',
    );
    expect(() => init.uniform(zeros([2]), { lo: 1, hi: 0 })).toThrow('for hi, got 0.');
    expect(() => init.constant(zeros([2]), Number.NaN)).toThrow('for value, got NaN.');
    expect(() => init.zeros(zeros([2], { dtype: 'u8' }))).toThrow('expected f32 or f64 for the dtype of t');
    expect(() => init.zeros(zeros([2, 3]).T)).toThrow('expected a contiguous tensor');
    expect(() => init.kaimingUniform(zeros([2, 2]), { mode: 'in' as never })).toThrow(
      "expected 'fanIn' or 'fanOut' for mode",
    );
  });
});

describe('what a module owns', () => {
  test('parameters by name, in the order of the fields; shared ones once', () => {
    const net = new Net();
    expect([...net.namedParameters().keys()]).toEqual(names);
    expect(net.parameters().every(isParameter)).toBe(true);
    expect(net.parameterCount()).toBe(2 + 6 + 3 + 6 + 2 + 1 + 1 + 4);
    expect([...net.namedBuffers().keys()]).toEqual(['count']);
    expect([...net.children().keys()]).toEqual(['layers.0', 'layers.1', 'byName.head', 'byKey.a', 'byKey.b']);
    expect([...net.modules().keys()]).toEqual([
      '',
      'layers.0',
      'layers.1',
      'byName.head',
      'byKey.a',
      'byKey.b',
    ]);
    expect(Object.keys(net.stateDict()).sort()).toEqual([...names, 'count'].sort());
  });

  test('a sequence names its layers by number, and a cycle ends', () => {
    class Loop extends Module {
      self: Module = this;
      readonly inner = new Sequential([new Linear(1, 1), new Sequential([new Tanh(), new Linear(1, 2)])]);
      forward(x: Tensor): Tensor {
        return this.inner.forward(x);
      }
    }
    expect([...new Loop().namedParameters().keys()]).toEqual([
      'inner.0.weight',
      'inner.0.bias',
      'inner.1.1.weight',
      'inner.1.1.bias',
    ]);
  });

  test('train and eval reach every module; zeroGrad every parameter', () => {
    const net = new Net();
    net.eval();
    expect([...net.modules().values()].map((m) => m.training)).toEqual(Array(6).fill(false));
    net.train();
    expect([...net.modules().values()].every((m) => m.training)).toBe(true);
    net
      .forward(ones([1, 2]))
      .sum()
      .backward();
    expect(net.scale.grad).not.toBeNull();
    net.zeroGrad();
    expect(net.parameters().every((p) => p.grad === null)).toBe(true);
  });

  test('parameters made inside a scope stay, and so do their gradients', () => {
    const { net, total } = scope(() => {
      const made = new Net();
      const value = made.forward(ones([1, 2])).sum();
      value.backward();
      return { net: made, total: value.item() };
    });
    expect(Number.isFinite(total)).toBe(true);
    expect(net.scale.isDisposed).toBe(false);
    expect((net.scale.grad as Tensor).toArray()).toHaveLength(2);
    expect(net.count.item()).toBe(0);
  });
});

describe('state', () => {
  test('round trip, also by the other name of a shared module and from another float type', () => {
    const source = new Net();
    const target = new Net();
    source.count.dataSync()[0] = 7;
    expect(target.loadStateDict(source.stateDict())).toEqual({ missing: [], unexpected: [] });
    for (const [name, t] of source.namedParameters()) {
      expect(target.namedParameters().get(name)?.toArray()).toEqual(t.toArray());
    }
    expect(target.count.item()).toBe(7);

    const { 'layers.0.weight': moved, ...rest } = source.stateDict();
    expect(new Net().loadStateDict({ ...rest, 'shared.weight': moved })).toEqual({
      missing: [],
      unexpected: [],
    });
    const double = fromArray([0.5, 0.25], { dtype: 'f64' });
    target.loadStateDict({ ...source.stateDict(), scale: double });
    expect(target.scale.toArray()).toEqual([0.5, 0.25]);
  });

  test('not strict: returns what differs', () => {
    const { scale, ...rest } = new Net().stateDict();
    const result = new Net().loadStateDict({ ...rest, stranger: scale }, { strict: false });
    expect(result).toEqual({ missing: ['scale'], unexpected: ['stranger'] });
  });

  test('a state shares memory with the module and is outside the tape', () => {
    const net = new Net();
    const state = net.stateDict();
    init.constant(net.scale, 3);
    expect(state.scale.toArray()).toEqual([3, 3]);
    expect(state.scale.requiresGrad).toBe(false);
  });

  test('loading after recording is noticed by backward', () => {
    const net = new Net();
    const y = net.forward(ones([1, 2])).sum();
    net.loadStateDict(new Net().stateDict());
    expect(() => y.backward()).toThrow('changed in place');
  });
});

test('a module prints as a tree with shapes', () => {
  expect(String(new Net())).toBe(
    [
      'Net() · 25 parameters',
      '  scale: [2] f32',
      '  layers.0: Linear(2 → 3)',
      '    weight: [3, 2] f32',
      '    bias: [3] f32',
      '  layers.1: Linear(3 → 2, no bias)',
      '    weight: [2, 3] f32',
      '  byName.head: Linear(2 → 1)',
      '    weight: [1, 2] f32',
      '    bias: [1] f32',
      '  byKey.a: Dropout(0.5)',
      '  byKey.b: Dropout(0.1)',
      '  extra.0: [1] f32',
      '  extra.1: [4] f32',
      '  count: [] i32 (buffer)',
      '  shared: Linear(2 → 3)',
      '    weight: [3, 2] f32',
      '    bias: [3] f32',
    ].join('\n'),
  );
});
