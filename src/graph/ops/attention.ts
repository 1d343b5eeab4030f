/**
 * Graph attention in one pass over the source rows: forward keeps the result and one number per
 * destination and head, backward recomputes the attention weights.
 */
import { type FloatArray, kernels, type RandomKey } from '../../native/index.js';
import { Tensor } from '../../tensor/index.js';
import { builtinOp } from '../../tensor/op.js';
import { checkRank, checkSameFloat, checkShapeIs, pack } from '../../tensor/ops/common.js';
import { defaultRandom } from '../../tensor/random.js';
import { checkNumber } from '../../util/errors.js';
import type { Adjacency } from '../adjacency.js';
import type { AttentionOptions } from '../message-graph.js';
import { checkRows } from './aggregate.js';
import { identity, spmm } from './spmm.js';

interface AttentionAttributes {
  readonly adjacency: Adjacency;
  readonly slope: number;
  /** The ids of the edges in position order, for dropout. */
  readonly ids: Int32Array | null;
  readonly key: RandomKey | null;
  readonly drop: number;
}

const attentionOp = builtinOp<AttentionAttributes>({
  name: 'attention',
  forward(ctx, inputs, { adjacency, slope, ids, key, drop }) {
    const [value, srcScore, dstScore, edgeScore] = inputs;
    const [, heads, size] = value.shape;
    const { offsets, indices, numDst } = adjacency;
    const y = Tensor.allocate(value.dtype, [numDst, heads, size]);
    const lse = Tensor.allocate(value.dtype, [numDst, heads]);
    kernels().gatAttention({
      z: pack(value),
      el: pack(srcScore),
      er: pack(dstScore),
      ee: edgeScore === undefined ? null : pack(edgeScore),
      offsets,
      indices,
      ids,
      key,
      drop,
      y: y.floats,
      lse: lse.floats,
      rows: numDst,
      heads,
      width: size,
      slope,
    });
    ctx.save(...inputs, y, lse);
    return y;
  },
  backward(ctx, gy, attributes) {
    const hasEdge = ctx.hasInput(3);
    const { saved } = ctx;
    const [value, srcScore, dstScore] = saved;
    const edgeScore = hasEdge ? saved[3] : undefined;
    const [y, lse] = saved.slice(hasEdge ? 4 : 3);
    const { adjacency, slope, ids, key, drop } = attributes;
    const [numSrc, heads, size] = value.shape;
    const { offsets, indices, numDst, numEdges } = adjacency;
    const attention = Tensor.allocate(value.dtype, [numEdges, heads]);
    const gScore = Tensor.allocate(value.dtype, [numEdges, heads]);
    kernels().gatAttentionBackward({
      z: pack(value),
      el: pack(srcScore),
      er: pack(dstScore),
      ee: edgeScore === undefined ? null : pack(edgeScore),
      y: y.floats,
      lse: lse.floats,
      gy: pack(gy),
      offsets,
      indices,
      ids,
      key,
      drop,
      attention: attention.floats,
      gscore: gScore.floats,
      rows: numDst,
      heads,
      width: size,
      slope,
    });
    const gSrc = Tensor.allocate(value.dtype, [numSrc, heads]);
    const out = adjacency.out();
    const scores = { x: gScore.floats, xRows: numEdges, width: heads };
    spmm({ ...scores, offsets: out.offsets, indices: out.positions, y: gSrc.floats });
    const gDst = Tensor.allocate(value.dtype, [numDst, heads]);
    spmm({ ...scores, offsets, indices: identity(numEdges), y: gDst.floats });
    const gValue = ctx.needs(0) ? valueGradient(gy, attention.floats, adjacency, numSrc) : null;
    return hasEdge ? [gValue, gSrc, gDst, gScore] : [gValue, gSrc, gDst];
  },
});

function valueGradient(gy: Tensor, attention: FloatArray, adjacency: Adjacency, numSrc: number): Tensor {
  const [numDst, heads, size] = gy.shape;
  const { offsets, indices, positions } = adjacency.out();
  const gValue = Tensor.allocate(gy.dtype, [numSrc, heads, size]);
  spmm({
    x: pack(gy),
    xRows: numDst,
    y: gValue.floats,
    width: heads * size,
    offsets,
    indices,
    positions,
    weight: attention,
    columns: heads,
  });
  return gValue;
}

/** Throws if arguments do not fit a graph of these sizes; returns the inputs of the operation. */
export function checkAttention(
  counts: { readonly numSrc: number; readonly numDst: number; readonly numEdges: number },
  value: Tensor,
  srcScore: Tensor,
  dstScore: Tensor,
  { slope = 0.2, edgeScore = null, dropout = 0 }: AttentionOptions,
): { readonly inputs: Tensor[]; readonly slope: number; readonly drop: number } {
  checkSameFloat('attention', { value, srcScore, dstScore, edgeScore });
  checkRank('attention', 'value', value, 3);
  checkRows('attention', 'value', value, counts.numSrc, 'source');
  const heads = value.shape[1];
  checkShapeIs('attention', 'srcScore', srcScore, [counts.numSrc, heads]);
  checkShapeIs('attention', 'dstScore', dstScore, [counts.numDst, heads]);
  if (edgeScore !== null) checkShapeIs('attention', 'edgeScore', edgeScore, [counts.numEdges, heads]);
  checkNumber('attention', 'slope', slope);
  checkNumber('attention', 'dropout', dropout, 0, 1);
  const inputs = [value, srcScore, dstScore];
  if (edgeScore !== null) inputs.push(edgeScore);
  return { inputs, slope, drop: dropout };
}

export function attention(
  adjacency: Adjacency,
  value: Tensor,
  srcScore: Tensor,
  dstScore: Tensor,
  options: AttentionOptions,
  slotIds: () => Int32Array | null = () => null,
): Tensor {
  const { inputs, slope, drop } = checkAttention(adjacency, value, srcScore, dstScore, options);
  const random = defaultRandom();
  const key = drop === 0 ? null : random.split(random.reserve(1)).key;
  return attentionOp(inputs, { adjacency, slope, ids: key === null ? null : slotIds(), key, drop });
}
