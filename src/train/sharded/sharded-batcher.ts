/**
 * Batches of a run on the whole graph, which is spread over workers: in every step each worker has its own nodes, and the
 * labels of those among them that count. All workers take the same steps, also those without a labelled node.
 *
 * Features are one tensor for all steps, so that a graph that caches what it fetched of a constant recognises it.
 */
import type { WorkerGroup } from '../../dist/index.js';
import type { SampleTime } from '../../sample/index.js';
import type { Tensor } from '../../tensor/index.js';
import { Batch } from '../batch/batch.js';
import type { SplitName } from '../batch/edge-splits.js';
import { type BatcherPosition, GraphBatcher } from '../batch/graph-batcher.js';
import { GraphModelStorage } from '../batch/graph-model-storage.js';
import { MemoryNodeTable } from '../batch/node-table.js';
import { RandomNodeSampler } from '../batch/samplers.js';
import { type ShardedLayer, ShardedLayers } from './sharded-layers.js';

/** What a step on one split computes from. */
export interface ShardedSet {
  /** The first to run first. */
  readonly layers: readonly ShardedLayer[];
  /** One row for each source of the first layer. */
  readonly features: Tensor;
  /** For each target of the last layer its class, −1 for those that do not count. */
  readonly labels: Int32Array;
  /** Nodes that count, of all workers. */
  readonly count: number;
  /** Whether the first graph keeps the rows of features that it fetches. */
  readonly cached: boolean;
}

export type ShardedSets = Readonly<Record<SplitName, ShardedSet>>;

/** Its features belong to the set and outlive it. */
class ShardedBatch extends Batch {
  override clear(): void {
    this.uniqueNodeFeatures = null;
    super.clear();
  }
}

export function shardedBatch(set: ShardedSet, train: boolean, at: Required<SampleTime>): Batch {
  const batch = new ShardedBatch(train);
  batch.at = at;
  // Rows that travel compressed carry what rounding lost of the gradients of the step before.
  if (train) for (const { graph } of set.layers) graph.beginStep();
  batch.batchSize = set.count;
  batch.shardedGraph = new ShardedLayers(set.layers);
  batch.uniqueNodeLabels = set.labels;
  batch.uniqueNodeFeatures = set.features;
  return batch;
}

export class ShardedBatcher extends GraphBatcher {
  readonly group: WorkerGroup;
  readonly sets: ShardedSets;
  #place: BatcherPosition = { epoch: 0, state: 0, step: 0, cursor: 0 };
  #evaluated = false;

  constructor(group: WorkerGroup, sets: ShardedSets) {
    const rows = sets.train.labels.length;
    const storage = new GraphModelStorage({
      numNodes: rows,
      numRelations: 0,
      edges: {},
      table: new MemoryNodeTable({ numNodes: rows }),
      nodes: {},
    });
    super(storage, new RandomNodeSampler(storage, { seed: 0, shuffle: false }));
    this.group = group;
    this.sets = sets;
  }

  override get position(): BatcherPosition {
    return this.#place;
  }

  override seek(position: BatcherPosition): void {
    this.#place = position;
  }

  override setValidationSet(): void {
    super.setValidationSet();
    this.#evaluated = false;
  }

  override setTestSet(): void {
    super.setTestSet();
    this.#evaluated = false;
  }

  get #set(): ShardedSet {
    return this.sets[this.graphStorage.activeSet];
  }

  get #training(): boolean {
    return this.graphStorage.activeSet === 'train';
  }

  override get numItems(): number {
    return this.#set.count;
  }

  /** An epoch is one step. */
  override hasNextBatch(): boolean {
    if (this.#set.count === 0) return false;
    return this.#training ? this.#place.step === 0 : !this.#evaluated;
  }

  override get atStateEnd(): boolean {
    return false;
  }

  override async loadStorage(): Promise<void> {}

  override async unloadStorage(): Promise<void> {}

  override async prepareBatch(): Promise<Batch> {
    const { epoch, step } = this.#place;
    const batch = shardedBatch(this.#set, this.#training, { epoch, step });
    const { count } = this.#set;
    if (this.#training) this.#place = { ...this.#place, step: step + 1, cursor: count };
    else this.#evaluated = true;
    return batch;
  }

  /** They are there already. */
  override async loadParameters(): Promise<void> {}

  override async nextEpoch(): Promise<void> {
    this.#place = { epoch: this.#place.epoch + 1, state: 0, step: 0, cursor: 0 };
  }
}
