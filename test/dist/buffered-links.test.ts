/**
 * A partition buffer on several workers learns what it learns on one: the same edges in the same buffer states, losses
 * and rows that differ by rounding, the same metrics; the same number of workers gives the same bytes, also after a
 * kill; and a run resumes with any number of workers, and with one.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig, openRun, type SkeinConfig } from 'skein/train';
import { describe, expect, it } from 'vitest';
import { learned, randomRows, scratch, tinyConfig, writeDataset } from '../train/tiny.js';
import { isWide } from '../wide.js';
import { hasMpi, launch, withoutMpi } from './mpi-launch.js';
import { expectClose, trainAlone, train as trainOn } from './train-runs.js';
import { workerCounts } from './worker-counts.js';

const folder = scratch();
const rows = randomRows(61, 400, 4);
const sets = {
  train: rows.subarray(0, 990),
  validation: rows.subarray(990, 1101),
  test: rows.subarray(1101),
};
const typed = writeDataset(folder(), { numNodes: 61, numRelations: 4, ...sets });
const inBuckets = writeDataset(folder(), { numNodes: 61, numRelations: 4, partitions: 5, ...sets });
const plainRows = randomRows(61, 300, 0);
const plain = writeDataset(folder(), {
  numNodes: 61,
  train: plainRows.subarray(0, 500),
  test: plainRows.subarray(500),
  features: { width: 3, values: Float32Array.from({ length: 61 * 3 }, (_, i) => Math.sin(i)) },
});

const nodesFrom = (first: number, end: number) =>
  Int32Array.from({ length: end - first }, (_, i) => ((first + i) * 17) % 61);
const labelled = writeDataset(folder(), {
  ...{ numNodes: 61, train: plainRows, numClasses: 3 },
  labels: Int32Array.from({ length: 61 }, (_, i) => i % 3),
  nodes: { train: nodesFrom(0, 40), validation: nodesFrom(40, 50), test: nodesFrom(50, 61) },
});

const buffer = (options: object = {}, more: object = {}) => ({
  embeddings: {
    type: 'PARTITION_BUFFER',
    options: { num_partitions: 4, buffer_capacity: 2, ...options },
  },
  ...more,
});

/** 16 rows per partition, in slices of 6, 6 and 4; the last partition has 13. */
const distributed = { partitions: 3 };
const cases: Readonly<Record<string, readonly [dataset: string, more: object]>> = {
  'Adagrad, reading ahead': [typed, { storage: buffer() }],
  'Adam, waiting for every swap, edges in a file': [
    typed,
    {
      model: {
        decoder: { type: 'COMPLEX' },
        sparse_optimizer: { type: 'ADAM', options: { learning_rate: 0.01 } },
      },
      storage: buffer(
        { prefetching: false, edge_bucket_ordering: 'OLD_BETA' },
        { edges: { type: 'FLAT_FILE' } },
      ),
    },
  ],
  'edges in buckets, sampled evaluation': [
    inBuckets,
    {
      storage: buffer({ num_partitions: 5, buffer_capacity: 3 }),
      evaluation: { negative_sampling: { filtered: false, num_chunks: 3, negatives_per_positive: 7 } },
    },
  ],
  'all partitions in memory': [typed, { storage: buffer({ buffer_capacity: 4 }) }],
  'GraphSAGE over embeddings and features': [
    plain,
    {
      model: {
        decoder: { type: 'DOT' },
        encoder: {
          train_neighbor_sampling: [{ type: 'UNIFORM', options: { max_neighbors: 3 } }],
          layers: [
            [
              { type: 'EMBEDDING', output_dim: 5 },
              { type: 'FEATURE', output_dim: 3 },
            ],
            [{ type: 'REDUCTION', input_dim: 8, output_dim: 8, options: { type: 'CONCAT' } }],
            [{ type: 'GNN', options: { type: 'GRAPH_SAGE', aggregator: 'MEAN' }, output_dim: 8, bias: true }],
          ],
        },
      },
      storage: buffer({}, { features: { type: 'FLAT_FILE' } }),
    },
  ],
  'nodes, with embeddings': [
    labelled,
    {
      model: {
        learning_task: 'NODE_CLASSIFICATION',
        encoder: {
          train_neighbor_sampling: [{ type: 'UNIFORM', options: { max_neighbors: 3 } }],
          layers: [
            [{ type: 'EMBEDDING', output_dim: 8 }],
            [{ type: 'GNN', options: { type: 'GRAPH_SAGE', aggregator: 'MEAN' }, output_dim: 3, bias: true }],
          ],
        },
        decoder: { type: 'NODE' },
        loss: { type: 'CROSS_ENTROPY', options: { reduction: 'SUM' } },
      },
      storage: buffer(),
    },
  ],
  'half-precision rows': [typed, { storage: buffer({ dtype: 'float16' }) }],
};
const names = Object.keys(cases);

function config(name: string, directory: string, training: object = {}): SkeinConfig {
  const [dataset, own] = cases[name];
  const made = tinyConfig(dataset, { distributed, ...own });
  return {
    ...made,
    storage: { ...made.storage, model_dir: directory },
    training: { ...made.training, ...training },
  };
}

const train = (workers: number, configs: readonly SkeinConfig[]) =>
  trainOn(workers, configs, `${folder()}.json`);

const numbers = (text: unknown): Float32Array =>
  new Float32Array(Uint8Array.from(Buffer.from(String(text), 'hex')).buffer);

/** Edges trained in each epoch. */
const itemsOf = (directory: string): number[] =>
  readFileSync(join(directory, 'metrics.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
    .filter(({ event }) => event === 'epoch')
    .map(({ items }) => items);

async function evaluated(directory: string): Promise<Readonly<Record<string, number>>> {
  const opened = await openRun(directory);
  if (opened.kind === 'events') throw new Error('a run over a graph was expected');
  try {
    return await opened.task.evaluate('test');
  } finally {
    await opened.close();
  }
}

/** Only files that a checkpoint names: no temporary ones, no spares, no other versions. */
function expectTidy(directory: string, files: number): void {
  const left = readdirSync(join(directory, 'table'));
  expect(left.filter((file) => !/^writable-\d{5}\.v\d+\.bin$/.test(file))).toEqual([]);
  expect(left.length).toBe(files);
}

describe.skipIf(!hasMpi)(`a partition buffer on several workers${withoutMpi}`, () => {
  it.each(workerCounts([2], [3]))(
    'with %i, every case has the losses, rows and metrics of one',
    async (workers) => {
      const one = await trainAlone(names.map((name) => config(name, folder())));
      const many = await train(
        workers,
        names.map((name) => config(name, folder())),
      );
      for (const [i, name] of names.entries()) {
        const half = name.startsWith('half');
        // Half-precision rows turn a rounding into a step of 2⁻¹¹.
        expectClose(many[i].losses, one[i].losses, half ? 5e-3 : 2e-5);
        expect(itemsOf(many[i].directory), name).toEqual(itemsOf(one[i].directory));
        const [metric] = Object.keys(one[i].test);
        expect(Math.abs(many[i].test[metric] - one[i].test[metric]), name).toBeLessThan(0.01);
        if (half) continue;
        const [a, b] = [await learned(many[i].directory), await learned(one[i].directory)];
        const [x, y] = [numbers(a['embeddings']), numbers(b['embeddings'])];
        expect(x.length, name).toBe(y.length);
        const worst = x.reduce((most, value, k) => Math.max(most, Math.abs(value - y[k])), 0);
        expect(worst, name).toBeLessThan(1e-3);
        // One process evaluates it, from the pieces as they are: all nodes were ranked there as here.
        expect((await evaluated(many[i].directory))[metric], name).toBeCloseTo(many[i].test[metric], 6);
      }
    },
    300_000,
  );

  it('gives the same bytes twice and after a kill; another number of workers resumes within rounding', async () => {
    const name = names[0];
    const saves = { checkpoint: { ...config(name, '').training.checkpoint, interval_batches: 13 } };
    const epochs = (n: number, resume = false) => ({ num_epochs: n, resume_training: resume, ...saves });
    const at = (n: number) => Array.from({ length: n }, () => folder());
    const [whole, again, killed, toOne, toThree] = at(5);
    const [w] = await train(2, [
      config(name, whole, epochs(3)),
      config(name, again, epochs(3)),
      ...(isWide ? [toOne, toThree] : [toOne]).map((path) => config(name, path, epochs(1))),
    ]);
    expect(await learned(again)).toEqual(await learned(whole));
    const file = `${folder()}.json`;
    writeFileSync(file, JSON.stringify([config(name, killed, epochs(3))]));
    const { code } = await launch(2, ['train-worker.ts', file, '2']);
    expect(code).not.toBe(0);
    const left = readdirSync(join(killed, 'table')).length;
    const [same] = await train(2, [config(name, killed, epochs(3, true))]);
    expect(same.losses.at(-1)).toBe(w.losses.at(-1));
    expect(await learned(killed)).toEqual(await learned(whole));
    const [one] = await trainAlone([config(name, toOne, epochs(3, true))]);
    expectClose(one.losses, w.losses.slice(1), 1e-4);
    expect(left).toBeGreaterThan(12);
    for (const path of [whole, killed]) expectTidy(path, 12);
    expectTidy(toOne, 4);
    if (!isWide) return;
    const [fromOne] = at(1);
    await trainAlone([config(name, fromOne, epochs(1))]);
    const later = await train(3, [
      config(name, toThree, epochs(3, true)),
      config(name, fromOne, epochs(3, true)),
    ]);
    for (const { losses } of later) expectClose(losses, w.losses.slice(1), 1e-4);
    for (const path of [toThree, fromOne]) expectTidy(path, 12);
  }, 300_000);

  it('under a budget, a run that fitted in memory on two workers resumes through a buffer on one, and back', async () => {
    const numNodes = 4000;
    const large = writeDataset(folder(), { numNodes, train: randomRows(numNodes, 400, 0) });
    // What a process and a batch are counted as, and room for half of the table of 256 kB with its transfers.
    const memory_budget = 208 * 2 ** 20 + 15_360 + 200_000;
    const at = folder();
    const given = (num_epochs: number) =>
      tinyConfig(large, {
        ...{ distributed, model: { decoder: { type: 'DOT' } } },
        storage: { memory_budget, model_dir: at },
        training: { num_epochs, resume_training: num_epochs > 1 },
      });
    const kept = () => loadConfig(join(at, 'full_config.yaml')).config.storage.embeddings.type;
    const [two] = await train(2, [given(1)]);
    expect(kept()).toBe('HOST_MEMORY');
    const [one] = await trainAlone([given(2)]);
    expect(kept()).toBe('PARTITION_BUFFER');
    expect(one.losses[0]).toBeLessThan(two.losses[0]);
    expect(itemsOf(at)).toEqual([400, 400]);
    const [again] = await train(2, [given(3)]);
    expect(kept()).toBe('HOST_MEMORY');
    expect(again.losses[0]).toBeLessThan(one.losses[0]);
  }, 300_000);
});
