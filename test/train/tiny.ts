/** Tiny graphs for the tests of training: in memory, as prepared directories, and whole runs over them. */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PreparedDataset } from 'skein/data';
import { GraphBatcher, GraphModelStorage, type GraphModelStorageParts, initializeModel } from 'skein/marius';
import {
  type BufferedTable,
  loadTensors,
  MemoryEmbeddings,
  MemoryStore,
  type TrainedRows,
} from 'skein/storage';
import { manualSeed } from 'skein/tensor';
import {
  initializeStorage,
  type Model,
  Output,
  type RunResult,
  resolveConfig,
  type SkeinConfig,
  trainRun,
} from 'skein/train';
import { Random } from 'skein/util';
import { afterAll } from 'vitest';
import type { RowUpdate } from '#internal/storage/memory-embeddings.js';
import { TableFiles } from '#internal/storage/table-files.js';
import type { TableManifest } from '#internal/storage/table-manifest.js';
import { initializeBatches } from '#internal/train/tasks/graph/initialize-model.js';
import { type EdgeSplit, MemoryEdges } from '#internal/train/tasks/graph/storage/edge-splits.js';
import type { InitializedStorage } from '#internal/train/tasks/graph/storage/initialize-storage.js';

/** A function that gives a new path in a folder that is removed after the tests. */
export function scratch(): () => string {
  const root = mkdtempSync(join(tmpdir(), 'skein-train-'));
  let count = 0;
  afterAll(() => rmSync(root, { recursive: true, force: true }));
  return () => join(root, `t${count++}`);
}

/** Different edges [source, (relation,) destination], no loops; numbers depend on the seed alone. */
export function randomRows(nodes: number, edges: number, relations: number, seed = 1): Int32Array {
  const random = new Random(seed);
  const rows: number[] = [];
  const seen = new Set<string>();
  while (seen.size < edges) {
    const [src, dst] = [random.nextInt(nodes), random.nextInt(nodes)];
    const row = relations > 0 ? [src, random.nextInt(relations), dst] : [src, dst];
    if (src === dst || seen.has(row.join())) continue;
    seen.add(row.join());
    rows.push(...row);
  }
  return Int32Array.from(rows);
}

/** Every node i has edges of relation r to i + r + 1: what any decoder of enough width can learn by heart. */
export function ringRows(nodes: number, relations: number): Int32Array {
  const rows: number[] = [];
  for (let i = 0; i < nodes; i++)
    for (let r = 0; r < Math.max(1, relations); r++)
      rows.push(...(relations > 0 ? [i, r, (i + r + 1) % nodes] : [i, (i + 1) % nodes]));
  return Int32Array.from(rows);
}

/** Edges as text, for sets. */
export function edgeKeys(src: Int32Array, relations: Int32Array | null, dst: Int32Array): string[] {
  return [...src].map((s, i) => `${s}-${relations?.[i] ?? 0}-${dst[i]}`);
}

export interface MemoryOptions {
  readonly numNodes: number;
  readonly numRelations?: number;
  readonly train: Int32Array;
  readonly width?: number;
  readonly features?: number;
  readonly update?: RowUpdate;
  readonly more?: Partial<GraphModelStorageParts>;
  readonly validation?: Int32Array;
  readonly test?: Int32Array;
}

/** A storage in memory; element j of row i of the embeddings is (i + j / 10) / 100. */
export function memoryStorage(options: MemoryOptions): GraphModelStorage {
  const { numNodes, numRelations = 0, width = 4, features = 0 } = options;
  const columns = numRelations > 0 ? 3 : 2;
  const table = (w: number) => Float32Array.from({ length: numNodes * w }, (_, i) => rowValue(i, w));
  const sgd: RowUpdate = (values, ids, gradient) => {
    for (const [i, id] of ids.entries())
      for (let j = 0; j < width; j++) values[id * width + j] -= 0.1 * gradient[i * width + j];
  };
  const edges: Partial<Record<'train' | 'validation' | 'test', EdgeSplit>> = {
    train: new MemoryEdges(options.train, columns),
  };
  if (options.validation) edges.validation = new MemoryEdges(options.validation, columns);
  if (options.test) edges.test = new MemoryEdges(options.test, columns);
  return new GraphModelStorage({
    numNodes,
    numRelations,
    edges,
    embeddings: width === 0 ? null : new MemoryEmbeddings(table(width), width, options.update ?? sgd),
    features: features === 0 ? null : new MemoryStore(table(features), { rows: numNodes, width: features }),
    ...options.more,
  });
}

const rowValue = (i: number, width: number): number => (Math.floor(i / width) + (i % width) / 10) / 100;

export interface DatasetOptions {
  readonly numNodes: number;
  readonly numRelations?: number;
  readonly train: Int32Array;
  readonly validation?: Int32Array;
  readonly test?: Int32Array;
  /** 1 by default. */
  readonly partitions?: number;
  readonly features?: { readonly width: number; readonly values: Float32Array };
  readonly labels?: Int32Array;
  readonly numClasses?: number;
  readonly nodes?: { readonly train: Int32Array; readonly validation: Int32Array; readonly test: Int32Array };
}

/** Writes a directory as Marius's preprocessing leaves it. */
export function writeDataset(folder: string, options: DatasetOptions): string {
  const { numNodes, numRelations = 0, train, validation, test, partitions = 1, nodes } = options;
  const columns = numRelations > 0 ? 3 : 2;
  mkdirSync(join(folder, 'edges'), { recursive: true });
  mkdirSync(join(folder, 'nodes'));
  const put = (name: string, data: Int32Array | Float32Array) =>
    writeFileSync(join(folder, name), new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
  const size = Math.ceil(numNodes / partitions);
  const bucket = (row: readonly number[]) =>
    Math.floor(row[0] / size) * partitions + Math.floor(row[columns - 1] / size);
  const rows = Array.from({ length: train.length / columns }, (_, i) => [
    ...train.subarray(i * columns, (i + 1) * columns),
  ]);
  if (partitions > 1) {
    rows.sort((a, b) => bucket(a) - bucket(b));
    const sizes = new Array<number>(partitions * partitions).fill(0);
    for (const row of rows) sizes[bucket(row)]++;
    writeFileSync(join(folder, 'edges/train_partition_offsets.txt'), `${sizes.join('\n')}\n`);
  }
  put('edges/train_edges.bin', Int32Array.from(rows.flat()));
  if (validation) put('edges/validation_edges.bin', validation);
  if (test) put('edges/test_edges.bin', test);
  if (options.features) put('nodes/features.bin', options.features.values);
  if (options.labels) put('nodes/labels.bin', options.labels);
  for (const [name, ids] of Object.entries(nodes ?? {})) put(`nodes/${name}_nodes.bin`, ids);
  const count = (given: Int32Array | undefined) => (given ? given.length / columns : 0);
  const stats = {
    dataset_dir: folder,
    num_edges: count(train),
    num_nodes: numNodes,
    num_relations: Math.max(1, numRelations),
    num_train: nodes?.train.length ?? count(train),
    num_valid: nodes?.validation.length ?? count(validation),
    num_test: nodes?.test.length ?? count(test),
    node_feature_dim: options.features?.width ?? -1,
    num_classes: options.numClasses ?? -1,
  };
  const lines = Object.entries(stats).map(([key, value]) => `${key}: ${value}\n`);
  writeFileSync(join(folder, 'dataset.yaml'), lines.join(''));
  return folder;
}

type Tree = { readonly [key: string]: unknown };

const merged = (a: Tree, b: Tree): Tree => {
  const isTree = (x: unknown): x is Tree => typeof x === 'object' && x !== null && !Array.isArray(x);
  const entries = Object.entries(b).map(([key, value]) => {
    const before = a[key];
    return [key, isTree(before) && isTree(value) ? merged(before, value) : value];
  });
  return { ...a, ...Object.fromEntries(entries) };
};

/** DistMult of width 8 on a dataset, small batches, two epochs; `more` is laid over it. */
export function tinyConfig(datasetDir: string, more: object = {}): SkeinConfig {
  const base = {
    model: {
      random_seed: 5,
      learning_task: 'LINK_PREDICTION',
      encoder: { layers: [[{ type: 'EMBEDDING', output_dim: 8 }]] },
      decoder: { type: 'DISTMULT' },
      loss: { type: 'SOFTMAX_CE', options: { reduction: 'SUM' } },
    },
    storage: { dataset: { dataset_dir: datasetDir } },
    training: {
      batch_size: 20,
      num_epochs: 2,
      negative_sampling: { num_chunks: 2, negatives_per_positive: 10, degree_fraction: 0.5 },
    },
    evaluation: { batch_size: 20, negative_sampling: { filtered: true } },
  };
  return resolveConfig(merged(base, more as Tree)).config;
}

/** The storage, model and batches of a run, to be trained step by step; the table's files go to `folder`. */
export interface Parts extends Pick<InitializedStorage, 'storage'> {
  /** The resident rows; not a node table where there are features alone. */
  readonly table: BufferedTable;
  /** The trained rows of a run with embeddings. */
  readonly embeddings: TrainedRows;
  readonly model: Model;
  readonly batcher: GraphBatcher;
}

export async function setUp(config: SkeinConfig, folder: string): Promise<Parts> {
  const dataset = await PreparedDataset.open(config.storage.dataset.dataset_dir);
  const stored = await initializeStorage(config, dataset, { tableDirectory: folder });
  manualSeed(config.model.random_seed);
  const { numRelations } = stored.storage;
  const numClasses = Math.max(0, dataset.stats.num_classes);
  const model = initializeModel(config, { numRelations, numClasses });
  const table = stored.storage.residency as BufferedTable;
  const embeddings = stored.storage.embeddings as TrainedRows;
  return {
    ...stored,
    table,
    embeddings,
    model,
    batcher: new GraphBatcher(initializeBatches(config, stored.storage)),
  };
}

/** Every trained number as text, bit for bit: rows of nodes and dense parameters. */
export async function numbersOf({ storage, model }: Pick<Parts, 'storage' | 'model'>): Promise<string> {
  const rows = (await storage.embeddings?.range(0, storage.numNodes)) ?? new Float32Array(0);
  const dense = Object.entries(model.stateDict()).map(([key, t]) => `${key} ${hex(t.dataSync().slice())}`);
  return [hex(rows), ...dense].join('\n');
}

export interface RunEvent {
  readonly event: string;
  readonly [key: string]: unknown;
}

export interface FinishedRun extends RunResult {
  readonly events: readonly RunEvent[];
  /** Loss an edge or node, by epoch. */
  readonly losses: readonly number[];
}

/** Trains without printing. `onEvent` sees each event as it happens and may throw to cut the run off. */
export async function run(config: SkeinConfig, onEvent: (event: RunEvent) => void = () => undefined) {
  const events: RunEvent[] = [];
  const stdout = {
    write: (text: string) => {
      const event = JSON.parse(text) as RunEvent;
      events.push(event);
      onEvent(event);
    },
  };
  const output = new Output({ json: true, stdout, stderr: { write: () => undefined } });
  const result = await trainRun({ config, output });
  const losses = events.filter(({ event }) => event === 'epoch').map(({ loss }) => loss as number);
  return { ...result, events, losses };
}

/** Reads the contents of a checkpoint (a run's final state by default) without the versions of files: equal in equal runs. */
export async function learned(directory: string, name = ''): Promise<Record<string, unknown>> {
  const { tensors, metadata } = await loadTensors(join(directory, name, 'model.safetensors'));
  const { extra } = JSON.parse(metadata['skein.checkpoint']) as {
    extra: { readonly state: { readonly table: TableManifest | null } };
  };
  const { table, ...state } = extra.state;
  const found: Record<string, unknown> = { ...extra, state };
  for (const [key, t] of Object.entries(tensors)) found[key] = hex(new Float32Array(t.array as Float32Array));
  if (table === null) return found;
  const files = await TableFiles.open(join(directory, 'table'), table);
  for (let k = 0; k < files.layout.partitions; k++) {
    const rows = files.layout.rowsOf(k);
    const views = files.columns.map((c) => new Uint8Array(rows * c.width * (c.dtype === 'f32' ? 4 : 2)));
    await files.readPartition(k, views);
    for (const [i, view] of views.entries()) {
      const column = files.columns[i].name;
      found[column] = `${found[column] ?? ''}${Buffer.from(view).toString('hex')}`;
    }
  }
  return found;
}

function hex(values: ArrayBufferView): string {
  return Buffer.from(values.buffer, values.byteOffset, values.byteLength).toString('hex');
}
