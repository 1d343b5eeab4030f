/**
 * Scores of edges over shards: inner products, and the additive scores of GATv2. All by edge position of the manager.
 */
import { checkAdditiveScores, checkDotScores } from '../../../graph/ops/scores.js';
import { spmm } from '../../../graph/ops/spmm.js';
import { kernels } from '../../../native/index.js';
import { Tensor } from '../../../tensor/index.js';
import { builtinOp } from '../../../tensor/op.js';
import { zerosLike } from '../../../tensor/ops/common.js';
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

const dotScoresOp = builtinOp<{ readonly graph: ShardedGraph }>({
  name: 'dotScores (shards)',
  forward(ctx, inputs, { graph }) {
    const [src, dst] = inputs.map(contiguous);
    const [, heads, size] = src.shape;
    const scores = Tensor.allocate(src.dtype, [graph.numEdges, heads]);
    const keeper = new RowKeeper(graph, ctx.needs(1));
    forEachShard(graph, {
      fields: [src],
      visit(shard, rows) {
        const { indices, numDst } = shard;
        const offsets = shard.allOffsets();
        const [x, y, width] = [rows[0].floats, dst.floats, heads * size];
        fillShardEdges(shard, scores, ({ floats }) =>
          kernels().sddmm({
            x,
            y,
            xScale: null,
            yScale: null,
            arg: null,
            offsets,
            indices,
            out: floats,
            rows: numDst,
            width,
            heads,
          }),
        );
        return keeper.keep(shard, rows);
      },
    });
    ctx.save(src, dst, ...keeper.rows);
    keeper.dispose();
    return scores;
  },
  backward(ctx, gy, { graph }) {
    const [src, dst, ...kept] = ctx.saved;
    const g = contiguous(gy).floats;
    const [, heads, size] = src.shape;
    const width = heads * size;
    const gSrc = ctx.needs(0) ? Tensor.allocate(src.dtype, src.shape) : null;
    const gDst = ctx.needs(1) ? zerosLike(dst.dtype, dst.shape) : null;
    forEachShard(graph, {
      // The gradient of the sources depends only on destinations.
      fields: gDst === null ? [] : [src],
      savedRows: gDst === null ? undefined : savedRowsOf(graph, kept, 1),
      gradients: gSrc === null ? [] : [gSrc],
      visit(shard, rows, gradients) {
        const weight = { weight: g, columns: heads, width };
        if (gSrc !== null) {
          const { offsets, dst: indices } = shard.out();
          const x = { x: dst.floats, xRows: graph.numDst, positions: shard.outPositions() };
          spmm({ ...weight, ...x, y: gradients[0].floats, offsets, indices });
        }
        if (gDst !== null) {
          const x = { x: rows[0].floats, xRows: shard.numSrc, positions: shard.edgePositions };
          addShard(shard, gDst, { ...weight, ...x });
        }
        return undefined;
      },
    });
    return [gSrc, gDst];
  },
});

export function dotScores(graph: ShardedGraph, src: Tensor, dst: Tensor): Tensor {
  checkDotScores(counts(graph), src, dst);
  return dotScoresOp([src, dst], { graph });
}

interface AdditiveAttributes {
  readonly graph: ShardedGraph;
  readonly slope: number;
}

const additiveScoresOp = builtinOp<AdditiveAttributes>({
  name: 'additiveScores (shards)',
  forward(ctx, inputs, { graph, slope }) {
    const given = inputs.map(contiguous);
    const [src, dst, a, edge] = given;
    const [, heads, size] = src.shape;
    const scores = Tensor.allocate(src.dtype, [graph.numEdges, heads]);
    const keeper = new RowKeeper(graph, ctx.recording);
    forEachShard(graph, {
      fields: [src],
      visit(shard, rows) {
        const { indices, numDst } = shard;
        const own = edge === undefined ? null : gatherShardEdges(shard, edge);
        const ends = { xl: rows[0].floats, xr: dst.floats, a: a.floats, ee: own?.floats ?? null };
        const offsets = shard.allOffsets();
        fillShardEdges(shard, scores, ({ floats }) =>
          kernels().gatv2Scores({
            ...ends,
            offsets,
            indices,
            out: floats,
            rows: numDst,
            heads,
            width: size,
            slope,
          }),
        );
        disposeCopy(own, edge);
        return keeper.keep(shard, rows);
      },
    });
    ctx.save(...given, ...keeper.rows);
    keeper.dispose();
    return scores;
  },
  backward(ctx, gy, { graph, slope }) {
    const hasEdge = ctx.hasInput(3);
    const [src, dst, a] = ctx.saved;
    const edge = hasEdge ? ctx.saved[3] : null;
    const gradients: AdditiveGradients = {
      gDst: zerosLike(dst.dtype, dst.shape),
      ga: zerosLike(a.dtype, a.shape),
      gEdge: edge === null ? null : Tensor.allocate(edge.dtype, edge.shape),
    };
    const gSrc = ctx.needs(0) ? Tensor.allocate(src.dtype, src.shape) : null;
    const g = contiguous(gy);
    forEachShard(graph, {
      fields: [src],
      savedRows: savedRowsOf(graph, ctx.saved.slice(hasEdge ? 4 : 3), 1),
      gradients: gSrc === null ? [] : [gSrc],
      visit(shard, rows, [target]) {
        additiveGradients(shard, { src: rows[0], dst, a, edge, g }, gradients, target ?? null, slope);
        return undefined;
      },
    });
    const { gDst, ga, gEdge } = gradients;
    return hasEdge ? [gSrc, gDst, ga, gEdge] : [gSrc, gDst, ga];
  },
});

interface AdditiveGradients {
  readonly gDst: Tensor;
  readonly ga: Tensor;
  readonly gEdge: Tensor | null;
}

/** Adds the contribution of one shard to the gradients, and fills the gradient of its sources. */
function additiveGradients(
  shard: GraphShard,
  { src, dst, a, edge, g }: Record<'src' | 'dst' | 'a' | 'g', Tensor> & { readonly edge: Tensor | null },
  { gDst, ga, gEdge }: AdditiveGradients,
  gSrc: Tensor | null,
  slope: number,
): void {
  const [, heads, size] = src.shape;
  const { indices, numDst, numSrc } = shard;
  const own = edge === null ? null : gatherShardEdges(shard, edge);
  const gOwn = gatherShardEdges(shard, g);
  const ends = {
    xl: src.floats,
    xr: dst.floats,
    a: a.floats,
    ee: own?.floats ?? null,
    gout: gOwn.floats,
    heads,
    width: size,
    slope,
  };
  const gDstPart = Tensor.allocate(gDst.dtype, gDst.shape);
  const gaPart = Tensor.allocate(ga.dtype, ga.shape);
  const offsets = shard.allOffsets();
  const run = (gEdgePart: Tensor | null): void =>
    kernels().gatv2ScoresBackward({
      ...ends,
      offsets,
      indices,
      gxr: gDstPart.floats,
      ga: gaPart.floats,
      gee: gEdgePart?.floats ?? null,
      rows: numDst,
    });
  if (gEdge === null) run(null);
  else fillShardEdges(shard, gEdge, run);
  kernels().axpy(1, gDstPart.floats, gDst.floats, gDst.size);
  kernels().axpy(1, gaPart.floats, ga.floats, ga.size);
  gDstPart.dispose();
  gaPart.dispose();
  if (gSrc !== null) {
    const out = shard.out();
    const structure = { offsets: out.offsets, indices: out.dst, positions: out.positions, rows: numSrc };
    kernels().gatv2ScoresBackwardSource({ ...ends, ...structure, gxl: gSrc.floats });
  }
  disposeCopy(own, edge);
  disposeCopy(gOwn, g);
}

export function additiveScores(
  graph: ShardedGraph,
  src: Tensor,
  dst: Tensor,
  a: Tensor,
  edge: Tensor | null,
  slope: number,
): Tensor {
  checkAdditiveScores(counts(graph), src, dst, a, edge);
  return additiveScoresOp(edge === null ? [src, dst, a] : [src, dst, a, edge], { graph, slope });
}

function counts({ link, numDst, numEdges }: ShardedGraph): {
  numSrc: number;
  numDst: number;
  numEdges: number;
} {
  return { numSrc: link.numOwn, numDst, numEdges };
}
