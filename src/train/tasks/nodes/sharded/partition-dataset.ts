/**
 * Partitions a prepared dataset of classified nodes into files of the run: every worker reads its own, and none reads the
 * whole. The number of partitions is configured and does not depend on the workers, so that nodes have the same ids for any
 * number of workers.
 */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { PreparedDataset } from '../../../../data/index.js';
import { datasetFingerprint } from '../../../../data/prepare/dataset-fingerprint.js';
import { partitionData, partitionGraph, writePartitions } from '../../../../dist/index.js';
import { describePartitions } from '../../../../dist/partition/load-partition-data.js';
import type { FeatureRows } from '../../../../dist/partition/partitioned-graph.js';
import { Graph } from '../../../../graph/index.js';
import { fromTypedArray } from '../../../../tensor/index.js';
import { ConfigError } from '../../../../util/errors.js';
import { invocation } from '../../../../util/invocation.js';
import { usesEdgeWeights } from '../../../config/check-layers.js';
import type { SkeinConfig } from '../../../config/index.js';
import type { DistributedConfig } from '../../../config/types.js';
import { usesFeatures } from '../../graph/storage/initialize-table.js';

const name = 'graph';

/** Fields of partitions, under the names that SAR's examples use. */
export const fields = {
  features: 'features',
  labels: 'labels',
  masks: { train: 'train_mask', validation: 'val_mask', test: 'test_mask' },
  relation: 'relation',
  weight: 'weight',
} as const;

/** Returns the number of edges that messages are passed along: the dataset's edges in each direction the encoder follows. */
function numMessageEdges(config: SkeinConfig, dataset: PreparedDataset): number {
  const { use_incoming_nbrs: incoming, use_outgoing_nbrs: outgoing } = config.model.encoder;
  const { rows } = dataset.edgeFile('train') ?? { rows: 0 };
  return rows * ((incoming ? 1 : 0) + (outgoing ? 1 : 0));
}

/** The inputs of a run's partitions: files of the dataset by their checksums, and the directions of edges. */
async function originOf(config: SkeinConfig, dataset: PreparedDataset): Promise<Record<string, string>> {
  const { use_incoming_nbrs: incoming, use_outgoing_nbrs: outgoing } = config.model.encoder;
  const use = {
    classes: true,
    features: usesFeatures(config),
    text: false,
    weights: usesEdgeWeights(config),
  };
  return {
    directions: [incoming ? 'incoming' : [], outgoing ? 'outgoing' : []].flat().join(' and '),
    ...(await datasetFingerprint(dataset, use)),
  };
}

/**
 * Throws if partitions are not of this run's graph, or too few. Reads their description only; labels and features are
 * checked when they are read (open-shards.ts), which is the only check of partitions of DGL.
 */
export async function checkPartitionDirectory(
  path: string,
  config: SkeinConfig,
  dataset: PreparedDataset,
  workers: number,
): Promise<void> {
  const { nodes, edges, numParts, format, source } = await describePartitions(path);
  const total = (counts: Readonly<Record<string, number>>) =>
    Object.values(counts).reduce((sum, count) => sum + count, 0);
  const reject = (expectation: string, got: string): never => {
    const advice = `Create them with "${invocation()} partition <this configuration> --output <directory>".`;
    throw new ConfigError(
      `distributed.partition_dir: expected ${expectation}, got ${got} in ${path}. ${advice}`,
    );
  };
  if (format === 'dgl' && config.model.encoder.embedding_dim > 0)
    reject("partitions with the dataset's node ids for EMBEDDING layers", 'those of DGL');
  if (numParts < workers) reject(`at least ${workers} partitions for ${workers} workers`, `${numParts}`);
  const { num_nodes: numNodes } = dataset.stats;
  if (total(nodes) !== numNodes) reject(`the ${numNodes} nodes of ${dataset.directory}`, `${total(nodes)}`);
  const wanted = numMessageEdges(config, dataset);
  if (total(edges) !== wanted)
    reject(`the ${wanted} edges that the encoder follows (each direction counts)`, `${total(edges)}`);
  if (source === null) return;
  // Partitions may have fields that this run does not read: features, weights.
  const differing = Object.entries(await originOf(config, dataset)).flatMap(([of, sum]) =>
    source[of] === sum ? [] : [of],
  );
  if (differing.length > 0)
    reject(
      `partitions of ${dataset.directory} as this run reads it`,
      `partitions that differ in ${differing.join(', ')},`,
    );
}

/** Counts the labelled nodes of each split by class, split after split, which does not depend on the numbering of nodes. */
export async function classCounts(dataset: PreparedDataset): Promise<number[]> {
  const { num_classes: classes } = dataset.stats;
  const labels = (await dataset.readLabels()) ?? new Int32Array(0);
  const counts: number[] = [];
  for (const split of Object.keys(fields.masks)) {
    const of = new Array<number>(classes).fill(0);
    const nodes = new Set((await dataset.readNodes(split as keyof typeof fields.masks)) ?? []);
    for (const v of nodes) if (labels[v] >= 0) of[labels[v]]++;
    counts.push(...of);
  }
  return counts;
}

/** Returns the path of the partitions' JSON; writes them if they are missing. For one process. */
export async function partitionDataset(
  config: SkeinConfig,
  distributed: Pick<DistributedConfig, 'partitions' | 'partition_algorithm'>,
  dataset: PreparedDataset,
  directory: string,
): Promise<string> {
  const path = join(directory, `${name}.json`);
  const parts = Math.min(distributed.partitions, dataset.stats.num_nodes);
  if (existsSync(path)) {
    const { numParts } = await describePartitions(path);
    if (numParts === parts) return path;
    throw new ConfigError(
      `distributed.partitions: expected ${numParts}, as in ${directory}, got ${distributed.partitions}. The number of partitions of a run cannot change; set it to ${numParts}.`,
    );
  }
  const graph = await wholeGraph(config, dataset);
  const nodeFeatures = await nodeFields(config, dataset);
  const { partition_algorithm: algorithm } = distributed;
  const trainMask = (nodeFeatures[fields.masks.train] as { dataSync(): Uint8Array }).dataSync();
  const assignment = partitionGraph(graph, {
    parts,
    algorithm,
    seed: config.model.random_seed,
    balance: algorithm === 'metis' ? { nodes: true, edges: true, trainMask } : {},
  });
  const split = partitionData(graph, assignment, { nodeFeatures });
  const source = await originOf(config, dataset);
  const { path: written } = await writePartitions(directory, split, { name, method: algorithm, source });
  return written;
}

/** Reads all edges in the directions that the encoder follows; reversed edges have separate relations. */
async function wholeGraph(config: SkeinConfig, dataset: PreparedDataset): Promise<Graph> {
  const { use_incoming_nbrs: incoming, use_outgoing_nbrs: outgoing } = config.model.encoder;
  const rows = await dataset.readEdges('train');
  const columns = dataset.numColumns;
  const count = rows.length / columns;
  const total = count * ((incoming ? 1 : 0) + (outgoing ? 1 : 0));
  const [src, dst, relation] = [new Int32Array(total), new Int32Array(total), new Int32Array(total)];
  const own = usesEdgeWeights(config) ? await dataset.readWeights('train') : null;
  const weight = own === null ? null : new Float32Array(total);
  let at = 0;
  for (const forward of [true, false]) {
    if (forward ? !incoming : !outgoing) continue;
    const shift = forward ? 0 : dataset.stats.num_relations;
    weight?.set(own as Float32Array, at);
    for (let e = 0; e < count; e++, at++) {
      const [from, to] = [rows[e * columns], rows[(e + 1) * columns - 1]];
      src[at] = forward ? from : to;
      dst[at] = forward ? to : from;
      if (columns === 3) relation[at] = rows[e * columns + 1] + shift;
    }
  }
  const graph = Graph.fromEdges(src, dst, { numNodes: dataset.stats.num_nodes });
  if (columns === 3) graph.edata[fields.relation] = fromTypedArray(relation);
  if (weight !== null) graph.edata[fields.weight] = fromTypedArray(weight);
  return graph;
}

async function nodeFields(
  config: SkeinConfig,
  dataset: PreparedDataset,
): Promise<Record<string, FeatureRows>> {
  const { num_nodes: numNodes } = dataset.stats;
  const wanted = usesFeatures(config);
  const file = wanted ? dataset.featuresFile() : null;
  const labels = await dataset.readLabels();
  if ((wanted && file === null) || labels === null)
    throw new ConfigError(
      `storage.dataset: expected nodes with ${wanted ? 'features and labels' : 'labels'}, got a dataset without ${labels === null ? 'labels' : 'features'}. Training on the whole graph with several workers needs ${wanted ? 'both' : 'them'}.`,
    );
  const result: Record<string, FeatureRows> = {};
  if (file !== null) {
    await dataset.checkFeatures();
    const bytes = await readFile(file.path);
    const values = new Float32Array(bytes.buffer, bytes.byteOffset, numNodes * file.width);
    result[fields.features] = fromTypedArray(values, [numNodes, file.width]);
  }
  result[fields.labels] = fromTypedArray(labels);
  for (const [split, field] of Object.entries(fields.masks)) {
    const mask = new Uint8Array(numNodes);
    for (const v of (await dataset.readNodes(split as keyof typeof fields.masks)) ?? []) mask[v] = 1;
    result[field] = fromTypedArray(mask);
  }
  return result;
}
