/** A sampled neighbourhood in host memory, in the form that GammaGL's samplers return. */
import type { Batch } from '../../sample/batch.js';
import { Adj } from './adj.js';

export class HostSample {
  /** Ids of all nodes, the seeds first, then by hop in order of appearance. */
  readonly allNode: Int32Array;
  /** The edges of each layer, the outermost hop first. */
  readonly adjs: readonly Adj[];
  /** Number of seed rows: `allNode.subarray(0, batchSize)` are the seeds, equal ones once. */
  readonly batchSize: number;
  /** The row of each given seed; equal seeds share a row. */
  readonly seedRows: Int32Array;
  readonly nodesPerHop: readonly number[];
  readonly edgesPerHop: readonly number[];
  /** The batch for Skein's layers: `batch.blocks`. */
  readonly batch: Batch;

  constructor(batch: Batch) {
    this.batch = batch;
    this.allNode = batch.nodeIds;
    this.adjs = batch.adjs().map(({ row, col, eId, size }) => new Adj(row, col, eId, size));
    this.batchSize = batch.numSeeds;
    this.seedRows = batch.seedRows;
    this.nodesPerHop = batch.nodesPerHop;
    this.edgesPerHop = batch.edgesPerHop;
  }
}
