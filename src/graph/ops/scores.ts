/**
 * Scores of edges from their two ends, one per head: inner products, the additive scores of GATv2, and the softmax over
 * the edges into each destination. All in position order.
 */
import { type FloatArray, kernels, type Offsets } from '../../native/index.js';
import { Tensor } from '../../tensor/index.js';
import { builtinOp } from '../../tensor/op.js';
import { checkRank, checkSameFloat, checkShapeIs, pack } from '../../tensor/ops/common.js';
import type { Adjacency } from '../adjacency.js';
import { checkRows } from './aggregate.js';
import { spmm } from './spmm.js';

const dotScoresOp = builtinOp<{ readonly adjacency: Adjacency }>({
  name: 'dotScores',
  forward(ctx, [src, dst], { adjacency }) {
    const [, heads, size] = src.shape;
    const { offsets, indices, numDst, numEdges } = adjacency;
    const scores = Tensor.allocate(src.dtype, [numEdges, heads]);
    kernels().sddmm({
      x: pack(src),
      y: pack(dst),
      xScale: null,
      yScale: null,
      arg: null,
      offsets,
      indices,
      out: scores.floats,
      rows: numDst,
      width: heads * size,
      heads,
    });
    ctx.save(src, dst);
    return scores;
  },
  backward(ctx, gy, { adjacency }) {
    const [src, dst] = ctx.saved;
    const g = pack(gy);
    const { offsets, indices } = adjacency;
    let gSrc: Tensor | null = null;
    if (ctx.needs(0)) {
      const out = adjacency.out();
      gSrc = sumWeighted(dst, g, out.offsets, out.indices, out.positions, src.shape[0]);
    }
    const gDst = ctx.needs(1) ? sumWeighted(src, g, offsets, indices, null, dst.shape[0]) : null;
    return [gSrc, gDst];
  },
});

/** Computes Σ over a row's entries of weight · x, per head. */
function sumWeighted(
  x: Tensor,
  weight: FloatArray,
  offsets: Offsets,
  indices: Int32Array,
  positions: Int32Array | null,
  rows: number,
): Tensor {
  const [xRows, heads, size] = x.shape;
  const y = Tensor.allocate(x.dtype, [rows, heads, size]);
  spmm({
    x: pack(x),
    xRows,
    y: y.floats,
    width: heads * size,
    offsets,
    indices,
    positions,
    weight,
    columns: heads,
  });
  return y;
}

/** The sizes of a graph. */
interface Counts {
  readonly numSrc: number;
  readonly numDst: number;
  readonly numEdges: number;
}

export function checkDotScores({ numSrc, numDst }: Counts, src: Tensor, dst: Tensor): void {
  checkSameFloat('dotScores', { src, dst });
  checkRank('dotScores', 'src', src, 3);
  checkRows('dotScores', 'src', src, numSrc, 'source');
  checkShapeIs('dotScores', 'dst', dst, [numDst, src.shape[1], src.shape[2]]);
}

export function dotScores(adjacency: Adjacency, src: Tensor, dst: Tensor): Tensor {
  checkDotScores(adjacency, src, dst);
  return dotScoresOp([src, dst], { adjacency });
}

interface AdditiveAttributes {
  readonly adjacency: Adjacency;
  readonly slope: number;
}

const additiveScoresOp = builtinOp<AdditiveAttributes>({
  name: 'additiveScores',
  forward(ctx, inputs, { adjacency, slope }) {
    const [src, dst, a, edge] = inputs;
    const [, heads, size] = src.shape;
    const { offsets, indices, numDst, numEdges } = adjacency;
    const scores = Tensor.allocate(src.dtype, [numEdges, heads]);
    kernels().gatv2Scores({
      xl: pack(src),
      xr: pack(dst),
      a: pack(a),
      ee: edge === undefined ? null : pack(edge),
      offsets,
      indices,
      out: scores.floats,
      rows: numDst,
      heads,
      width: size,
      slope,
    });
    ctx.save(...inputs);
    return scores;
  },
  backward(ctx, gy, { adjacency, slope }) {
    const [src, dst, a, edge] = ctx.saved;
    const [numSrc, heads, size] = src.shape;
    const ends = {
      xl: pack(src),
      xr: pack(dst),
      a: pack(a),
      ee: edge === undefined ? null : pack(edge),
      gout: pack(gy),
      heads,
      width: size,
      slope,
    };
    const gDst = Tensor.allocate(dst.dtype, dst.shape);
    const ga = Tensor.allocate(a.dtype, a.shape);
    const gEdge = edge === undefined ? null : Tensor.allocate(edge.dtype, edge.shape);
    kernels().gatv2ScoresBackward({
      ...ends,
      offsets: adjacency.offsets,
      indices: adjacency.indices,
      gxr: gDst.floats,
      ga: ga.floats,
      gee: gEdge?.floats ?? null,
      rows: adjacency.numDst,
    });
    let gSrc: Tensor | null = null;
    if (ctx.needs(0)) {
      gSrc = Tensor.allocate(src.dtype, src.shape);
      const { offsets, indices, positions } = adjacency.out();
      const structure = { offsets, indices, positions, rows: numSrc };
      kernels().gatv2ScoresBackwardSource({ ...ends, ...structure, gxl: gSrc.floats });
    }
    return edge === undefined ? [gSrc, gDst, ga] : [gSrc, gDst, ga, gEdge];
  },
});

export function checkAdditiveScores(
  { numSrc, numDst, numEdges }: Counts,
  src: Tensor,
  dst: Tensor,
  a: Tensor,
  edge: Tensor | null,
): void {
  checkSameFloat('additiveScores', { src, dst, a, edge });
  checkRank('additiveScores', 'src', src, 3);
  checkRows('additiveScores', 'src', src, numSrc, 'source');
  const [, heads, size] = src.shape;
  checkShapeIs('additiveScores', 'dst', dst, [numDst, heads, size]);
  checkShapeIs('additiveScores', 'a', a, [heads, size]);
  if (edge !== null) checkShapeIs('additiveScores', 'edge', edge, [numEdges, heads, size]);
}

export function additiveScores(
  adjacency: Adjacency,
  src: Tensor,
  dst: Tensor,
  a: Tensor,
  edge: Tensor | null,
  slope: number,
): Tensor {
  checkAdditiveScores(adjacency, src, dst, a, edge);
  return additiveScoresOp(edge === null ? [src, dst, a] : [src, dst, a, edge], { adjacency, slope });
}

const edgeSoftmaxOp = builtinOp<{ readonly adjacency: Adjacency }>({
  name: 'edgeSoftmax',
  forward(ctx, [scores], { adjacency }) {
    const y = Tensor.allocate(scores.dtype, scores.shape);
    kernels().edgeSoftmax(pack(scores), adjacency.offsets, y.floats, adjacency.numDst, columns(scores));
    ctx.save(y);
    return y;
  },
  backward({ saved: [y] }, gy, { adjacency }) {
    const gx = Tensor.allocate(gy.dtype, gy.shape);
    const { offsets, numDst } = adjacency;
    kernels().edgeSoftmaxBackward(y.floats, pack(gy), offsets, gx.floats, numDst, columns(gy));
    return [gx];
  },
});

const columns = (t: Tensor): number => t.shape.slice(1).reduce((product, n) => product * n, 1);

export function edgeSoftmax(adjacency: Adjacency, scores: Tensor): Tensor {
  checkRows('edgeSoftmax', 'scores', scores, adjacency.numEdges, 'edge');
  return edgeSoftmaxOp([scores], { adjacency });
}
