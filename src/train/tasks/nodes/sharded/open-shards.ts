/**
 * The batches of a run on the whole graph, which is sharded over workers, from a configuration and partitions.
 */

import {
  constructFullGraph,
  constructMfgs,
  type DistributedGraph,
  type FullGraphOptions,
  type GraphShardManager,
  loadPartitionData,
  type PartitionData,
  suffixKeyLookup,
  type WorkerGroup,
} from '../../../../dist/index.js';
import { hopsOfStage } from '../../../../gnn/conv/conv-registry.js';
import { gatherRows, type Tensor } from '../../../../tensor/index.js';
import { unscoped } from '../../../../tensor/scope.js';
import { ConfigError, markCollective } from '../../../../util/errors.js';
import { invocation } from '../../../../util/invocation.js';
import { usesEdgeWeights, usesText } from '../../../config/check-layers.js';
import type { SkeinConfig } from '../../../config/index.js';
import type { DistributedConfig } from '../../../config/types.js';
import type { SplitName } from '../../../task.js';
import { fields } from './partition-dataset.js';
import type { ShardedLayer } from './sharded-layers.js';
import type { ShardedSet, ShardedSets } from './sharded-task.js';

const splits = Object.keys(fields.masks) as SplitName[];

/** Whether a run trains on the whole graph, sharded over workers. */
export function isSharded(config: SkeinConfig): boolean {
  return (
    config.distributed !== null &&
    config.training.full_batch &&
    config.model.learning_task === 'NODE_CLASSIFICATION'
  );
}

/** Throws if such a run cannot train the configuration; the error names the key. */
export function checkSharded({ model, storage, distributed }: SkeinConfig, workers: number): void {
  const reject = (key: string, wanted: string, got: string, advice: string): never => {
    const when = 'With training.full_batch and distributed';
    throw markCollective(new ConfigError(`${key}: expected ${wanted}, got ${got}. ${when}, ${advice}`));
  };
  const rows =
    'each worker holds its rows in memory. Use HOST_MEMORY and more workers, or full_batch: false.';
  if (model.encoder.embedding_dim > 0) {
    if (storage.embeddings.type !== 'HOST_MEMORY')
      reject('storage.embeddings.type', 'HOST_MEMORY', storage.embeddings.type, rows);
    if (model.regularizer.type !== 'NONE') {
      const advice = 'use the weight_decay of the optimisers, or full_batch: false.';
      reject('model.regularizer.type', 'NONE', model.regularizer.type, advice);
    }
  }
  if (storage.features.type !== 'HOST_MEMORY')
    reject('storage.features.type', 'HOST_MEMORY', storage.features.type, rows);
  if (usesText({ model }))
    reject('model.encoder.layers', 'no TEXT layer', 'one', 'text is not partitioned; set full_batch: false.');
  const { partitions, partition_dir: made } = distributed as DistributedConfig;
  if (made === null && partitions < workers) {
    const wanted = `at least ${workers}, the number of workers`;
    reject('distributed.partitions', wanted, String(partitions), 'raise it, or start fewer workers.');
  }
  if (model.encoder.layers.every((stage) => hopsOfStage(stage) === 0))
    reject('model.encoder.layers', 'a GNN layer', 'none', 'add one, or set full_batch: false.');
  const { train_neighbor_sampling: rules } = model.encoder;
  const sampled = rules.find(({ type }) => type !== 'ALL');
  if (sampled !== undefined) {
    const advice = 'use ALL, or full_batch: false, which trains sampled batches.';
    reject('model.encoder.train_neighbor_sampling', 'ALL neighbours', sampled.type, advice);
  }
}

/** A worker's shard of the graph. */
export interface OpenedShards {
  readonly sets: ShardedSets;
  /** Its nodes, by their ids in the dataset; null where the partitions do not state them. */
  readonly nodeIds: Int32Array | null;
}

/** Opens a worker's shard. `path` is the JSON of the partitions, or their directory. Collective. */
export async function openShards(
  config: SkeinConfig,
  distributed: DistributedConfig,
  path: string,
  group: WorkerGroup,
  sizes: NodeSizes,
): Promise<OpenedShards> {
  const data = await group.onEveryRank(() => loadPartitionData(path, { comm: group.comm }));
  const numLayers = config.model.encoder.layers.reduce((sum, stage) => sum + hopsOfStage(stage), 0);
  const known = await group.onEveryRank(() => knownNodes(data, sizes));
  const byClass = group.sum(splits.flatMap((split) => countClasses(known, split, sizes.classes)));
  checkClasses(path, byClass, sizes);
  const counts = splits.map((_, i) =>
    byClass.slice(i * sizes.classes, (i + 1) * sizes.classes).reduce((sum, count) => sum + count, 0),
  );
  if (counts[splits.indexOf('train')] === 0)
    throw markCollective(
      new ConfigError(
        `${path}: expected nodes to train on, got none. Check train_mask and labels of the partitions.`,
      ),
    );
  const graphs = new SplitGraphs(data, distributed, group, numLayers, usesEdgeWeights(config));
  const sets = splits.map((split, i) => [split, graphs.set(known, split, counts[i])] as const);
  return {
    sets: Object.fromEntries(sets) as Record<SplitName, ShardedSet>,
    nodeIds: data.originalNodeIds ?? null,
  };
}

/** Facts of the dataset that partitions must match. */
interface NodeSizes {
  /** The width of features; null where the encoder reads none. */
  readonly width: number | null;
  readonly classes: number;
  /** Labelled nodes of each split by class, split after split. */
  readonly labelled: readonly number[];
}

interface KnownNodes {
  readonly features: Tensor | null;
  readonly labels: Int32Array;
  readonly masks: Readonly<Record<SplitName, Uint8Array>>;
}

function knownNodes(data: PartitionData, { width, classes }: NodeSizes): KnownNodes {
  const field = (name: string): Tensor => {
    const found = suffixKeyLookup(data, name);
    const { start, end } = data.nodeRanges[data.rank];
    if (data.nodeTypeNames.length === 1 && found.shape[0] === end - start) return found;
    const known = Object.keys(data.nodeFeatures).join(', ') || 'none';
    throw new ConfigError(
      `distributed.partition_dir: expected partitions of one node type with the field ${name}, got ${data.nodeTypeNames.length} node types with the fields ${known}. Create them with "${invocation()} partition <this configuration>".`,
    );
  };
  const features = width === null ? null : field(fields.features);
  if (features !== null && (features.rank !== 2 || features.shape[1] !== width))
    throw new ConfigError(
      `distributed.partition_dir: expected ${width} features per node, as the dataset has, got shape ${features.shape.join(' × ')}.`,
    );
  const labels = Int32Array.from(field(fields.labels).dataSync());
  const wrong = labels.findIndex((label) => label < -1 || label >= classes);
  if (wrong >= 0)
    throw new ConfigError(
      `distributed.partition_dir: expected classes from 0 to ${classes - 1}, or -1 for none, as in the dataset, got ${labels[wrong]} for node ${data.nodeRanges[data.rank].start + wrong} of the partitions.`,
    );
  // A mask selects labelled nodes only, as in one process.
  const mask = (split: SplitName): Uint8Array => {
    const flags = field(fields.masks[split]).dataSync();
    return Uint8Array.from(labels, (label, row) => (flags[row] !== 0 && label >= 0 ? 1 : 0));
  };
  return {
    features: features === null ? null : unscoped(() => features),
    labels,
    masks: { train: mask('train'), validation: mask('validation'), test: mask('test') },
  };
}

function countClasses({ labels, masks }: KnownNodes, split: SplitName, classes: number): number[] {
  const counts = new Array<number>(classes).fill(0);
  for (const [row, label] of labels.entries()) if (masks[split][row] !== 0) counts[label]++;
  return counts;
}

/** Throws if the classes differ: partitions of another dataset can have as many nodes and edges. The outcome is the same on all workers. */
function checkClasses(path: string, got: readonly number[], { classes, labelled }: NodeSizes): void {
  const wrong = labelled.findIndex((count, i) => count !== got[i]);
  if (wrong < 0) return;
  const [split, label] = [splits[Math.floor(wrong / classes)], wrong % classes];
  throw markCollective(
    new ConfigError(
      `distributed.partition_dir: expected ${labelled[wrong]} ${split} nodes of class ${label}, as in the dataset, got ${got[wrong]} in ${path}. Create the partitions of this dataset with "${invocation()} partition <this configuration>".`,
    ),
  );
}

/** Returns whether edges of any type have a field. */
function hasField(data: PartitionData, name: string): boolean {
  return data.allShardEdges.some(({ edgeFeatures }) =>
    Object.keys(edgeFeatures).some((key) => key.endsWith(`/${name}`)),
  );
}

/** Creates the graphs of the splits: one graph for all of them, or message-flow graphs for each. */
class SplitGraphs {
  readonly #data: PartitionData;
  readonly #distributed: DistributedConfig;
  readonly #group: WorkerGroup;
  readonly #numLayers: number;
  readonly #isWeighted: boolean;
  #whole: readonly ShardedLayer[] | null = null;

  /** @param usesWeights whether a layer uses edge weights; they are read if the partitions have them. */
  constructor(
    data: PartitionData,
    distributed: DistributedConfig,
    group: WorkerGroup,
    numLayers: number,
    usesWeights: boolean,
  ) {
    this.#data = data;
    this.#distributed = distributed;
    this.#group = group;
    this.#numLayers = numLayers;
    this.#isWeighted = usesWeights && group.any(hasField(data, fields.weight));
  }

  /** Makes the set of a split. Collective. @param count labelled nodes of the split on all workers. */
  set(known: KnownNodes, split: SplitName, count: number): ShardedSet {
    const { features, masks } = known;
    const labels = known.labels.map((label, row) => (masks[split][row] === 0 ? -1 : label));
    if (!this.#distributed.use_mfgs) {
      const layers = this.#wholeLayers();
      return this.#withInputs({ layers, features, inputRows: Int32Array.from(labels.keys()), labels, count });
    }
    const { start } = this.#data.nodeRanges[this.#data.rank];
    const rows = Int32Array.from(labels.keys()).filter((row) => masks[split][row] !== 0);
    const seeds = rows.map((row) => row + start);
    const options = this.#options();
    const graphs = constructMfgs(this.#data, seeds, this.#numLayers, true, options);
    const layers = graphs.map((graph) => this.#layer(graph));
    const inputs = (graphs[0]?.inputNodes ?? seeds).map((id) => id - start);
    return this.#withInputs({
      layers,
      features: features === null ? null : unscoped(() => gatherRows(features, inputs)),
      inputRows: inputs,
      labels: rows.map((row) => known.labels[row]),
      count,
    });
  }

  #withInputs(set: Omit<ShardedSet, 'cached'>): ShardedSet {
    const cached = this.#distributed.cache_inputs && set.features !== null;
    if (cached) set.layers[0]?.graph.cacheInputs(set.features as Tensor);
    return { ...set, cached };
  }

  #wholeLayers(): readonly ShardedLayer[] {
    if (this.#whole === null) {
      const layer = this.#layer(constructFullGraph(this.#data, this.#options()));
      this.#whole = Array.from({ length: this.#numLayers }, () => layer);
    }
    return this.#whole;
  }

  #layer(manager: GraphShardManager): ShardedLayer {
    const graph: DistributedGraph =
      this.#distributed.mode === 'one_shot' ? manager.getFullPartitionGraph() : manager;
    const { edata } = graph;
    const relations = fields.relation in edata ? Int32Array.from(edata[fields.relation].dataSync()) : null;
    return { graph, relations };
  }

  #options(): FullGraphOptions {
    const { mode, pipeline_depth, max_collective_size, compression } = this.#distributed;
    return {
      comm: this.#group.comm,
      mode: mode === 'one_shot' ? ('sar' as const) : mode,
      pipelineDepth: pipeline_depth,
      maxCollectiveSize: max_collective_size,
      compression,
      ...(this.#isWeighted ? { edgeWeight: fields.weight } : {}),
    };
  }
}
