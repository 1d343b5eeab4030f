/**
 * Graph attention over shards in one pass: each shard's attention is merged with that of the shards before it by its
 * fraction of the softmax (online softmax), so no score of an edge is stored. Rows and scores of sources are sent in
 * one message. Backward fetches them again and returns both gradients in one message.
 */
import type { AttentionOptions } from '../../../graph/index.js';
import { checkAttention } from '../../../graph/ops/attention.js';
import { identity, spmm } from '../../../graph/ops/spmm.js';
import { type FloatArray, kernels, type RandomKey } from '../../../native/index.js';
import { Tensor } from '../../../tensor/index.js';
import { builtinOp } from '../../../tensor/op.js';
import { zerosLike } from '../../../tensor/ops/common.js';
import { defaultRandom } from '../../../tensor/random.js';
import type { GraphShard } from '../graph-shard.js';
import { forEachShard } from '../shard-rounds.js';
import {
  addShard,
  contiguous,
  disposeCopy,
  fillShardEdges,
  gatherShardEdges,
  RowKeeper,
  type ShardedGraph,
  savedRowsOf,
} from '../shard-rows.js';

interface AttentionAttributes {
  readonly graph: ShardedGraph;
  readonly slope: number;
  /** Edge ids by position, for dropout; null without it, or if positions are the ids. */
  readonly ids: Int32Array | null;
  /** Key of the dropout masks, on all workers and for all shards; null without dropout. */
  readonly key: RandomKey | null;
  readonly drop: number;
}

const attentionOp = builtinOp<AttentionAttributes>({
  name: 'attention (shards)',
  forward(ctx, inputs, attributes) {
    const { graph } = attributes;
    const given = inputs.map(contiguous);
    const [value, srcScore, dstScore, edgeScore] = given;
    const [, heads, size] = value.shape;
    const y = Tensor.allocate(value.dtype, [graph.numDst, heads, size]);
    const lse = Tensor.allocate(value.dtype, [graph.numDst, heads]);
    const keeper = new RowKeeper(graph, ctx.recording);
    forEachShard(graph, {
      fields: [value, srcScore],
      visit(shard, rows) {
        if (shard === graph.own) ownShard(shard, rows, dstScore, edgeScore ?? null, y, lse, attributes);
        else mergeShard(shard, rows, dstScore, edgeScore ?? null, y, lse, attributes);
        return keeper.keep(shard, rows);
      },
    });
    // The kernel's value for destinations without edges.
    const sums = lse.floats;
    for (let i = 0; i < sums.length; i++) if (sums[i] === -Infinity) sums[i] = 0;
    ctx.save(...given, y, lse, ...keeper.rows);
    keeper.dispose();
    lse.dispose();
    return y;
  },
  backward(ctx, gy, attributes) {
    const { graph } = attributes;
    const inputs = ctx.hasInput(3) ? 4 : 3;
    const { saved } = ctx;
    const [value, srcScore, dstScore] = saved;
    const edgeScore = inputs === 4 ? saved[3] : null;
    const [y, lse, ...kept] = saved.slice(inputs);
    const g = contiguous(gy);
    const gValue = Tensor.allocate(value.dtype, value.shape);
    const gSrc = Tensor.allocate(srcScore.dtype, srcScore.shape);
    const gDst = zerosLike(dstScore.dtype, dstScore.shape);
    const gEdge = edgeScore === null ? null : Tensor.allocate(edgeScore.dtype, edgeScore.shape);
    const given = { dstScore, edgeScore, y, lse, g };
    forEachShard(graph, {
      fields: [value, srcScore],
      savedRows: savedRowsOf(graph, kept, 2),
      gradients: [gValue, gSrc],
      visit(shard, rows, gradients) {
        shardGradients(shard, rows, given, gradients, gDst, gEdge, attributes);
        return undefined;
      },
    });
    return gEdge === null ? [gValue, gSrc, gDst] : [gValue, gSrc, gDst, gEdge];
  },
});

/** Returns the ids that decide about dropout of a shard's edges: the same in forward and backward, for any sharding. */
function maskIds(shard: GraphShard, { ids, key }: AttentionAttributes): Int32Array | null {
  if (key === null) return null;
  return ids === null ? shard.edgePositions : shard.edgePositions.map((position) => ids[position]);
}

/** Computes the own shard, which is visited first and writes all of y. */
function ownShard(
  shard: GraphShard,
  rows: readonly Tensor[],
  dstScore: Tensor,
  edgeScore: Tensor | null,
  y: Tensor,
  lse: Tensor,
  attributes: AttentionAttributes,
): void {
  const own = edgeScore === null ? null : gatherShardEdges(shard, edgeScore);
  const offsets = shard.allOffsets();
  attend(shard, rows, dstScore.floats, own, offsets, y.floats, lse.floats, attributes);
  const heads = y.shape[1];
  for (let v = 0; v < shard.numDst; v++)
    if (offsets[v] === offsets[v + 1]) lse.floats.fill(-Infinity, v * heads, (v + 1) * heads);
  disposeCopy(own, edgeScore);
}

/** Number of groups into which the destinations of a chunk are split, to bound the memory of their results. */
const destinationGroups = 8;

function mergeShard(
  shard: GraphShard,
  rows: readonly Tensor[],
  dstScore: Tensor,
  edgeScore: Tensor | null,
  y: Tensor,
  lse: Tensor,
  attributes: AttentionAttributes,
): void {
  const [, heads, size] = y.shape;
  const { dstRows, offsets, numTouched } = shard;
  const own = edgeScore === null ? null : gatherShardEdges(shard, edgeScore);
  const er = dstRows === null ? dstScore : Tensor.allocate(dstScore.dtype, [numTouched, heads]);
  if (dstRows !== null) {
    const bytes = heads * dstScore.floats.BYTES_PER_ELEMENT;
    kernels().gatherRows(dstScore.array, dstRows, er.array, numTouched, bytes);
  }
  const step = Math.max(256, Math.ceil(numTouched / destinationGroups));
  const part = Tensor.allocate(y.dtype, [Math.min(step, numTouched), heads, size]);
  const lsePart = Tensor.allocate(y.dtype, [Math.min(step, numTouched), heads]);
  for (let from = 0; from < numTouched; from += step) {
    const count = Math.min(step, numTouched - from);
    const block = offsets.subarray(from, from + count + 1);
    attend(
      shard,
      rows,
      er.floats.subarray(from * heads),
      own,
      block,
      part.floats,
      lsePart.floats,
      attributes,
    );
    const into = dstRows === null ? identity(numTouched) : dstRows;
    const places = into.subarray(from, from + count);
    kernels().mergeAttention(y.floats, lse.floats, part.floats, lsePart.floats, places, count, heads, size);
  }
  for (const t of [part, lsePart]) t.dispose();
  disposeCopy(own, edgeScore);
  disposeCopy(er, dstScore);
}

/** Computes the attention of the destinations of `offsets`, over edges of one shard. */
function attend(
  shard: GraphShard,
  [value, srcScore]: readonly Tensor[],
  dstScore: FloatArray,
  edgeScore: Tensor | null,
  offsets: Int32Array,
  y: FloatArray,
  lse: FloatArray,
  attributes: AttentionAttributes,
): void {
  const { slope, key, drop } = attributes;
  const [, heads, size] = value.shape;
  kernels().gatAttention({
    z: value.floats,
    el: srcScore.floats,
    er: dstScore,
    ee: edgeScore?.floats ?? null,
    offsets,
    indices: shard.indices,
    ids: maskIds(shard, attributes),
    key,
    drop,
    y,
    lse,
    rows: offsets.length - 1,
    heads,
    width: size,
    slope,
  });
}

function shardGradients(
  shard: GraphShard,
  [value, srcScore]: readonly Tensor[],
  given: Record<'dstScore' | 'y' | 'lse' | 'g', Tensor> & { readonly edgeScore: Tensor | null },
  [gValue, gSrc]: readonly Tensor[],
  gDst: Tensor,
  gEdge: Tensor | null,
  attributes: AttentionAttributes,
): void {
  const { slope, key, drop } = attributes;
  const { dstScore, edgeScore, y, lse, g } = given;
  const [, heads, size] = value.shape;
  const { indices, numDst, numEdges } = shard;
  const own = edgeScore === null ? null : gatherShardEdges(shard, edgeScore);
  const attention = Tensor.allocate(value.dtype, [numEdges, heads]);
  const gScore = Tensor.allocate(value.dtype, [numEdges, heads]);
  kernels().gatAttentionBackward({
    z: value.floats,
    el: srcScore.floats,
    er: dstScore.floats,
    ee: own?.floats ?? null,
    y: y.floats,
    lse: lse.floats,
    gy: g.floats,
    offsets: shard.allOffsets(),
    indices,
    ids: maskIds(shard, attributes),
    key,
    drop,
    attention: attention.floats,
    gscore: gScore.floats,
    rows: numDst,
    heads,
    width: size,
    slope,
  });
  const { offsets, dst, positions } = shard.out();
  const scores = { x: gScore.floats, xRows: numEdges, width: heads };
  spmm({ ...scores, offsets, indices: positions, y: gSrc.floats });
  addShard(shard, gDst, scores, identity(numEdges));
  spmm({
    x: g.floats,
    xRows: numDst,
    y: gValue.floats,
    width: heads * size,
    offsets,
    indices: dst,
    positions,
    weight: attention.floats,
    columns: heads,
  });
  if (gEdge !== null) fillShardEdges(shard, gEdge, (rows) => rows.floats.set(gScore.floats));
  for (const t of [attention, gScore]) t.dispose();
  disposeCopy(own, edgeScore);
}

export function attention(
  graph: ShardedGraph,
  value: Tensor,
  srcScore: Tensor,
  dstScore: Tensor,
  options: AttentionOptions,
  edgeIds: () => Int32Array | null,
): Tensor {
  const counts = { numSrc: graph.link.numOwn, numDst: graph.numDst, numEdges: graph.numEdges };
  const { inputs, slope, drop } = checkAttention(counts, value, srcScore, dstScore, options);
  const random = defaultRandom();
  const key = drop === 0 ? null : random.split(random.reserve(1)).key;
  return attentionOp(inputs, { graph, slope, ids: key === null ? null : edgeIds(), key, drop });
}
