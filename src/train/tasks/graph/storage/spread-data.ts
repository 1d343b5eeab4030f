/**
 * Which data several workers share out. A copy with every worker is faster to read, and N workers take N times the memory
 * for it: unless the configuration says otherwise, small data is copied and large data is shared out. Results are the same.
 */
import type { PreparedDataset } from '../../../../data/index.js';
import type { Communicator } from '../../../../dist/index.js';
import type { RemoteRowStore } from '../../../../dist/stores/index.js';
import { openShardedRows } from '../../../../dist/stores/sharded-rows.js';
import { hopsOfStage } from '../../../../gnn/conv/conv-registry.js';
import type { SkeinConfig } from '../../../config/index.js';
import { defaultDistributed } from '../../../config/schema-distributed.js';
import type { FileEdges } from './edge-splits.js';
import type { FeatureFile } from './hot-features.js';
import { readFloats } from './read-floats.js';
import { SpreadEdges } from './sharded-edges.js';

/** What takes more bytes than this is shared out. */
const copiedBytes = 2 ** 30;

/** Whether several workers share out the features of a run; those that are read from their file take no memory anyway. */
export function spreadsFeatures(
  { storage, distributed }: SkeinConfig,
  { rows, width }: FeatureFile,
): boolean {
  if (storage.features.type !== 'HOST_MEMORY') return false;
  const { features } = distributed ?? defaultDistributed();
  return features === 'auto' ? rows * width * 4 > copiedBytes : features === 'spread';
}

/** Every worker opens it: it reads the range that it holds. */
export function openSpreadFeatures(file: FeatureFile, comm: Communicator): Promise<RemoteRowStore> {
  const { path, rows, width } = file;
  return openShardedRows('features', {
    ...{ rows, width, comm },
    read: ({ start, end }) => readFloats(path, start * width, (end - start) * width),
  });
}

/** Whether several workers share out the training edges. */
export function spreadsEdges(config: SkeinConfig, dataset: PreparedDataset): boolean {
  const { edges } = config.distributed ?? defaultDistributed();
  if (edges !== 'auto') return edges === 'spread';
  const { storage, training } = config;
  // Filtered negatives are compared with all edges; a buffer reads the edges of its partitions from their file.
  if (training.negative_sampling.filtered || storage.embeddings.type === 'PARTITION_BUFFER') return false;
  const { rows, columns } = dataset.edgeFile('train') ?? { rows: 0, columns: 2 };
  const { incoming, outgoing } = followed(config);
  // The list, as rows and as columns, and a neighbour and an id for each direction.
  const bytes = rows * 4 * (2 * columns + 2 * (Number(incoming) + Number(outgoing)));
  return bytes > copiedBytes;
}

/** Every worker opens it: it reads all edges twice and keeps its part. */
export async function openSpreadEdges(
  config: SkeinConfig,
  dataset: PreparedDataset,
  file: FileEdges,
  comm: Communicator,
): Promise<SpreadEdges> {
  return SpreadEdges.open(file, {
    ...followed(config),
    numNodes: dataset.stats.num_nodes,
    numRelations: dataset.hasRelations ? dataset.stats.num_relations : 0,
    ofEdges: config.model.learning_task === 'LINK_PREDICTION',
    comm,
  });
}

/** The directions that samplers follow; neither without layers that pass messages. */
function followed({ model: { encoder } }: SkeinConfig): { incoming: boolean; outgoing: boolean } {
  const samples = encoder.layers.some((stage) => hopsOfStage(stage) > 0);
  return {
    incoming: samples && encoder.use_incoming_nbrs,
    outgoing: samples && encoder.use_outgoing_nbrs,
  };
}
