/**
 * Which data is sharded over workers. A copy per worker is faster to read and takes N times the memory: unless configured
 * otherwise, small data is copied and large data is sharded. Results are the same.
 */
import type { PreparedDataset } from '../../../../data/index.js';
import type { Communicator } from '../../../../dist/index.js';
import type { RemoteRowStore } from '../../../../dist/stores/index.js';
import { openShardedRows } from '../../../../dist/stores/sharded-rows.js';
import { hopsOfStage } from '../../../../gnn/conv/conv-registry.js';
import { subsamples } from '../../../config/check.js';
import type { SkeinConfig } from '../../../config/index.js';
import { defaultDistributed } from '../../../config/schema-distributed.js';
import type { FileEdges } from './edge-splits.js';
import type { FeatureFile } from './hot-features.js';
import { readFloats } from './read-floats.js';
import { ShardedEdges } from './sharded-edges.js';

/** Data of more bytes than this is sharded. */
const copiedBytes = 2 ** 30;

/** Whether the features of a run are sharded over workers; those that are read from their file take no memory anyway. */
export function shardsFeatures({ storage, distributed }: SkeinConfig, { rows, width }: FeatureFile): boolean {
  if (storage.features.type !== 'HOST_MEMORY') return false;
  const { features } = distributed ?? defaultDistributed();
  return features === 'auto' ? rows * width * 4 > copiedBytes : features === 'spread';
}

/** Opens sharded features: every worker reads the range of its shard. */
export function openSpreadFeatures(file: FeatureFile, comm: Communicator): Promise<RemoteRowStore> {
  const { path, rows, width } = file;
  return openShardedRows('features', {
    ...{ rows, width, comm },
    read: ({ start, end }) => readFloats(path, start * width, (end - start) * width),
  });
}

/** Whether training edges are sharded over workers. */
export function spreadsEdges(config: SkeinConfig, dataset: PreparedDataset): boolean {
  const { edges } = config.distributed ?? defaultDistributed();
  if (edges !== 'auto') return edges === 'spread';
  const { storage, training } = config;
  // Filtered negatives are compared with all edges, subsampling counts them all; a buffer reads the edges of its partitions
  // from their file.
  const { filtered, known_filter: known } = training.negative_sampling;
  if (filtered || known || subsamples(config)) return false;
  if (storage.embeddings.type === 'PARTITION_BUFFER') return false;
  const { rows, columns } = dataset.edgeFile('train') ?? { rows: 0, columns: 2 };
  const { incoming, outgoing } = followed(config);
  // The list, as rows and as columns, and a neighbour and an id for each direction.
  const bytes = rows * 4 * (2 * columns + 2 * (Number(incoming) + Number(outgoing)));
  return bytes > copiedBytes;
}

/** Opens sharded edges: every worker reads all edges twice and keeps its shard. */
export async function openSpreadEdges(
  config: SkeinConfig,
  dataset: PreparedDataset,
  file: FileEdges,
  comm: Communicator,
): Promise<ShardedEdges> {
  return ShardedEdges.open(file, {
    ...followed(config),
    numNodes: dataset.stats.num_nodes,
    numRelations: dataset.hasRelations ? dataset.stats.num_relations : 0,
    ofEdges: config.model.learning_task === 'LINK_PREDICTION',
    comm,
  });
}

/** Returns the directions that samplers follow; neither without layers that pass messages. */
function followed({ model: { encoder } }: SkeinConfig): { incoming: boolean; outgoing: boolean } {
  const samples = encoder.layers.some((stage) => hopsOfStage(stage) > 0);
  return {
    incoming: samples && encoder.use_incoming_nbrs,
    outgoing: samples && encoder.use_outgoing_nbrs,
  };
}
