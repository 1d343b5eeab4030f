/**
 * Keys that the originals accept and that change nothing here: dropped, with one warning each, so that a file which runs
 * there runs here. A value that asks for what happens anyway is dropped silently.
 */
import type { IgnoredKey } from '../../util/schema/ignored.js';

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
    where: ({ type }) => typeof type === 'string' && withoutAggregator.includes(type.toUpperCase()),
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
