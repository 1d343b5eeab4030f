/** Small datasets and a run of every kind over them, and what a run has come to: its metrics and every number that it learned. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { preprocess } from 'skein/data';
import { loadTensors } from 'skein/storage';
import { Random } from 'skein/util';
import { TableFiles } from '#internal/storage/table-files.js';
import type { TableManifest } from '#internal/storage/table-manifest.js';
import { jodieText, modelFiles } from '../train/temporal-files.js';

export const kinds = ['links-memory', 'links-buffer', 'nodes-sampled', 'nodes-whole', 'events-tgn'] as const;
export type Kind = (typeof kinds)[number];

/** Size of the datasets: `tiny` for thousands of tries, `short` for runs that last long enough to be killed. */
export type Size = 'tiny' | 'short';

const sizes = {
  tiny: { nodes: 40, edges: 240, events: 160, epochs: { links: 2, nodes: 2, whole: 2, events: 2 } },
  short: { nodes: 400, edges: 4000, events: 1500, epochs: { links: 12, nodes: 20, whole: 400, events: 12 } },
} as const;

/** Writes the input files and prepares them: `links`, `nodes` and `events.csv` in `folder`. */
export async function writeData(folder: string, size: Size, seed = 1): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const { nodes, edges, events } = sizes[size];
  const random = new Random(seed);
  const pair = (): string => `n${random.nextInt(nodes)}\tr${random.nextInt(4)}\tn${random.nextInt(nodes)}`;
  const facts = [...new Set(Array.from({ length: edges }, pair))];
  writeFileSync(join(folder, 'facts.tsv'), `${facts.join('\n')}\n`);
  const links = facts.map((fact) => fact.split('\t')).map(([a, , b]) => `${a},${b}`);
  writeFileSync(join(folder, 'links.csv'), `source,target\n${links.join('\n')}\n`);
  const row = (i: number): string => `n${i},${i % 7},${random.nextInt(50)},${['a', 'b', 'c'][i % 3]}`;
  const table = Array.from({ length: nodes }, (_, i) => row(i));
  writeFileSync(join(folder, 'nodes.csv'), `id,age,size,kind\n${table.join('\n')}\n`);
  writeFileSync(join(folder, 'events.csv'), jodieText(events, { seed }));
  const common = { inProcess: true, seed } as const;
  const split = [0.8, 0.1, 0.1];
  await preprocess({
    ...common,
    ...{ edges: join(folder, 'facts.tsv'), outputDir: join(folder, 'links'), header: false },
    ...{ split, partitions: 4, partitionedEval: true },
  });
  await preprocess({
    ...common,
    ...{ edges: join(folder, 'links.csv'), outputDir: join(folder, 'nodes') },
    ...{ nodeTable: join(folder, 'nodes.csv'), labelColumn: 'kind' },
  });
}

const gnn = (type: object, output_dim: number) => [{ type: 'GNN', options: type, output_dim, bias: true }];
const sage = { type: 'GRAPH_SAGE', aggregator: 'MEAN' };
const buffer = { type: 'PARTITION_BUFFER', options: { num_partitions: 4, buffer_capacity: 2 } };

function linkConfig(embeddings: object, num_epochs: number): object {
  return {
    model: {
      learning_task: 'LINK_PREDICTION',
      encoder: { layers: [[{ type: 'EMBEDDING', output_dim: 8 }]] },
      decoder: { type: 'DISTMULT' },
      loss: { type: 'SOFTMAX_CE', options: { reduction: 'SUM' } },
    },
    storage: { dataset: { dataset_dir: 'links' }, ...embeddings },
    training: {
      ...{ batch_size: 40, num_epochs, checkpoint: { interval: 1, interval_batches: 7 } },
      negative_sampling: { num_chunks: 2, negatives_per_positive: 10, degree_fraction: 0.5 },
    },
    evaluation: { batch_size: 40, epochs_per_eval: num_epochs, negative_sampling: { filtered: true } },
  };
}

function nodeConfig(encoder: object, type: object, training: object, num_epochs: number): object {
  const layers = [[{ type: 'FEATURE', output_dim: 2 }], gnn(type, 8), gnn(type, 3)];
  return {
    model: {
      learning_task: 'NODE_CLASSIFICATION',
      encoder: { layers, ...encoder },
      decoder: { type: 'NODE' },
      loss: { type: 'CROSS_ENTROPY', options: { reduction: 'MEAN' } },
      dense_optimizer: { type: 'ADAM', options: { learning_rate: 0.01 } },
    },
    storage: { dataset: { dataset_dir: 'nodes' } },
    training: { num_epochs, checkpoint: { interval: Math.ceil(num_epochs / 20) }, ...training },
    evaluation: { batch_size: 1000, epochs_per_eval: num_epochs },
  };
}

const uniform = { type: 'UNIFORM', options: { max_neighbors: 3 } };

/** The text of a configuration; `model_dir` and the seed are given on the command line. */
function configText(kind: Kind, size: Size): string {
  const { links, nodes, whole, events } = sizes[size].epochs;
  const configs: Readonly<Record<Exclude<Kind, 'events-tgn'>, () => object>> = {
    'links-memory': () => linkConfig({}, links),
    'links-buffer': () => linkConfig({ embeddings: buffer }, links),
    'nodes-sampled': () =>
      nodeConfig({ train_neighbor_sampling: [uniform, uniform] }, sage, { batch_size: 8 }, nodes),
    'nodes-whole': () => nodeConfig({}, { type: 'GCN' }, { full_batch: true }, whole),
  };
  if (kind !== 'events-tgn') return JSON.stringify(configs[kind](), null, 2);
  const model = modelFiles.tgn.replace(/epoch: \d+/, `epoch: ${events}`);
  return `${model}dataset: { path: events.csv }\ntraining: { checkpoint: { interval_batches: 7 }, logs_per_epoch: 0 }\n`;
}

/** Writes the configurations of all kinds next to the data. */
export function writeConfigs(folder: string, size: Size): void {
  for (const kind of kinds) writeFileSync(join(folder, `${kind}.yaml`), configText(kind, size));
}

/** The command that trains a run of a kind, to be run in the folder of the data. */
export function trainArgs(kind: Kind, run: string, seed: number): string[] {
  const key = kind === 'events-tgn' ? 'training.random_seed' : 'model.random_seed';
  return ['train', `${kind}.yaml`, '--json', `--storage.model_dir=${run}`, `--${key}=${seed}`];
}

export const resume = '--training.resume_training=true';

/** Whether a directory has a run that can be resumed; a kill may come before that. */
export function hasRun(directory: string): boolean {
  return existsSync(join(directory, 'full_config.yaml'));
}

export interface Outcome {
  readonly validation: unknown;
  readonly test: unknown;
  /** A digest of every tensor of the model, and of every column of its table. */
  readonly state: Readonly<Record<string, string>>;
}

/** The results of a finished run. */
export async function outcomeOf(directory: string): Promise<Outcome> {
  const done = JSON.parse(readFileSync(join(directory, 'done.json'), 'utf8')) as Record<string, unknown>;
  const { tensors, metadata } = await loadTensors(join(directory, 'model.safetensors'));
  const { extra } = JSON.parse(metadata['skein.checkpoint']) as {
    extra: { readonly state: { readonly table?: TableManifest | null } };
  };
  const { table = null } = extra.state;
  const state: Record<string, string> = {};
  for (const [name, { array }] of Object.entries(tensors)) state[name] = digest([array as Uint8Array]);
  if (table !== null) Object.assign(state, await tableState(directory, table));
  return { validation: withoutTimes(done['validation']), test: withoutTimes(done['test']), state };
}

async function tableState(directory: string, manifest: TableManifest): Promise<Record<string, string>> {
  const files = await TableFiles.open(join(directory, 'table'), manifest);
  const parts = files.columns.map((): Uint8Array[] => []);
  for (let k = 0; k < files.layout.partitions; k++) {
    const bytes = (width: number, dtype: string): number =>
      files.layout.rowsOf(k) * width * (dtype === 'f32' ? 4 : 2);
    const views = files.columns.map(({ width, dtype }) => new Uint8Array(bytes(width, dtype)));
    await files.readPartition(k, views);
    for (const [i, view] of views.entries()) parts[i].push(view);
  }
  return Object.fromEntries(files.columns.map(({ name }, i) => [`table.${name}`, digest(parts[i])]));
}

function withoutTimes(metrics: unknown): unknown {
  if (typeof metrics !== 'object' || metrics === null) return metrics ?? null;
  return Object.fromEntries(Object.entries(metrics).filter(([name]) => !/second|per_/.test(name)));
}

export function digest(views: readonly ArrayBufferView[]): string {
  const hash = createHash('sha256');
  for (const { buffer: bytes, byteOffset, byteLength } of views)
    hash.update(Buffer.from(bytes, byteOffset, byteLength));
  return hash.digest('hex').slice(0, 16);
}

/** The differences of two results, key by key; empty if there are none. */
export function differenceOf(got: unknown, want: unknown): string {
  return differences('', got, want).slice(0, 8).join('\n');
}

function differences(key: string, got: unknown, want: unknown): string[] {
  if (JSON.stringify(got) === JSON.stringify(want)) return [];
  const isTree = (value: unknown): value is Readonly<Record<string, unknown>> =>
    typeof value === 'object' && value !== null && Object.keys(value).length > 0;
  if (isTree(got) && isTree(want))
    return [...new Set([...Object.keys(want), ...Object.keys(got)])].flatMap((name) =>
      differences(key === '' ? name : `${key}.${name}`, got[name], want[name]),
    );
  const shown = (value: unknown): string => (JSON.stringify(value) ?? 'nothing').slice(0, 200);
  return [`${key || 'result'}: expected ${shown(want)}, got ${shown(got)}`];
}
