/**
 * Schema, defaults and documentation of the `storage` section. DEVICE_MEMORY is supported for embeddings on a GPU and is
 * read as host memory otherwise; double is read as float32. `resolveConfig` warns about both.
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
    'element type of the ids on disk; int and long are accepted too',
  );

const partitionBuffer = () => ({
  dtype: tableType(),
  num_partitions: field(integer(2), 16, 'number of partitions of the table'),
  buffer_capacity: field(integer(2), 8, 'number of partitions in memory at a time'),
  prefetching: field(flag(), true, 'read the next partition during training on the resident ones'),
  fine_to_coarse_ratio: field(integer(1), 1, 'number of partitions that COMET swaps as one'),
  num_cache_partitions: field(
    integer(0),
    0,
    'number of partitions, or COMET groups, that stay in memory for the whole epoch',
  ),
  edge_bucket_ordering: field(
    choice(['COMET', 'OLD_BETA', 'NEW_BETA', 'ALL_BETA', 'SEQUENTIAL', 'HILBERT', 'CUSTOM'], {
      two_level_beta: 'COMET',
      elimination: 'OLD_BETA',
    }),
    'COMET',
    'order of the swaps for link prediction; SEQUENTIAL and HILBERT are not in Marius',
  ),
  node_partition_ordering: field(
    choice(['DISPERSED', 'SEQUENTIAL', 'CUSTOM']),
    'DISPERSED',
    'order of the swaps for node classification',
  ),
  randomly_assign_edge_buckets: field(
    flag(),
    true,
    'train an edge bucket in a random one of the buffer states that hold it',
  ),
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
    'a prepared directory, or the name of a known dataset, which is prepared on first use',
  ),
  name: field(text('the name of a known dataset').nullable(), null, {
    doc: 'prepare this known dataset into dataset_dir on first use',
    ours: true,
    shown: 'none',
  }),
  num_edges: count('number of edges'),
  num_nodes: count('number of nodes'),
  num_relations: count('number of relations'),
  num_train: count('number of training examples'),
  num_valid: count('number of validation examples'),
  num_test: count('number of test examples'),
  node_feature_dim: count('width of the node features'),
  rel_feature_dim: count('width of the relation features'),
  num_classes: count('number of classes'),
});

export const storageSchema = section({
  device_type: field(
    choice(['cpu', 'cuda', 'webgpu'], { gpu: 'cuda' }),
    'cpu',
    'the device that computes; cuda is read as webgpu if a GPU is found, otherwise as cpu with a warning',
  ),
  device_ids: field(
    list(integer(0), 'a list of whole numbers'),
    [],
    'GPUs to use; has no effect, only one device is used',
  ),
  dataset: required(dataset, 'the dataset'),
  edges: field(edges, { type: 'HOST_MEMORY' }, 'storage of edges'),
  nodes: field(nodes, { type: 'HOST_MEMORY' }, 'storage of node ids'),
  embeddings: field(
    embeddings,
    { type: 'HOST_MEMORY' },
    'storage of the node table and its optimiser state; DEVICE_MEMORY keeps both on the GPU',
  ),
  features: field(features, { type: 'HOST_MEMORY' }, 'storage of node features; FLAT_FILE is not in Marius'),
  device_cache_size: field(size().nullable(), null, {
    doc: 'device memory for node features, for example 0.1G: frequently used rows stay on the GPU; if not set, features are copied with every batch',
    ours: true,
    shown: 'none',
  }),
  memory_budget: field(size().nullable(), null, {
    doc: 'memory that training may use, for example 2G; num_partitions and buffer_capacity are chosen to fit',
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
    'lowest level written to log.txt and stderr',
  ),
  train_edges_pre_sorted: field(flag(), false, 'whether the training edges are already sorted'),
});
