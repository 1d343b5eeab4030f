/**
 * The result of the messages of shards: rows per edge, or their reduction in the destinations. Also computes the
 * gradient of a shard's messages from that of the result.
 */
import type { ReduceName } from '../../../graph/index.js';
import { identity, spmm } from '../../../graph/ops/spmm.js';
import { kernels } from '../../../native/index.js';
import { Tensor } from '../../../tensor/index.js';
import { zerosLike } from '../../../tensor/ops/common.js';
import { sizeOf } from '../../../tensor/shape.js';
import type { GraphShard } from '../graph-shard.js';
import { addShard, fillShardEdges, gatherShardEdges, rowBytes } from '../shard-rows.js';
import type { MessageTarget } from './message-run.js';

export class MessageResult {
  readonly y: Tensor;
  /** The winning edge position, for max and min. */
  readonly arg: Tensor | null;
  readonly #graph: MessageTarget;
  readonly #reduce: ReduceName | null;

  /** @param like messages of some edges. @param reduce null: rows per edge, by position. */
  constructor(graph: MessageTarget, reduce: ReduceName | null, like: Tensor) {
    this.#graph = graph;
    this.#reduce = reduce;
    const rows = reduce === null ? graph.numEdges : graph.numDst;
    const shape = [rows, ...like.shape.slice(1)];
    this.y = reduce === null ? Tensor.allocate(like.dtype, shape) : zerosLike(like.dtype, shape);
    this.arg = reduce === 'max' || reduce === 'min' ? Tensor.allocate('i32', shape) : null;
    this.arg?.array.fill(-1);
  }

  /** Adds the messages of a shard. */
  join(shard: GraphShard, messages: Tensor): void {
    const { y, arg } = this;
    if (shard.numEdges === 0) return;
    const width = sizeOf(y.shape.slice(1));
    const rows = { x: messages.floats, xRows: shard.numEdges, width };
    if (this.#reduce === null) {
      fillShardEdges(shard, y, (into) => (into.array as Float32Array).set(messages.floats));
    } else if (arg === null) {
      addShard(shard, y, { ...rows, yScale: this.#scale() }, identity(shard.numEdges));
    } else {
      const { numTouched, offsets, edgePositions: positions, dstRows } = shard;
      const part = Tensor.allocate(y.dtype, [numTouched, width]);
      const argPart = Tensor.allocate('i32', [numTouched, width]);
      const [won, all] = [argPart.array as Int32Array, arg.array as Int32Array];
      const entries = { reduce: this.#reduce, offsets, indices: identity(shard.numEdges), positions };
      spmm({ ...rows, ...entries, y: part.floats, arg: won });
      const max = this.#reduce === 'max';
      kernels().mergeExtreme(max, y.floats, all, part.floats, won, dstRows, numTouched, width);
      part.dispose();
      argPart.dispose();
    }
  }

  #scale(): Float32Array | Float64Array | null {
    return this.#reduce === 'mean' ? this.#graph.meanScale(this.y.dtype as 'f32' | 'f64', 0) : null;
  }
}

/** Returns the gradient of a shard's messages from that of the result; `arg` is for max and min. */
export function messageGradient(
  graph: MessageTarget,
  shard: GraphShard,
  reduce: ReduceName | null,
  g: Tensor,
  arg: Tensor | null,
): Tensor {
  if (reduce === null) return gatherShardEdges(shard, g);
  const width = sizeOf(g.shape.slice(1));
  const rows = Tensor.allocate(g.dtype, [shard.numEdges, ...g.shape.slice(1)]);
  const dst = shard.destinations();
  kernels().gatherRows(g.array, dst, rows.array, shard.numEdges, rowBytes(g));
  const values = rows.floats;
  if (arg !== null) {
    const won = arg.array as Int32Array;
    for (let p = 0; p < shard.numEdges; p++)
      for (let f = 0; f < width; f++)
        if (won[dst[p] * width + f] !== shard.edgePositions[p]) values[p * width + f] = 0;
  } else if (reduce === 'mean') {
    const scale = graph.meanScale(g.dtype as 'f32' | 'f64', 0);
    for (let p = 0; p < shard.numEdges; p++)
      for (let f = 0; f < width; f++) values[p * width + f] *= scale[dst[p]];
  }
  return rows;
}
