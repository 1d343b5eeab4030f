/**
 * Runs whose features and training edges are sharded over workers: the bits of replicated data for every kind of batch,
 * and the losses of one worker up to rounding; they resume with another number of workers, and one process opens the
 * results.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openRun, type SkeinConfig } from 'skein/train';
import { describe, expect, it } from 'vitest';
import { learned, randomRows, scratch, tinyConfig, writeDataset } from '../train/tiny.js';
import { isWide } from '../wide.js';
import { hasMpi, withoutMpi } from './mpi-launch.js';
import { expectClose, type Told, trainAlone, train as trainOn } from './train-runs.js';
import { workerCounts } from './worker-counts.js';

const folder = scratch();
const numNodes = 61;
const width = 3;
const features = { width, values: Float32Array.from({ length: numNodes * width }, (_, i) => Math.sin(i)) };
const some = (from: number, to: number) =>
  Int32Array.from({ length: to - from }, (_, i) => ((from + i) * 7) % numNodes);
const nodeData = {
  ...{ numNodes, features, numClasses: 4, labels: Int32Array.from({ length: numNodes }, (_, v) => v % 4) },
  nodes: { train: some(0, 35), validation: some(35, 48), test: some(48, 61) },
};
const plainNodes = writeDataset(folder(), { ...nodeData, train: randomRows(numNodes, 400, 0) });
const typedNodes = writeDataset(folder(), {
  ...{ ...nodeData, numRelations: 3 },
  train: randomRows(numNodes, 400, 3),
});
const weighedNodes = writeDataset(folder(), { ...nodeData, train: randomRows(numNodes, 400, 0) });
writeFileSync(
  join(weighedNodes, 'edges/train_edges_weights.bin'),
  new Uint8Array(Float32Array.from({ length: 400 }, (_, i) => 0.2 + (i % 7) / 3).buffer),
);
const pairs = randomRows(numNodes, 400, 0);
const links = writeDataset(folder(), {
  ...{ numNodes, features, train: pairs.subarray(0, 660) },
  ...{ validation: pairs.subarray(660, 730), test: pairs.subarray(730) },
});
const triples = randomRows(numNodes, 400, 4);
const typed = writeDataset(folder(), {
  ...{ numNodes, numRelations: 4, features, train: triples.subarray(0, 990) },
  ...{ validation: triples.subarray(990, 1101), test: triples.subarray(1101) },
});

const feature = { type: 'FEATURE', output_dim: width };
const embedding = { type: 'EMBEDDING', output_dim: 5 };
const gnn = (options: object, output_dim: number) => [{ type: 'GNN', options, output_dim, bias: true }];
const sage = { type: 'GRAPH_SAGE', aggregator: 'MEAN' };
const uniform = (...most: number[]) => ({
  train_neighbor_sampling: most.map((max_neighbors) => ({ type: 'UNIFORM', options: { max_neighbors } })),
});
const everyone = (hops: number) => Array.from({ length: hops }, () => ({ type: 'ALL' }));
/** For comparisons to the last digits: Adam makes full steps of gradients that are nothing but rounding. */
const sgd = (learning_rate: number) => ({ type: 'SGD', options: { learning_rate } });

const nodesOf = (encoder: object) => ({
  model: {
    ...{
      learning_task: 'NODE_CLASSIFICATION',
      encoder,
      decoder: { type: 'NODE' },
      dense_optimizer: sgd(0.1),
    },
    loss: { type: 'CROSS_ENTROPY', options: { reduction: 'MEAN' } },
  },
});
const linksOf = (encoder: object, decoder: string) => ({
  model: { encoder, decoder: { type: decoder }, dense_optimizer: sgd(0.001) },
});

/** Every component of a sample that may be on another worker has a case. */
const cases: Readonly<Record<string, readonly [dataset: string, more: object]>> = {
  'SAGE of three hops over features': [
    plainNodes,
    nodesOf({
      layers: [[feature], gnn(sage, 6), gnn(sage, 5), gnn(sage, 4)],
      ...uniform(3, 2, 1),
      use_outgoing_nbrs: false,
    }),
  ],
  'GCN with weights and degrees, both directions, dropout of edges, evaluated with all': [
    weighedNodes,
    nodesOf({
      layers: [[feature], gnn({ type: 'GCN' }, 4)],
      train_neighbor_sampling: [{ type: 'DROPOUT', options: { rate: 0.4 } }],
      eval_neighbor_sampling: everyone(1),
    }),
  ],
  'RGCN, relations in both directions, embeddings with features': [
    typedNodes,
    nodesOf({
      layers: [
        [embedding, feature],
        [{ type: 'REDUCTION', input_dim: 8, output_dim: 6, options: { type: 'LINEAR' } }],
        gnn({ type: 'RGCN' }, 4),
      ],
      ...uniform(4),
    }),
  ],
  'links, SAGE over features alone, targets hidden': [
    links,
    linksOf({ layers: [[feature], gnn(sage, 6), gnn(sage, 6)], ...uniform(3, 3) }, 'DOT'),
  ],
  'triples, GAT with dropout over embeddings, batches smaller than the workers': [
    typed,
    {
      ...linksOf(
        {
          layers: [[embedding], gnn({ type: 'GAT', num_heads: 2, attention_dropout: 0.3 }, 6)],
          ...uniform(3),
        },
        'DISTMULT',
      ),
      training: { batch_size: 2, num_epochs: 1 },
    },
  ],
  'triples, no encoder, trained by buckets': [typed, { training: { bucket_partitions: 5 } }],
};
const names = Object.keys(cases);

type Kept = 'spread' | 'replicated';

function config(name: string, kept: Kept, directory: string, training: object = {}): SkeinConfig {
  const [dataset, own] = cases[name];
  const made = tinyConfig(dataset, { ...own, distributed: { features: kept, edges: kept } });
  return {
    ...made,
    storage: { ...made.storage, model_dir: directory },
    training: { ...made.training, ...training },
  };
}

const train = (workers: number, configs: readonly SkeinConfig[]) =>
  trainOn(workers, configs, `${folder()}.json`);
const outcome = ({ losses, test, validation }: Told) => ({ losses, test, validation });

describe.skipIf(!hasMpi)(`sharded over workers${withoutMpi}`, () => {
  it.each(workerCounts([2], [3, 4]))(
    'with %i, every case has the bits of copies and the losses of one',
    async (workers) => {
      const at = (kept: Kept) => names.map((name) => config(name, kept, folder()));
      const one = await trainAlone(at('spread'));
      const repeated = at('spread').slice(0, isWide ? names.length : 1);
      const all = await train(workers, [...at('replicated'), ...at('spread'), ...repeated]);
      for (const [i, name] of names.entries()) {
        const [copied, spread] = [all[i], all[names.length + i]];
        const again = all.at(2 * names.length + i);
        expect(outcome(spread), name).toEqual(outcome(copied));
        const found = await learned(spread.directory);
        expect(found, name).toEqual(await learned(copied.directory));
        if (again !== undefined) expect(await learned(again.directory), name).toEqual(found);
        expectClose(spread.losses, one[i].losses, 2e-5);
        for (const [metric, value] of Object.entries(one[i].test))
          expect(Math.abs(spread.test[metric] - value), `${name}: ${metric}`).toBeLessThan(0.01);
      }
    },
    300_000,
  );

  it('resumes with another number of workers, and one process evaluates and resumes what is left', async () => {
    const name = names[3];
    const [whole, cut] = [folder(), folder()];
    const epochs = (n: number, resume = false) => ({ num_epochs: n, resume_training: resume });
    const [w] = await train(2, [
      config(name, 'spread', whole, epochs(3)),
      config(name, 'spread', cut, epochs(1)),
    ]);
    const [three] = await train(3, [config(name, 'spread', cut, epochs(2, true))]);
    expectClose(three.losses, w.losses.slice(1, 2), 1e-4);
    const [alone] = await trainAlone([config(name, 'spread', cut, epochs(3, true))]);
    expectClose(alone.losses, w.losses.slice(2), 1e-4);
    const opened = await openRun(whole);
    if (opened.kind !== 'links') throw new Error('expected a run of links');
    const test = await opened.task.evaluate('test');
    await opened.close();
    for (const [metric, value] of Object.entries(w.test))
      expect(Math.abs(test[metric] - value)).toBeLessThan(1e-6);
  }, 300_000);
});
