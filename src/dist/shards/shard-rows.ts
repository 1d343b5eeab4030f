/**
 * Helpers of the operations on shards: edge rows between the manager's positions and a shard's, rows kept for backward,
 * and sums into the destinations.
 */

import { type SpmmArguments, spmm } from '../../graph/ops/spmm.js';
import { type FloatArray, kernels } from '../../native/index.js';
import { dtypes } from '../../tensor/dtype.js';
import { Tensor } from '../../tensor/index.js';
import { materialize } from '../../tensor/ops/common.js';
import { sizeOf } from '../../tensor/shape.js';
import type { GraphShard } from './graph-shard.js';
import type { ChunkedGraph } from './shard-rounds.js';

/** 'sar' fetches source rows again in backward, 'sa' keeps them. */
export type ShardMode = 'sar' | 'sa';

export interface ShardedGraph extends ChunkedGraph {
  readonly mode: ShardMode;
  readonly numDst: number;
  readonly numEdges: number;
}

/** Returns the rows of a manager's edge tensor for the edges of a shard; the tensor itself if they are all. */
export function gatherShardEdges(shard: GraphShard, t: Tensor): Tensor {
  if (shard.numEdges === t.shape[0]) return t;
  const rows = Tensor.allocate(t.dtype, [shard.numEdges, ...t.shape.slice(1)]);
  kernels().gatherRows(t.array, shard.edgePositions, rows.array, shard.numEdges, rowBytes(t));
  return rows;
}

/** Fills rows of a manager's edge tensor: `compute` gets memory for the edges of the shard. */
export function fillShardEdges(shard: GraphShard, into: Tensor, compute: (rows: Tensor) => void): void {
  if (shard.numEdges === into.shape[0]) {
    compute(into);
    return;
  }
  const rows = Tensor.allocate(into.dtype, [shard.numEdges, ...into.shape.slice(1)]);
  compute(rows);
  kernels().putRows(rows.array, shard.edgePositions, into.array, shard.numEdges, rowBytes(into));
  rows.dispose();
}

/** Returns the tensor itself, or a copy if it is strided: kernels and messages take row-major tensors. */
export function contiguous(t: Tensor): Tensor {
  return t.isContiguous ? t : materialize(t);
}

export function rowBytes(t: Tensor): number {
  return sizeOf(t.shape.slice(1)) * dtypes[t.dtype].bytes;
}

/** Disposes a tensor that was allocated for a shard, unless it is `source` itself. */
export function disposeCopy(copy: Tensor | null | undefined, source?: Tensor | null): void {
  if (copy !== null && copy !== undefined && copy !== source) copy.dispose();
}

/** Returns a function that finds the rows of each chunk among saved tensors: `fields` consecutive ones for each. */
export function savedRowsOf(
  graph: ShardedGraph,
  saved: readonly Tensor[],
  fields: number,
): ((chunk: GraphShard) => readonly Tensor[]) | undefined {
  if (graph.mode === 'sar') return undefined;
  return ({ index }) => saved.slice(index * fields, (index + 1) * fields);
}

/** Collects the rows that are passed to `save` in mode 'sa'. */
export class RowKeeper {
  readonly rows: Tensor[] = [];
  readonly #own: GraphShard;
  readonly #active: boolean;

  /** @param wanted whether backward will need rows at all. */
  constructor(graph: ShardedGraph, wanted: boolean) {
    this.#own = graph.own;
    this.#active = wanted && graph.mode === 'sa';
  }

  /** Keeps rows at the end of a visit. */
  keep(shard: GraphShard, rows: readonly Tensor[]): 'keep' | undefined {
    if (!this.#active || shard === this.#own) return undefined;
    this.rows.push(...rows);
    return 'keep';
  }

  /** Releases the rows after `save`: the tape holds the memory. */
  dispose(): void {
    for (const t of this.rows) t.dispose();
  }
}

/** Returns the factors of a shard's sources from those of all rows used here. */
export function shardScale({ start, numSrc }: GraphShard, used: FloatArray | null): FloatArray | null {
  return used === null ? null : used.subarray(start, start + numSrc);
}

/**
 * Computes y[v] += Σ over a shard's edges into v; all sums use it, so that a shard with few destinations touches few
 * rows.
 */
export function addShard(
  shard: GraphShard,
  y: Tensor,
  sum: Omit<SpmmArguments, 'y' | 'offsets' | 'indices' | 'accumulate'>,
  indices: Int32Array = shard.indices,
): void {
  const { dstRows, offsets, numTouched, numDst } = shard;
  if (dstRows === null || 2 * numTouched > numDst) {
    spmm({ ...sum, y: y.floats, offsets: shard.allOffsets(), indices, accumulate: true });
    return;
  }
  const part = Tensor.allocate(y.dtype, [numTouched, sum.width]);
  const scale = sum.yScale ?? null;
  const yScale = scale === null ? null : gatherFactors(scale, dstRows);
  spmm({ ...sum, y: part.floats, yScale, offsets, indices });
  kernels().scatterAddRows(dstRows, part.floats, y.floats, numTouched, numDst, sum.width);
  part.dispose();
}

function gatherFactors(values: FloatArray, ids: Int32Array): FloatArray {
  const out = values instanceof Float32Array ? new Float32Array(ids.length) : new Float64Array(ids.length);
  for (let i = 0; i < ids.length; i++) out[i] = values[ids[i]];
  return out;
}
