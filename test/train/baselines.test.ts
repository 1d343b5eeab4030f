/** Results without learning next to those of a model: the same edges, candidates and ties, and a sentence where they are better. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { LinkPredictionReporter } from 'skein/train';
import { describe, expect, test } from 'vitest';
import { trainingAdvice } from '#internal/train/run/training-advice.js';
import { EndCounts } from '#internal/train/tasks/links/end-counts.js';
import { propagateLabels } from '#internal/train/tasks/nodes/node-baselines.js';
import { jodieText, temporalRun, writeTemporalConfig } from './temporal-files.js';
import { randomRows, run, scratch, tinyConfig, writeDataset } from './tiny.js';

const folder = scratch();
const [numNodes, numRelations] = [30, 3];
const rows = randomRows(numNodes, 300, numRelations);
const split = { train: rows.subarray(0, 600), validation: rows.subarray(600, 750), test: rows.subarray(750) };

/** Counts of (relation, node) at one end: 2 destinations, 0 sources. */
function countsOf(edges: Int32Array, end: 0 | 2): Map<string, number> {
  const counts = new Map<string, number>();
  for (let i = 0; i < edges.length; i += 3) {
    const key = `${edges[i + 1]} ${edges[i + end]}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}

/** Metrics of counting, edge by edge and candidate by candidate. */
function countingBySearch(filtered: boolean, ties: 'REALISTIC' | 'PESSIMISTIC', seen = false): object {
  const known = new Set(
    Array.from({ length: rows.length / 3 }, (_, i) => rows.subarray(3 * i, 3 * i + 3).join()),
  );
  const reporter = new LinkPredictionReporter({ ties });
  for (const end of [2, 0] as const) {
    const counts = countsOf(split.train, end);
    for (let i = 0; i < split.test.length; i += 3) {
      const edge = [...split.test.subarray(i, i + 3)];
      const score = (node: number): number => counts.get(`${edge[1]} ${node}`) ?? 0;
      const others = Array.from({ length: numNodes }, (_, node) => node).filter(
        (node) =>
          node !== edge[end] &&
          !(filtered && known.has(edge.with(end, node).join())) &&
          (!seen || score(node) > 0),
      );
      reporter.addResult([score(edge[end])], others.map(score));
    }
  }
  return reporter.results();
}

const valuesOf = (metrics: object): number[] => Object.values(metrics);

describe('counting', () => {
  const dataset = writeDataset(folder(), { numNodes, numRelations, ...split });

  test('ranks like a search over all candidates, filtered or not, with every rule for ties', async () => {
    for (const ties of ['REALISTIC', 'PESSIMISTIC'] as const)
      for (const filtered of [true, false]) {
        const negative_sampling = { filtered, negatives_per_positive: -1 };
        const { baselines } = await run(
          tinyConfig(dataset, { evaluation: { negative_sampling, ties, batch_size: 7 } }),
        );
        expect(baselines.map(({ name, items }) => [name, items])).toEqual([['counting', undefined]]);
        const wanted = valuesOf(countingBySearch(filtered, ties));
        // Sums in another order.
        for (const [i, value] of valuesOf(baselines[0].metrics).entries())
          expect(value).toBeCloseTo(wanted[i], 12);
      }
  });

  test('ranks among the nodes seen at that end, as the model does', async () => {
    const evaluation = { candidates: 'SEEN', batch_size: 7 };
    const { baselines } = await run(tinyConfig(dataset, { evaluation }));
    const wanted = valuesOf(countingBySearch(true, 'REALISTIC', true));
    for (const [i, value] of valuesOf(baselines[0].metrics).entries())
      expect(value).toBeCloseTo(wanted[i], 12);
  });

  test('ranks among the sampled negatives of the model, and only in its directions', async () => {
    const sampled = { negatives_per_positive: 5, num_chunks: 2, degree_fraction: 0.4, filtered: false };
    const { baselines, test: model } = await run(
      tinyConfig(dataset, {
        model: { decoder: { type: 'TRANSE', options: { inverse_edges: false } } },
        evaluation: { negative_sampling: sampled },
      }),
    );
    expect(Object.keys(baselines[0].metrics)).toEqual(Object.keys(model));
    // One of at most 6 candidates.
    expect(baselines[0].metrics['mr']).toBeGreaterThanOrEqual(1);
    expect(baselines[0].metrics['mr']).toBeLessThanOrEqual(6);
  });

  test('is in the events, the metrics file, the outcome and the log', async () => {
    const { baselines, events, directory } = await run(tinyConfig(dataset));
    const read = (name: string): string => readFileSync(join(directory, name), 'utf8');
    expect(JSON.parse(read('done.json')).baselines).toEqual(baselines);
    const [recorded] = read('metrics.jsonl')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
      .filter(({ event }) => event === 'baseline');
    expect(recorded).toMatchObject({ set: 'test', baseline: 'counting', ...baselines[0].metrics });
    expect(events.filter(({ event }) => event === 'baseline')).toHaveLength(1);
    expect(read('log.txt')).toMatch(/baseline {4}mrr 0\.\d{4} .*\(counting\)/);
  });

  test('counts are those of the edges for any chunks', async () => {
    const chunks = async function* () {
      for (let i = 0; i < split.train.length; i += 60) {
        const part = split.train.subarray(i, i + 60);
        const column = (c: number): Int32Array => part.filter((_, k) => k % 3 === c);
        yield { src: column(0), relations: column(1), dst: column(2) };
      }
    };
    const counts = await EndCounts.read(chunks(), numNodes, numRelations);
    for (const [direction, end] of [
      ['tail', 2],
      ['head', 0],
    ] as const) {
      const wanted = countsOf(split.train, end);
      let found = 0;
      for (let relation = 0; relation < numRelations; relation++) {
        const { nodes, counts: numbers } = counts.of(relation, direction);
        expect([...nodes]).toEqual([...nodes].sort((a, b) => a - b));
        for (const [i, node] of nodes.entries()) expect(numbers[i]).toBe(wanted.get(`${relation} ${node}`));
        found += nodes.length;
      }
      expect(found).toBe(wanted.size);
    }
  });
});

describe('classes', () => {
  test('majority and label propagation next to the metrics of a classifier', async () => {
    // Two rings of 20 nodes: the class is that of the ring, and the first 12 of 20 training nodes are of class 1.
    const labels = Int32Array.from({ length: 40 }, (_, i) => (i < 20 ? 1 : 0));
    const edges = Array.from({ length: 40 }, (_, i) => [i, i % 20 === 19 ? i - 19 : i + 1]).flat();
    const range = (...parts: [number, number][]): Int32Array =>
      Int32Array.from(parts.flatMap(([from, to]) => Array.from({ length: to - from }, (_, i) => from + i)));
    const dataset = writeDataset(folder(), {
      ...{ numNodes: 40, train: Int32Array.from(edges), labels, numClasses: 2 },
      features: { width: 2, values: Float32Array.from({ length: 80 }, (_, i) => i % 3) },
      nodes: {
        train: range([0, 12], [20, 28]),
        validation: range([12, 14], [28, 30]),
        test: range([14, 20], [30, 40]),
      },
    });
    const { baselines } = await run(
      tinyConfig(dataset, {
        model: {
          learning_task: 'NODE_CLASSIFICATION',
          encoder: { layers: [[{ type: 'FEATURE', output_dim: 2 }], [{ type: 'DENSE', output_dim: 2 }]] },
          decoder: { type: 'NODE' },
          loss: { type: 'CROSS_ENTROPY' },
        },
      }),
    );
    expect(baselines.map(({ name, metrics }) => [name, metrics['accuracy']])).toEqual([
      ['majority class', 6 / 16],
      ['label propagation', 1],
    ]);
  });

  test('labels spread along edges and stay where they are known', () => {
    const known = new Map([
      [0, 0],
      [4, 1],
    ]);
    const path = { src: Int32Array.of(0, 1, 2, 3), dst: Int32Array.of(1, 2, 3, 4) };
    const scores = propagateLabels(path, known, { numNodes: 6, numClasses: 2, rounds: 200 });
    // The harmonic function of a path is linear; node 5 has no edge.
    const wanted = [1, 0, 0.75, 0.25, 0.5, 0.5, 0.25, 0.75, 0, 1, 0, 0];
    for (const [i, value] of scores.entries()) expect(value).toBeCloseTo(wanted[i], 5);
  });
});

test('events: recency on the events and negatives of the test, and none next to a baseline', async () => {
  const events = `${folder()}.csv`;
  writeFileSync(events, jodieText(300));
  const [at, other] = [folder(), folder()];
  const same = ['--dataset.new_node_share=0', '--evaluation.batch_size=20'];
  const { baselines, test: model } = await temporalRun(
    writeTemporalConfig(`${at}.yaml`, 'jodie', events, at),
    same,
  );
  expect(baselines.map(({ name }) => name)).toEqual(['recency']);
  expect(baselines[0].metrics['events']).toBe(model['events']);
  const alone = `${other}.yaml`;
  const sections = {
    model: { kind: 'recency_popularity' },
    dataset: { path: events },
    storage: { model_dir: other },
  };
  writeFileSync(alone, JSON.stringify({ ...sections, training: { random_seed: randomSeedOf(at) } }));
  const baseline = await temporalRun(alone, same);
  expect(baseline.baselines).toEqual([]);
  // The same method as a model of its own.
  expect(baselines[0].metrics).toEqual(baseline.test);
  // Recency would see the events of the batch, which the model does not.
  const frozen = await temporalRun(writeTemporalConfig(`${folder()}.yaml`, 'jodie', events, folder()), [
    ...same,
    '--evaluation.cadence=batch',
  ]);
  expect(frozen.baselines).toEqual([]);
});

const randomSeedOf = (directory: string): number =>
  Number(/random_seed: (\d+)/.exec(readFileSync(join(directory, 'full_config.yaml'), 'utf8'))?.[1]);

describe('advice', () => {
  const outcome = {
    result: { stopped: 'finished', epochs: 10, best: { epoch: 10, value: 0.08 } },
    losses: [5, 4.5, 4.2, 4.1, 4, 3.9, 3.8, 3.7, 3.6, 3.4],
    ...{ stepsPerEpoch: 2, metric: 'mrr', headline: 'mrr', lowerIsBetter: false, test: { mrr: 0.082 } },
    baselines: [{ name: 'counting', metrics: { mrr: 0.133 } }],
  } as const;

  test('a model that loses to counting', () => {
    expect(trainingAdvice(outcome)).toEqual([
      'Counting reaches mrr 0.1330, the model 0.0820: train longer or with smaller batches (20 steps so far).',
    ]);
    expect(trainingAdvice({ ...outcome, stepsPerEpoch: 500 })[0]).toMatch(
      /train longer, the loss is still falling/,
    );
    const flat = { ...outcome, stepsPerEpoch: 500, losses: [3, 3] };
    expect(trainingAdvice(flat)[0]).toMatch(/try another learning rate/);
  });

  test('the metric of the task where baselines have no loss', () => {
    const byLoss = {
      ...{ ...outcome, metric: 'loss', headline: 'accuracy', lowerIsBetter: true },
      test: { loss: 0.4, accuracy: 0.7 },
      baselines: [{ name: 'label propagation', metrics: { accuracy: 0.8 } }],
    };
    expect(trainingAdvice(byLoss)[0]).toMatch(/^Label propagation reaches accuracy 0.8000, the model 0.7000/);
    const better = { ...byLoss, baselines: [{ name: 'label propagation', metrics: { accuracy: 0.6 } }] };
    expect(trainingAdvice(better)[0]).toMatch(/loss was best at the end/);
  });

  test('a loss that still falls', () => {
    const better = { ...outcome, test: { mrr: 0.3 } };
    expect(trainingAdvice(better)).toEqual([
      'Train longer: the loss still fell by 6 % over the last epoch, and mrr was best at the end.',
    ]);
    const earlier = { ...better, result: { ...outcome.result, best: { epoch: 8, value: 0.4 } } };
    expect(trainingAdvice(earlier)).toEqual([]);
    expect(trainingAdvice({ ...better, losses: [3, 2.99] })).toEqual([]);
    expect(trainingAdvice({ ...better, losses: [3] })).toEqual([]);
    expect(trainingAdvice({ ...better, result: { ...outcome.result, stopped: 'early' } })).toEqual([]);
  });
});
