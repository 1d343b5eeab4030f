/**
 * Features in their file, with the rows that batches read most often in memory (`hot_cache_size`). The frequency follows
 * from the training edges, the neighbours that the encoder draws and the batch size.
 */
import type { PreparedDataset } from '../../../../data/index.js';
import type { DrawGraph } from '../../../../sample/hot/hotness.js';
import { hotness } from '../../../../sample/index.js';
import { FileStore, HotColdStore } from '../../../../storage/index.js';
import type { SkeinConfig } from '../../../config/index.js';
import type { FileTableConfig, NeighborSamplingConfig } from '../../../config/types.js';

export interface FeatureFile {
  readonly path: string;
  readonly rows: number;
  readonly width: number;
}

export async function openFeatureFile(
  config: SkeinConfig,
  dataset: PreparedDataset,
  { path, rows, width }: FeatureFile,
  options: FileTableConfig['options'],
): Promise<FileStore | HotColdStore> {
  const { hot_cache_size: size, hot_policy: policy } = options;
  // The operating system need not cache these rows as well.
  const file = new FileStore(path, { rows, width }, { io: size > 0 ? 'auto' : 'buffered', readOnly: true });
  const scores =
    size === 0 || policy === 'SIEVE' || size >= rows * width * 4
      ? null
      : await featureScores(config, dataset, rows, policy);
  const store = size === 0 ? file : new HotColdStore(file, { size, ...(scores === null ? {} : { scores }) });
  await store.load();
  return store;
}

async function featureScores(
  config: SkeinConfig,
  dataset: PreparedDataset,
  numNodes: number,
  policy: 'PUSH' | 'DEGREE' | 'PRESAMPLE',
): Promise<Float64Array> {
  const { encoder, random_seed: seed } = config.model;
  const edges = await dataset.readEdges('train');
  const columns = dataset.edgeFile('train')?.columns ?? 2;
  const sides = [encoder.use_incoming_nbrs, encoder.use_outgoing_nbrs] as const;
  const graph = drawnEdges(edges, columns, numNodes, sides);
  // Each direction is sampled separately.
  const times = Number(sides[0]) + Number(sides[1]);
  const fanouts = encoder.train_neighbor_sampling.map((rule) => fanoutOf(rule, times));
  const trained = await dataset.readNodes('train');
  const { batch_size: batchSize } = config.training;
  return hotness(graph, {
    policy: policy.toLowerCase() as 'push' | 'degree' | 'presample',
    ...{ fanouts, seed },
    // Batches of edges start from both of their ends.
    ...(trained === null
      ? { seeds: endsOf(edges, columns), batchSize: 2 * batchSize }
      : { seeds: trained, batchSize }),
  });
}

function fanoutOf(rule: NeighborSamplingConfig, times: number): number {
  return rule.type === 'UNIFORM' && rule.options.max_neighbors >= 0 ? times * rule.options.max_neighbors : -1;
}

/** Returns both ends of every edge; rows of edges are [source, (relation,) destination]. */
function endsOf(edges: Int32Array, columns: number): Int32Array {
  const count = edges.length / columns;
  const ends = new Int32Array(2 * count);
  for (let e = 0; e < count; e++) {
    ends[2 * e] = edges[e * columns];
    ends[2 * e + 1] = edges[(e + 1) * columns - 1];
  }
  return ends;
}

/** Returns the candidates of each node: the sources of edges into it, the destinations of edges out of it, or both. */
function drawnEdges(
  edges: Int32Array,
  columns: number,
  numNodes: number,
  [incoming, outgoing]: readonly [boolean, boolean],
): DrawGraph {
  const ends = endsOf(edges, columns);
  const indptr = new Int32Array(numNodes + 1);
  for (let i = 0; i < ends.length; i += 2) {
    if (incoming) indptr[ends[i + 1] + 1]++;
    if (outgoing) indptr[ends[i] + 1]++;
  }
  for (let v = 0; v < numNodes; v++) indptr[v + 1] += indptr[v];
  const next = indptr.slice();
  const indices = new Int32Array(indptr[numNodes]);
  for (let i = 0; i < ends.length; i += 2) {
    if (incoming) indices[next[ends[i + 1]]++] = ends[i];
    if (outgoing) indices[next[ends[i]]++] = ends[i + 1];
  }
  return { indptr, indices };
}
