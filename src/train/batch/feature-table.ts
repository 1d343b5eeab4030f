/**
 * The table of a model whose nodes have fixed features and nothing that is trained. Features stay where they are: in memory,
 * in their file, or behind a cache. A checkpoint keeps nothing of it.
 */
import { kernels } from '../../native/index.js';
import { StateError } from '../../util/errors.js';
import type { Features } from './buffered-node-table.js';
import type { LocalRange, RunTable, Tile } from './node-table.js';

const name = 'FeatureTable';

export class FeatureTable implements RunTable {
  readonly numNodes: number;
  readonly optimizer = null;
  readonly partitions = 1;
  readonly capacity = 1;
  readonly embeddingDim = 0;
  readonly featureDim: number;
  readonly #features: Features | null;

  /** @param features by node; null for a model that needs none. */
  constructor(numNodes: number, features: Features | null) {
    this.numNodes = numNodes;
    this.#features = features;
    this.featureDim = features?.width ?? 0;
  }

  get numLocalRows(): number {
    return this.numNodes;
  }

  setOrdering(): void {}

  async load(): Promise<void> {}

  async nextState(): Promise<void> {
    throw new StateError(`${name}: expected no further state, all rows being within reach.`);
  }

  localRanges(): readonly LocalRange[] {
    return [{ localStart: 0, globalStart: 0, rows: this.numNodes }];
  }

  gatherEmbeddings(): never {
    throw new StateError(`${name}: expected a table of embeddings, got one of features.`);
  }

  async gatherEmbeddingsAsync(): Promise<void> {
    this.gatherEmbeddings();
  }

  gatherFeatures(ids: Int32Array, out: Float32Array): void | Promise<void> {
    const features = this.#features;
    if (features === null) throw new StateError(`${name}: expected features, got a table without.`);
    if ('gather' in features) return features.gather(ids, out).then(() => {});
    kernels().gatherRows(features.values, ids, out, ids.length, this.featureDim * 4);
  }

  update(): never {
    return this.gatherEmbeddings();
  }

  async readEmbeddings(): Promise<never> {
    return this.gatherEmbeddings();
  }

  async readFeatures(ids: Int32Array): Promise<Float32Array> {
    const out = new Float32Array(ids.length * this.featureDim);
    await this.gatherFeatures(ids, out);
    return out;
  }

  // biome-ignore lint/correctness/useYield: there is nothing to yield.
  async *embeddingTiles(): AsyncIterable<Tile> {
    this.gatherEmbeddings();
  }

  async unload(): Promise<void> {}

  async checkpoint(): Promise<null> {
    return null;
  }

  async restore(): Promise<void> {}

  async removeUnreferenced(): Promise<void> {}
}
