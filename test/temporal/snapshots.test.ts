/** Models in discrete time: against PyTorch with dense adjacency, by differences, and learning a small sequence. */

import { Graph, TemporalGraph } from 'skein/graph';
import { Adam, bceWithLogits, Linear } from 'skein/nn';
import {
  ChebConv,
  EvolveGCN,
  GConvGRU,
  GConvLSTM,
  type SnapshotModel,
  snapshotsOf,
  TGCN,
} from 'skein/temporal';
import { backward, concat, type FloatDType, fromArray, reshape, type Tensor } from 'skein/tensor';
import { Random } from 'skein/util';
import { describe, expect, test } from 'vitest';
import { dtypes, expectFiniteDifferences, expectRecorded, fill, pattern } from '../nn/golden.js';
import { temporalGolden } from './golden.js';

const golden = temporalGolden('snapshots');
const [n, into, hidden] = [6, 3, 4];

/** The events of the golden script, three windows of length 10. */
const events = [
  ...[
    [0, 1, 0],
    [1, 2, 3],
    [2, 3, 4],
    [0, 1, 9.5],
  ],
  ...[
    [3, 4, 10],
    [4, 5, 11],
    [5, 0, 12],
    [1, 4, 13],
  ],
  ...[
    [0, 2, 20],
    [2, 4, 21],
    [2, 4, 22],
    [1, 3, 30],
  ],
] as const;
const stream = new TemporalGraph(
  {
    src: events.map(([u]) => u),
    dst: events.map(([, v]) => v),
    time: Float64Array.from(events, ([, , t]) => t),
  },
  { numNodes: n },
);
const graphs = snapshotsOf(stream, { count: 3 }).map(({ graph }) => graph);

function features(dtype: FloatDType): Tensor[] {
  return graphs.map((_, t) => pattern([n, into], 20 + t, dtype));
}

interface Case {
  readonly make: (options: { dtype: FloatDType; random?: Random }) => SnapshotModel<never>;
  readonly names: readonly string[];
}

const linears = ['update', 'reset', 'candidate'].flatMap((name) => [`${name}.weight`, `${name}.bias`]);
const evolving = (variant: 'O' | 'H'): string[] =>
  [0, 1].flatMap((i) => [
    ...['weight', 'cell.weightIh', 'cell.weightHh', 'cell.biasIh', 'cell.biasHh'].map(
      (k) => `layers.${i}.${k}`,
    ),
    ...(variant === 'H' ? [`layers.${i}.choice`] : []),
  ]);
const as = (model: unknown): SnapshotModel<never> => model as SnapshotModel<never>;

const cases: Readonly<Record<string, Case>> = {
  TGCN: {
    make: (options) => as(new TGCN(into, hidden, options)),
    names: ['conv.lin.weight', 'conv.bias', ...linears],
  },
  GConvGRU: {
    make: (options) => as(new GConvGRU(into, hidden, { ...options, terms: 3 })),
    names: ['input.weight', 'input.bias', 'gates.weight', 'candidate.weight'],
  },
  GConvLSTM: {
    make: (options) => as(new GConvLSTM(into, hidden, { ...options, terms: 3 })),
    names: ['input.weight', 'input.bias', 'gates.weight', 'peepI', 'peepF', 'peepO'],
  },
  'EvolveGCN O': {
    make: (options) => as(new EvolveGCN([into, hidden, 2], options)),
    names: evolving('O'),
  },
  'EvolveGCN H': {
    make: (options) => as(new EvolveGCN([into, hidden, 2], { ...options, variant: 'H' })),
    names: evolving('H'),
  },
};

describe.each(Object.entries(cases))('%s', (name, { make, names }) => {
  test.each(dtypes)('as PyTorch has it, %s', (dtype) => {
    const model = make({ dtype });
    const leaves = fill(model, names);
    const output = concat(model.forward(graphs, features(dtype)), 0);
    expectRecorded(golden[`${name} ${dtype}`], output, leaves);
  });

  test('gradients by differences, through all steps', () => {
    const model = make({ dtype: 'f64', random: new Random(5) });
    const x = features('f64').map((t) => t.setRequiresGrad());
    const leaves = { ...Object.fromEntries(model.namedParameters()), x0: x[0], x2: x[2] };
    expectFiniteDifferences(() => concat(model.forward(graphs, x), 0), leaves);
  });

  test('renaming the nodes renames the rows', () => {
    const order = [3, 0, 5, 1, 4, 2];
    const model = make({ dtype: 'f64', random: new Random(5) });
    const renamed = graphs.map((graph) => {
      const { src, dst } = graph.edges();
      const to = (ids: Int32Array): Int32Array => ids.map((v) => order[v]);
      return Graph.fromEdges(to(src), to(dst), { numNodes: n });
    });
    const x = features('f64');
    const moved = x.map((t) =>
      fromArray(
        order.map((_, v) => (t.toArray() as number[][])[order.indexOf(v)]),
        { dtype: 'f64' },
      ),
    );
    const last = model.forward(graphs, x)[2].toArray() as number[][];
    const other = model.forward(renamed, moved)[2].toArray() as number[][];
    order.forEach((to, v) => {
      other[to].forEach((value, j) => {
        expect(value).toBeCloseTo(last[v][j], 10);
      });
    });
  });

  test('learns labels that change with the snapshot', () => {
    const random = new Random(7);
    const model = make({ dtype: 'f32', random });
    const x = features('f32');
    const width = model.forward(graphs, x)[0].shape[1];
    const head = new Linear(width, 1, { random });
    const optimizer = new Adam([...model.parameters(), ...head.parameters()], { lr: 0.03 });
    const labels = graphs.map((_, t) =>
      fromArray(Array.from({ length: n }, (_v, v) => ((v + t) % 2 === 0 ? 1 : 0))),
    );
    const losses: number[] = [];
    for (let step = 0; step < 40; step++) {
      const logits = model.forward(graphs, x).map((h) => reshape(head.forward(h), [n]));
      const loss = bceWithLogits(concat(logits, 0), concat(labels, 0));
      optimizer.zeroGrad();
      backward(loss);
      optimizer.step();
      losses.push(loss.item());
    }
    expect(losses[losses.length - 1]).toBeLessThan(0.8 * losses[0]);
  });
});

describe('snapshotsOf', () => {
  test('windows are half open, the last has its end; both directions of every event', () => {
    const snapshots = snapshotsOf(stream, { duration: 10 });
    expect(snapshots.map(({ firstRow, endRow, from, to }) => [firstRow, endRow, from, to])).toEqual([
      [0, 4, 0, 10],
      [4, 8, 10, 20],
      [8, 12, 20, 30],
    ]);
    expect(snapshots.map(({ graph }) => [graph.numNodes, graph.numEdges])).toEqual([
      [6, 8],
      [6, 8],
      [6, 8],
    ]);
  });

  test('cumulative keeps what was; empty windows are graphs without edges', () => {
    expect(snapshotsOf(stream, { count: 3, cumulative: true }).map(({ graph }) => graph.numEdges)).toEqual([
      8, 16, 24,
    ]);
    const gap = new TemporalGraph({ src: [0, 1], dst: [1, 1], time: [0, 30] }, { directed: true });
    expect(snapshotsOf(gap, { count: 3 }).map(({ graph }) => graph.numEdges)).toEqual([1, 0, 1]);
    expect(snapshotsOf(new TemporalGraph({ src: [], dst: [], time: [] }), { count: 3 })).toEqual([]);
  });

  test('every event is in exactly one window', () => {
    for (const count of [1, 2, 5, 7]) {
      const snapshots = snapshotsOf(stream, { count });
      expect(snapshots.reduce((sum, { firstRow, endRow }) => sum + endRow - firstRow, 0)).toBe(
        stream.numEvents,
      );
    }
  });

  test('wrong options are rejected with an error', () => {
    expect(() => snapshotsOf(stream, {})).toThrow(/either duration or count/);
    expect(() => snapshotsOf(stream, { duration: 1, count: 2 })).toThrow(/either duration or count/);
    expect(() => snapshotsOf(stream, { duration: 0 })).toThrow(/duration/);
    expect(() => snapshotsOf(stream, { count: 0 })).toThrow(/count/);
  });
});

test('wrong sizes are rejected with an error', () => {
  expect(() => new EvolveGCN([3])).toThrow(/at least an input and an output/);
  expect(() => new ChebConv(3, 4, { terms: 0 })).toThrow(/terms/);
  const x = features('f32');
  expect(() => new TGCN(into, hidden).forward(graphs, x.slice(1))).toThrow(/3 tensors/);
  expect(() => new EvolveGCN([into, 9], { variant: 'H' }).forward(graphs, x)).toThrow(/at least 9 nodes/);
});
