/**
 * Keys that Marius accepts and that have no effect here. They are dropped with one warning each, so that a file written
 * for Marius runs unchanged. A value that requests what happens anyway is dropped silently.
 */
import type { IgnoredKey } from '../../util/schema/ignored.js';

/** Layer types of Marius without an aggregator; its files often carry over the aggregator of GRAPH_SAGE. */
const withoutAggregator = ['GAT', 'GCN', 'RGCN'];

const queues = 'batches in flight are bounded by staleness_bound alone';
const threads = 'the number of threads is SKEIN_THREADS for all stages';
const gpus = 'only one device is used';

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
  { key: 'storage.save_model', why: 'training.save_model is used instead' },
  { key: 'storage.dataset.initialized', why: 'it is detected', same: true },
  { key: 'training.epochs_per_shuffle', why: 'examples are shuffled every epoch', same: 1 },
  { key: 'training.checkpoint.save_state', why: 'optimiser state is always saved', same: true },
  { key: 'training.checkpoint.save_edges', why: 'edges stay in the dataset', same: false },
  {
    key: 'training.checkpoint.save_encoded',
    why: 'storage.export_encoded_nodes is used instead',
    same: false,
  },
  { key: 'training.checkpoint.dir', why: 'checkpoints are in storage.model_dir', same: '' },
  ...['training', 'evaluation'].flatMap((name) => [
    ...[
      'batch_host_queue_size',
      'batch_device_queue_size',
      'gradients_device_queue_size',
      'gradients_host_queue_size',
    ].map((key) => ({ key: `${name}.pipeline.${key}`, why: queues })),
    ...[
      'batch_loader_threads',
      'batch_transfer_threads',
      'compute_threads',
      'gradient_transfer_threads',
      'gradient_update_threads',
    ].map((key) => ({ key: `${name}.pipeline.${key}`, why: threads })),
    ...['gpu_sync_interval', 'gpu_model_average'].map((key) => ({
      key: `${name}.pipeline.${key}`,
      why: gpus,
    })),
  ]),
];
