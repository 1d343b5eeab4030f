/**
 * Trained embeddings on the whole graph, distributed over workers: losses, metrics and rows of one process for every
 * number of workers and every mode of fetching rows, in the files that other runs have.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { partitionData, partitionGraph } from 'skein/dist';
import { Graph } from 'skein/graph';
import { openModel } from 'skein/predict';
import { openRun, resolveConfig, type SkeinConfig } from 'skein/train';
import { describe, expect, it } from 'vitest';
import { renderConfig } from '#internal/train/config/config-file.js';
import { RunDirectory } from '#internal/train/run/run-directory.js';
import { openRunTables } from '#internal/train/tasks/graph/run-tables.js';
import { learned, randomRows, run, scratch, writeDataset } from '../train/tiny.js';
import { wide } from '../wide.js';
import { writeDglPartitions } from './dgl-writer.js';
import { launch as launchFile } from './launch.js';
import { hasMpi, withoutMpi } from './mpi-launch.js';
import { expectClose, type Told, trainAlone, train as trainOn } from './train-runs.js';
import { workerCounts } from './worker-counts.js';

const folder = scratch();
const numNodes = 91;
const range = (from: number, to: number) => Int32Array.from({ length: to - from }, (_, i) => from + i);
const edges = randomRows(84, 300, 0);
const nodeData = {
  numNodes,
  numClasses: 3,
  labels: Int32Array.from({ length: numNodes }, (_, i) => (i * 7) % 3),
  nodes: { train: range(4, 16), validation: range(20, 50), test: range(50, 91) },
  // Nodes 84 … 90 have no edges.
  train: edges,
};
const bare = writeDataset(folder(), nodeData);
const featured = writeDataset(folder(), {
  ...nodeData,
  features: { width: 6, values: Float32Array.from({ length: numNodes * 6 }, (_, i) => Math.sin(i * 1.7)) },
});

const embedding = (output_dim: number, more: object = {}) => ({ type: 'EMBEDDING', output_dim, ...more });
const gnn = (options: object, output_dim: number, more: object = {}) => ({
  ...{ type: 'GNN', options, output_dim, bias: true, activation: output_dim === 3 ? 'NONE' : 'RELU' },
  ...more,
});
const gcn = { type: 'GCN' };
const gat = {
  ...{ type: 'GAT', num_heads: 2, average_heads: true },
  ...{ input_dropout: 0.2, attention_dropout: 0.3 },
};
const join2 = { type: 'REDUCTION', options: { type: 'CONCAT' }, output_dim: 10 };

interface Case {
  readonly dataset?: string;
  readonly layers: readonly (readonly object[])[];
  readonly distributed?: object;
  readonly model?: object;
  readonly storage?: object;
}

const plain = [[embedding(5)], [gnn(gcn, 8)], [gnn(gcn, 3)]];
const dropping = [[embedding(5, { dropout: 0.2 })], [gnn(gat, 8, { dropout: 0.3 })], [gnn(gat, 3)]];
const both = [[embedding(4), { type: 'FEATURE', output_dim: 6 }], [join2], [gnn(gcn, 8)], [gnn(gcn, 3)]];
// Embeddings that join after the first hop: rows of its targets.
const late = [
  [{ type: 'FEATURE', output_dim: 6 }],
  [gnn(gcn, 7), embedding(3, { bias: true })],
  [join2],
  [gnn(gcn, 3)],
];
/** SGD in all but one: Adam makes full steps of gradients that are nothing but rounding. */
const cases: Readonly<Record<string, Case>> = {
  'GCN, sar': { layers: plain },
  'GCN, sa, adagrad rows': {
    layers: plain,
    distributed: { mode: 'sa' },
    model: { sparse_optimizer: { type: 'ADAGRAD', options: { learning_rate: 0.1 } } },
  },
  'GCN, one shot, random cut': {
    layers: plain,
    distributed: { mode: 'one_shot', partition_algorithm: 'random' },
  },
  'GCN on message-flow graphs': { layers: plain, distributed: { use_mfgs: true } },
  'GAT with dropout, sar': { layers: dropping },
  'GAT with dropout, sa': { layers: dropping, distributed: { mode: 'sa' } },
  'GAT with dropout, one shot': { layers: dropping, distributed: { mode: 'one_shot' } },
  'GAT with dropout on message-flow graphs': { layers: dropping, distributed: { use_mfgs: true } },
  'with features, which are fetched once without effect': {
    dataset: featured,
    layers: both,
    distributed: { cache_inputs: true },
  },
  'after the first hop': { dataset: featured, layers: late },
  'after the first hop, on message-flow graphs': {
    dataset: featured,
    layers: late,
    distributed: { use_mfgs: true, mode: 'one_shot', cache_inputs: true },
  },
  'features of the dataset that no layer reads': { dataset: featured, layers: plain },
  'rows of half precision': {
    layers: plain,
    storage: { embeddings: { type: 'HOST_MEMORY', options: { dtype: 'bfloat16' } } },
  },
};
const names = Object.keys(cases);
const sgd = (learning_rate: number) => ({ type: 'SGD', options: { learning_rate } });

function config(name: string, more: { workers?: boolean; training?: object; dir?: string } = {}) {
  const { dataset = bare, layers, distributed, model, storage } = cases[name];
  return resolveConfig({
    model: {
      random_seed: 3,
      learning_task: 'NODE_CLASSIFICATION',
      encoder: { layers },
      decoder: { type: 'NODE' },
      loss: { type: 'CROSS_ENTROPY', options: { reduction: 'MEAN' } },
      dense_optimizer: sgd(0.5),
      sparse_optimizer: sgd(2),
      ...model,
    },
    storage: { dataset: { dataset_dir: dataset }, model_dir: more.dir ?? folder(), ...storage },
    training: { num_epochs: 4, full_batch: true, save_model: true, ...more.training },
    ...(more.workers === false ? {} : { distributed: { partitions: 8, ...distributed } }),
  }).config;
}

const train = (workers: number, configs: readonly SkeinConfig[]): Promise<Told[]> =>
  workers === 1 ? trainAlone(configs) : trainOn(workers, configs, `${folder()}.json`);

/** Rows of a run's final table, by the nodes of the dataset. */
async function rowsOf(directory: string): Promise<number[]> {
  const { embeddings, 'embeddings.sum': sum = '' } = (await learned(directory)) as Record<string, string>;
  return [embeddings, sum].flatMap((hex) => [
    ...new Float32Array(Uint8Array.from(Buffer.from(hex, 'hex')).buffer),
  ]);
}

const largestDifference = (a: readonly number[], b: readonly number[]): number =>
  Math.max(...a.map((x, i) => Math.abs(x - b[i])));

describe.skipIf(!hasMpi)(`trained embeddings of the whole graph on several workers${withoutMpi}`, () => {
  it.each(workerCounts([3], [1, 2, 4]))(
    'with %i, every case has the losses, metrics and rows of one process',
    async (workers) => {
      const one = await trainAlone(names.map((name) => config(name, { workers: false })));
      const many = await train(
        workers,
        names.map((name) => config(name)),
      );
      for (const [i, name] of names.entries()) {
        const half = name === 'rows of half precision';
        expect(one[i].losses.length, name).toBe(4);
        // Rows rounded to 8 bits may be rounded to the value next to that of one process.
        expectClose(many[i].losses, one[i].losses, half ? 1e-3 : 2e-6);
        if (!name.includes('dropout')) expect(one[i].losses[3], name).toBeLessThan(one[i].losses[0] - 0.005);
        if (half) continue;
        expect(many[i].test, name).toEqual(one[i].test);
        const [rows, expected] = [await rowsOf(many[i].directory), await rowsOf(one[i].directory)];
        expect(rows.length).toBe(expected.length);
        expect(largestDifference(rows, expected), name).toBeLessThan(1e-5);
      }
    },
    300_000,
  );

  it('is an ordinary run: evaluated, queried and read in one process', async () => {
    const [name] = names;
    const [told] = await train(3, [config(name, { training: { num_epochs: 5 } })]);
    const opened = await openRun(told.directory);
    if (opened.kind !== 'nodes') throw new Error('expected a model of nodes');
    expect(await opened.task.evaluate('test')).toEqual(told.test);
    expect(await opened.task.evaluate('validation')).toEqual(told.validation);
    await opened.close();
    const [table] = await openRunTables(told.directory);
    const rows = [...(await table.rows.read(0, numNodes))];
    expect(rows).toEqual(await rowsOf(told.directory));
    const model = await openModel(told.directory);
    const [answer] = await model.classify(['4']);
    expect(answer).toBeDefined();
    await model.close();
  }, 120_000);

  it('resumes: the same number to the same bytes, any other number and one process within rounding', async () => {
    const epochs = (num_epochs: number, dir?: string) => ({
      ...(dir === undefined ? {} : { dir }),
      training: { num_epochs, resume_training: dir !== undefined },
    });
    const [, name] = names;
    const cut = Array.from({ length: 3 }, () => config(name, epochs(2)));
    const [whole] = await train(2, [config(name, epochs(5)), ...cut]);
    const paths = cut.map(({ storage }) => storage.model_dir as string);
    const [same] = await train(2, [config(name, epochs(5, paths[0]))]);
    expect(same.losses).toEqual(whole.losses.slice(2));
    expect(await learned(paths[0])).toEqual(await learned(whole.directory));
    const [four] = await train(4, [config(name, epochs(5, paths[1]))]);
    expectClose(four.losses, whole.losses.slice(2), 2e-6);
    const alone = await run(config(name, { ...epochs(5, paths[2]), workers: false }));
    expectClose(alone.losses, whole.losses.slice(2), 2e-6);
  }, 300_000);

  it.each(wide([], [60]))(
    'resumes after the death of a rank to the bytes of the run that was left alone, %i epochs',
    async (num_epochs) => {
      const training = { num_epochs, checkpoint: { interval: 2 } };
      const given = (resume_training: boolean, dir: string) =>
        config(names[1], { dir, training: { ...training, resume_training } });
      const [whole, cut] = [folder(), folder()];
      await train(2, [given(false, whole)]);
      const file = `${cut}.yaml`;
      writeFileSync(file, renderConfig(given(false, cut)));
      let killed = false;
      const { code, err } = await launchFile(2, 'src/cli/main.ts', ['train', file, '--json'], {
        limit: 100,
        onOutput(out, { pid }) {
          if (killed || pid === undefined || (out.match(/"event":"checkpoint"/g)?.length ?? 0) < 6) return;
          killed = true;
          const ranks = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
          process.kill(Number(ranks[1]), 'SIGKILL');
        },
      });
      expect(code).not.toBe(0);
      expect(err).toMatch(/rank \d.* is gone/);
      expect(RunDirectory.isFinished(cut)).toBe(false);
      await train(2, [given(true, cut)]);
      expect(await learned(cut)).toEqual(await learned(whole));
    },
    300_000,
  );

  it('resumes from the table of one process, which has one partition', async () => {
    const [, name] = names;
    const started = await run(config(name, { workers: false, training: { num_epochs: 2 } }));
    const whole = await run(config(name, { workers: false, training: { num_epochs: 4 } }));
    const more = { dir: started.directory, training: { num_epochs: 4, resume_training: true } };
    const [told] = await train(3, [config(name, more)]);
    expectClose(told.losses, whole.losses.slice(2), 2e-6);
  }, 120_000);

  it('keeps the best rows, and goes back to them', async () => {
    const training = { num_epochs: 6, early_stopping: { metric: 'accuracy', patience: 50 } };
    const given = (workers: boolean) => config(names[0], { workers, training });
    const one = await run(given(false));
    const [told] = await train(2, [given(true)]);
    expect(told.test).toEqual(one.test);
    const kept = ['', 'best'].filter((part) => existsSync(join(told.directory, part, 'model.safetensors')));
    expect(kept).toContain('best');
    const rows = await learned(told.directory, 'best');
    expect(rows['embeddings']).toHaveLength(numNodes * 5 * 8);
  }, 120_000);
});

describe('trained embeddings of a graph that one worker holds as shards', () => {
  it('resumes after a crash to the same bytes', async () => {
    const [, name] = names;
    const training = { num_epochs: 5, checkpoint: { interval: 1 } };
    const whole = await run(config(name, { training }));
    const crashing = config(name, { training });
    const crash = run(crashing, ({ event, epoch }) => {
      if (event === 'epoch' && epoch === 4) throw new Error('the lights went out');
    });
    await expect(crash).rejects.toThrow('the lights went out');
    const dir = crashing.storage.model_dir as string;
    await run(config(name, { dir, training: { ...training, resume_training: true } }));
    expect(await learned(dir)).toEqual(await learned(whole.directory));
  });

  it('starts from rows that depend on seed and node alone', async () => {
    // Rates of 0: rows stay as they were made.
    const still = { type: 'SGD', options: { learning_rate: 1e-30 } };
    const rows = async (workers: boolean, seed: number): Promise<unknown> => {
      const given = config(names[0], { workers, training: { num_epochs: 1 } });
      const model = { ...given.model, random_seed: seed, sparse_optimizer: still } as SkeinConfig['model'];
      const { directory } = await run({ ...given, model });
      return (await learned(directory))['embeddings'];
    };
    expect(await rows(true, 3)).toBe(await rows(false, 3));
    expect(await rows(true, 4)).not.toBe(await rows(true, 3));
  });

  it('reports the memory of a step, including rows', async () => {
    const planned = async (width: number): Promise<number> => {
      const layers = [[embedding(width)], [gnn(gcn, 3)]];
      const given = config(names[0], { training: { num_epochs: 1 } });
      const { events } = await run(
        resolveConfig({ ...given, model: { ...given.model, encoder: { layers } } } as never).config,
      );
      return events.find(({ event }) => event === 'plan')?.['peak_tensor_mb'] as number;
    };
    const more = (await planned(520)) - (await planned(8));
    // Rows and their gradient at least.
    expect(more * 2 ** 20).toBeGreaterThan(2 * numNodes * 512 * 4);
  });

  it('rejects what it cannot do, and creates nothing', async () => {
    const given = config(names[0]);
    const refused = (more: object) => run({ ...given, ...more } as SkeinConfig);
    const buffer = { type: 'PARTITION_BUFFER', options: { num_partitions: 4, buffer_capacity: 2 } };
    await expect(refused({ storage: { ...given.storage, embeddings: buffer } })).rejects.toThrow(
      /storage\.embeddings\.type: expected HOST_MEMORY, got PARTITION_BUFFER\. .*more workers, or full_batch: false\.$/,
    );
    await expect(
      refused({ model: { ...given.model, regularizer: { type: 'NORM', options: {} } } }),
    ).rejects.toThrow(/model\.regularizer\.type: expected NONE, got NORM\. .*weight_decay/);
    const dense = { ...given.model.encoder, layers: [[embedding(5)], [{ type: 'DENSE', output_dim: 3 }]] };
    await expect(refused({ model: { ...given.model, encoder: dense } })).rejects.toThrow(
      'model.encoder.layers: expected a GNN layer, got none',
    );
    const dir = folder();
    const graph = Graph.fromEdges(...bothWays(), { numNodes });
    writeDglPartitions(dir, partitionData(graph, partitionGraph(graph, { parts: 2 })));
    await expect(refused({ distributed: { ...given.distributed, partition_dir: dir } })).rejects.toThrow(
      "expected partitions with the dataset's node ids",
    );
    expect(existsSync(given.storage.model_dir as string)).toBe(false);
  });
});

function bothWays(): [Int32Array, Int32Array] {
  const src = edges.filter((_, i) => i % 2 === 0);
  const dst = edges.filter((_, i) => i % 2 === 1);
  return [Int32Array.of(...src, ...dst), Int32Array.of(...dst, ...src)];
}
