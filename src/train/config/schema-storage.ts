/**
 * Schema, defaults and documentation of the `storage` section. DEVICE_MEMORY is for embeddings beside a graphics processor
 * and means host memory elsewhere, and double means float32; `resolveConfig` says so when a file asks for them.
 */
import {
  choice,
  field,
  flag,
  integer,
  list,
  required,
  section,
  size,
  text,
  variants,
} from '../../util/schema/fields.js';
import { featureOptions, tableType } from '../tasks/graph/storage/feature-stores.js';

const idType = () =>
  field(
    choice(['int32', 'int64'], { int: 'int32', long: 'int64' }),
    'int32',
    'element type of the ids on disk; int and long are other names',
  );

const partitionBuffer = () => ({
  dtype: tableType(),
  num_partitions: field(integer(2), 16, 'into how many partitions the table is cut'),
  buffer_capacity: field(integer(2), 8, 'how many of them are in memory at a time'),
  prefetching: field(flag(), true, 'read the next partition while training on these'),
  fine_to_coarse_ratio: field(integer(1), 1, 'partitions that COMET moves together'),
  num_cache_partitions: field(integer(0), 0, 'partitions that stay in memory throughout'),
  edge_bucket_ordering: field(
    choice(['COMET', 'OLD_BETA', 'NEW_BETA', 'ALL_BETA', 'SEQUENTIAL', 'HILBERT', 'CUSTOM'], {
      two_level_beta: 'COMET',
      elimination: 'OLD_BETA',
    }),
    'COMET',
    'order of the swaps for link prediction; SEQUENTIAL and HILBERT are ours',
  ),
  node_partition_ordering: field(
    choice(['DISPERSED', 'SEQUENTIAL', 'CUSTOM']),
    'DISPERSED',
    'order of the swaps for node classification',
  ),
  randomly_assign_edge_buckets: field(flag(), true, 'train a bucket in a random one of its states'),
});

const memoryTable = () => ({ dtype: tableType() });
const inMemory = { type: 'HOST_MEMORY', aliases: { device_memory: 'HOST_MEMORY' } } as const;

const edges = variants({ HOST_MEMORY: { dtype: idType() }, FLAT_FILE: { dtype: idType() } }, inMemory);
const nodes = variants({ HOST_MEMORY: { dtype: idType() } }, inMemory);
const embeddings = variants(
  { HOST_MEMORY: memoryTable(), DEVICE_MEMORY: memoryTable(), PARTITION_BUFFER: partitionBuffer() },
  { type: 'HOST_MEMORY' },
);
type FeatureShapes = { [W in keyof typeof featureOptions]: ReturnType<(typeof featureOptions)[W]> };
const featureShapes = () =>
  Object.fromEntries(Object.entries(featureOptions).map(([type, make]) => [type, make()])) as FeatureShapes;
const features = variants({ ...featureShapes(), PARTITION_BUFFER: partitionBuffer() }, inMemory);

const count = (doc: string) => field(integer(-1), -1, { doc, shown: 'from the dataset' });

const dataset = section({
  dataset_dir: required(
    text('a directory, or the name of a known dataset'),
    'a prepared directory, or a known dataset, which is prepared on first use',
  ),
  name: field(text('the name of a known dataset').nullable(), null, {
    doc: 'prepare this known dataset into dataset_dir on first use',
    ours: true,
    shown: 'none',
  }),
  num_edges: count('edges'),
  num_nodes: count('nodes'),
  num_relations: count('relations'),
  num_train: count('training examples'),
  num_valid: count('validation examples'),
  num_test: count('test examples'),
  node_feature_dim: count('width of the node features'),
  rel_feature_dim: count('width of the relation features'),
  num_classes: count('classes'),
});

export const storageSchema = section({
  device_type: field(
    choice(['cpu', 'cuda', 'webgpu'], { gpu: 'cuda' }),
    'cpu',
    'what computes; cuda means webgpu where a graphics processor is found, else cpu, with a warning',
  ),
  device_ids: field(list(integer(0), 'a list of whole numbers'), [], 'which GPUs'),
  dataset: required(dataset, 'the input'),
  edges: field(edges, { type: 'HOST_MEMORY' }, 'where edges live'),
  nodes: field(nodes, { type: 'HOST_MEMORY' }, 'where node ids live'),
  embeddings: field(
    embeddings,
    { type: 'HOST_MEMORY' },
    'where the node table and its optimiser state live; DEVICE_MEMORY keeps both on the graphics processor',
  ),
  features: field(features, { type: 'HOST_MEMORY' }, 'where node features live; FLAT_FILE is ours'),
  device_cache_size: field(size().nullable(), null, {
    doc: 'device memory for node features, for example 0.1G: hot rows stay on the graphics processor; without, features are copied with every batch',
    ours: true,
    shown: 'none',
  }),
  memory_budget: field(size().nullable(), null, {
    doc: 'memory that training may use, for example 2G; partitions and buffer are chosen from it',
    ours: true,
    shown: 'no limit',
  }),
  prefetch: field(flag(), true, 'read ahead'),
  shuffle_input: field(flag(), true, 'shuffle the training examples every epoch'),
  full_graph_evaluation: field(flag(), true, 'evaluate on the whole graph in memory'),
  export_encoded_nodes: field(flag(), false, 'write the encoder output of all nodes after training'),
  model_dir: field(text('a directory').nullable(), null, {
    doc: 'the run directory',
    shown: 'first free <dataset_dir>/model_<i>',
  }),
  log_level: field(
    choice(['error', 'warn', 'info', 'debug', 'trace']),
    'info',
    'what log.txt and stderr show',
  ),
  train_edges_pre_sorted: field(flag(), false, 'the training edges are sorted already'),
});
