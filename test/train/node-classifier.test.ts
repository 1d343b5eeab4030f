/** The trainer: wrong data first, then that it learns, stops, restores the best model and repeats itself. */
import { GCN, GraphSAGE } from 'skein/gnn';
import { Graph } from 'skein/graph';
import { Adam, SGD } from 'skein/nn';
import { fromTypedArray, manualSeed, randn } from 'skein/tensor';
import { classificationMetrics, type NodeClassificationData, trainNodeClassifier } from 'skein/train';
import { Random } from 'skein/util';
import { describe, expect, it } from 'vitest';

/** Two communities with noisy features: easy with the graph, hard without. */
function communities(nodes = 120): NodeClassificationData {
  const random = new Random(3);
  const src: number[] = [];
  const dst: number[] = [];
  for (let u = 0; u < nodes; u++) {
    for (let v = 0; v < nodes; v++) {
      if (u === v || random.nextFloat() >= (u % 2 === v % 2 ? 0.12 : 0.01)) continue;
      src.push(u);
      dst.push(v);
    }
  }
  const labels = Int32Array.from({ length: nodes }, (_, i) => i % 2);
  const x = randn([nodes, 4], { random: new Random(4) });
  const data = x.dataSync();
  for (let i = 0; i < nodes; i++) data[4 * i] += labels[i];
  const ids = (from: number, to: number): Int32Array =>
    Int32Array.from({ length: to - from }, (_, i) => from + i);
  return {
    graph: Graph.fromEdges(src, dst, { numNodes: nodes }),
    features: x,
    labels,
    numClasses: 2,
    splits: { train: ids(0, 30), valid: ids(30, 60), test: ids(60, nodes) },
  };
}

const makeModel = (seed = 1): GCN => {
  manualSeed(seed);
  return new GCN([4, 16, 2], { dropout: 0.3 });
};

describe('trainNodeClassifier refuses', () => {
  const data = communities();
  const with_ = (change: Partial<NodeClassificationData>) => () =>
    trainNodeClassifier({ model: makeModel(), data: { ...data, ...change }, epochs: 1 });
  const broken = fromTypedArray(new Float32Array(480), [120, 4]);
  broken.dataSync()[9] = Number.NaN;
  const labels = data.labels.slice();
  labels[5] = 7;
  const splits = { train: Int32Array.of(0, 500), valid: Int32Array.of(1), test: Int32Array.of(2) };
  const cases: [string, () => Promise<unknown>, RegExp][] = [
    [
      'features that are not finite',
      with_({ features: broken }),
      /finite numbers for features, got "NaN in row 2, column 1"/,
    ],
    ['a label out of range', with_({ labels }), /labels from 0 to 1 for labels, got "7 for node 5 of train"/],
    ['an id out of range', with_({ splits }), /splits.train, got "500 at position 1"/],
    [
      'a label that is not a number',
      with_({ labels: [...data.labels.slice(1), Number.NaN] as never }),
      /whole numbers/,
    ],
    [
      'a node in two parts',
      with_({ splits: { train: Int32Array.of(0, 1), valid: Int32Array.of(1), test: Int32Array.of(2) } }),
      /node 1 at position 0, which is in train already/,
    ],
    ['invalid features', with_({ features: 5 as never }), /a tensor, a SparseMatrix or null/],
    ['no model', () => trainNodeClassifier({ data } as never), /a module for model/],
    ['no splits', with_({ splits: null }), /randomNodeSplit/],
    ['no training nodes', with_({ splits: { ...splits, train: new Int32Array(0) } }), /at least one node/],
    ['too few features', with_({ features: randn([3, 4]) }), /120 rows/],
    ['zero epochs', () => trainNodeClassifier({ model: makeModel(), data, epochs: 0 }), /epochs/],
    [
      'an unknown monitor',
      () => trainNodeClassifier({ model: makeModel(), data, monitor: 'f1' as never }),
      /'accuracy' or 'loss'/,
    ],
  ];
  it.each(cases)('%s', async (_name, act, message) => {
    await expect(act()).rejects.toThrow(message);
  });

  it('a loss that is not finite', async () => {
    const model = makeModel();
    const optimizer = new SGD(model.parameters(), { lr: 1e20 });
    await expect(trainNodeClassifier({ model, data, optimizer, epochs: 50 })).rejects.toThrow(
      /expected a finite loss, got/,
    );
  });
});

describe('trainNodeClassifier', () => {
  const data = communities();
  const run = (sampling?: object) =>
    trainNodeClassifier({
      model: makeModel(),
      data,
      epochs: 40,
      seed: 5,
      ...(sampling === undefined ? {} : { sampling: sampling as never }),
    });

  it('learns, on the whole graph and on samples, and repeats itself', async () => {
    const full = await run();
    expect(full.test.accuracy).toBeGreaterThan(0.85);
    expect((await run()).history.map((r) => r.loss)).toEqual(full.history.map((r) => r.loss));
    const sampling = { fanouts: [8, 8], batchSize: 10, seed: 2 };
    const sampled = await run({ ...sampling, prefetch: 3 });
    expect(sampled.test.accuracy).toBeGreaterThan(0.85);
    expect((await run({ ...sampling, prefetch: 0 })).history.map((r) => r.loss)).toEqual(
      sampled.history.map((r) => r.loss),
    );
  });

  it('stops after `patience` epochs without progress and returns the best model', async () => {
    const model = makeModel();
    const optimizer = new Adam(model.parameters(), { lr: 0.05 });
    const result = await trainNodeClassifier({
      model,
      data,
      optimizer,
      epochs: 500,
      patience: 15,
      monitor: 'loss',
    });
    expect(result.epochs).toBe(result.bestEpoch + 15);
    const best = Math.min(...result.history.map((r) => r.validLoss));
    expect(result.history[result.bestEpoch - 1].validLoss).toBe(best);
    const correct = model.forward(data.graph, data.features).argmax(1).dataSync();
    const valid = [...(data.splits?.valid ?? [])];
    expect(valid.filter((id) => correct[id] === data.labels[id]).length / valid.length).toBe(
      result.valid.accuracy,
    );
  });

  it('reports every epoch and can be aborted', async () => {
    const controller = new AbortController();
    const seen: number[] = [];
    const model = new GraphSAGE([4, 8, 2]);
    const running = trainNodeClassifier({
      model,
      data,
      epochs: 100,
      signal: controller.signal,
      onEpoch({ epoch }) {
        seen.push(epoch);
        if (epoch === 3) controller.abort(new Error('enough'));
      },
    });
    await expect(running).rejects.toThrow('enough');
    expect(seen).toEqual([1, 2, 3]);
  });
});

describe('classificationMetrics', () => {
  it('counts', () => {
    const m = classificationMetrics([0, 0, 1, 2, -1], [0, 1, 1, 1, 0], 4);
    expect(m.accuracy).toBe(0.5);
    expect(m.confusion).toEqual([
      [1, 1, 0, 0],
      [0, 1, 0, 0],
      [0, 1, 0, 0],
      [0, 0, 0, 0],
    ]);
    expect(m.f1[0]).toBeCloseTo(2 / 3);
    expect(m.f1[1]).toBeCloseTo(0.5);
    expect(m.macroF1).toBeCloseTo((2 / 3 + 0.5 + 0) / 3);
    expect(m.count).toBe(4);
    expect(JSON.parse(JSON.stringify(m)).confusion).toEqual(m.confusion);
  });

  it('takes memory by the number of classes, not by its square', () => {
    const m = classificationMetrics([10_115, 80_331, 99_998, -1], [10_115, 99_998, 99_998, 0], 99_999);
    expect(m).toMatchObject({ accuracy: 2 / 3, count: 3 });
    expect(m.macroF1).toBeCloseTo((1 + 0 + 2 / 3) / 3);
    expect(Object.keys(m)).not.toContain('confusion');
    expect(() => m.confusion).toThrow(/at most 2048 classes for confusion, got 99999/);
  });

  it('refuses classes that are not there', () => {
    expect(() => classificationMetrics([0, 4], [0, 0], 2)).toThrow(/labels, got "4 at position 1"/);
    expect(() => classificationMetrics([0], [], 2)).toThrow(/1 predictions/);
  });
});
