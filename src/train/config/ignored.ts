/**
 * Keys that the originals accept and that change nothing here: dropped, with one warning each, so that a file which runs
 * there runs here. A value that asks for what happens anyway is dropped silently.
 */
import { isTree, type KeyPath, showPath } from './key-path.js';

export interface IgnoredKey {
  /** Key path; `*` stands for any one part. */
  readonly key: string;
  readonly why: string;
  /** The value that needs no warning. */
  readonly same?: unknown;
  /** Ignored only where the mapping that has the key is like this; elsewhere the schema decides. */
  readonly where?: (holder: Readonly<Record<string, unknown>>) => boolean;
}

/** Layers of Marius other than GRAPH_SAGE, whose files carry its aggregator along. */
const withoutAggregator = ['GAT', 'GCN', 'RGCN'];

const queues = 'batches in flight are bounded by staleness_bound alone';
const threads = 'the number of threads is SKEIN_THREADS for all stages';
const gpus = 'there is one device';

export const ignoredKeys: readonly IgnoredKey[] = [
  { key: 'model.decoder.options.input_dim', why: 'the width follows from the encoder' },
  { key: 'model.encoder.use_hashmap_sets', why: 'the sampler chooses its own method', same: false },
  ...['train', 'eval'].map((when) => ({
    key: `model.encoder.${when}_neighbor_sampling.*.use_hashmap_sets`,
    why: 'the sampler chooses its own method',
    same: false,
  })),
  {
    key: 'model.encoder.layers.*.*.options.aggregator',
    why: 'it is an option of GRAPH_SAGE, which GAT, GCN and RGCN do not have',
    where: ({ type }) => withoutAggregator.includes(String(type).toUpperCase()),
  },
  { key: 'storage.save_model', why: 'training.save_model is the key that counts' },
  { key: 'storage.dataset.initialized', why: 'it is found out', same: true },
  { key: 'training.epochs_per_shuffle', why: 'examples are shuffled every epoch', same: 1 },
  { key: 'training.checkpoint.save_state', why: 'optimiser state is always saved', same: true },
  { key: 'training.checkpoint.save_edges', why: 'edges stay in the dataset', same: false },
  {
    key: 'training.checkpoint.save_encoded',
    why: 'storage.export_encoded_nodes is the key that counts',
    same: false,
  },
  { key: 'training.checkpoint.dir', why: 'checkpoints are in storage.model_dir', same: '' },
  ...['training', 'evaluation'].flatMap((part) => [
    ...[
      'batch_host_queue_size',
      'batch_device_queue_size',
      'gradients_device_queue_size',
      'gradients_host_queue_size',
    ].map((name) => ({ key: `${part}.pipeline.${name}`, why: queues })),
    ...[
      'batch_loader_threads',
      'batch_transfer_threads',
      'compute_threads',
      'gradient_transfer_threads',
      'gradient_update_threads',
    ].map((name) => ({ key: `${part}.pipeline.${name}`, why: threads })),
    ...['gpu_sync_interval', 'gpu_model_average'].map((name) => ({
      key: `${part}.pipeline.${name}`,
      why: gpus,
    })),
  ]),
];

/** Takes the ignored keys out of `tree` and warns about each. */
export function dropIgnored(tree: unknown, warn: (message: string) => void): void {
  for (const { key, why, same, where } of ignoredKeys) {
    const parts = key.split('.');
    const last = parts.pop() as string;
    const found: string[] = [];
    for (const { holder, path } of holders(tree, parts)) {
      if (!(last in holder) || where?.(holder) === false) continue;
      if (holder[last] !== same) found.push(showPath([...path, last]));
      delete holder[last];
    }
    if (found.length > 0) warn(`${found[0]}: has no effect, ${why}.`);
  }
}

interface Holder {
  readonly holder: Record<string, unknown>;
  readonly path: KeyPath;
}

function holders(value: unknown, parts: readonly string[], path: KeyPath = []): Holder[] {
  if (parts.length === 0) return isTree(value) ? [{ holder: value, path }] : [];
  const [head, ...rest] = parts;
  if (head === '*')
    return Array.isArray(value) ? value.flatMap((item, i) => holders(item, rest, [...path, i])) : [];
  return isTree(value) && head in value ? holders(value[head], rest, [...path, head]) : [];
}
