/**
 * The weights of an attention layer in the form of `momentAttention`, for embedding the same nodes at many times without
 * gradients. The layer is linear from the attended events to its hidden row, so its maps are multiplied with each other first;
 * the contributions of neighbours and events then do not depend on the time, and are computed once.
 */
import { fromTypedArray, matmul, permute, reshape, type Tensor } from '../../tensor/index.js';
import { pack } from '../../tensor/ops/common.js';
import type { TemporalAttentionLayer } from './attention-layer.js';
import { headProduct } from './attention-op.js';

export interface MomentWeights {
  /** Width of the hidden row, to which relu is applied. */
  readonly hidden: number;
  /** From rows of neighbours to the hidden row, by head [heads·hidden, dimNode], with a bias [heads·hidden]. */
  readonly node: Tensor;
  readonly nodeBias: Tensor;
  /** From features of events [heads·hidden, dimEdge]; null without. */
  readonly edge: Tensor | null;
  /** From the cosines of all heads [heads·dimTime, hidden]. */
  readonly merge: Float32Array;
  /** From the row of a node itself [hidden, dimNode], with a bias [hidden]. */
  readonly own: Tensor;
  readonly ownBias: Tensor;
  /** Factor of the scores and slope of negative ones. */
  readonly scale: number;
  readonly slope: number;
}

export function momentWeights(layer: TemporalAttentionLayer): MomentWeights {
  const { output, value, sizes, variant } = layer;
  const { heads, dimNode, dimEdge, dimTime } = sizes;
  const [, size, width] = value.shape;
  const [hidden] = output.bias.shape;
  const projected = 'project' in output ? matmul(output.attended, output.project.weight) : output.attended;
  const byHead = permute(reshape(projected, [hidden, heads, size]), [1, 0, 2]);
  const whole = pack(headProduct(byHead, value, false));
  const columns = (from: number, count: number): Float32Array => {
    const part = new Float32Array(heads * hidden * count);
    for (let r = 0; r < heads * hidden; r++)
      part.set(whole.subarray(r * width + from, r * width + from + count), r * count);
    return part;
  };
  const nodeBias = columns(width - 1, 1);
  if ('project' in output && output.project.bias !== null) {
    // Shares add up to 1 by head, and to 0 without events: then this bias is left out too, as in the layer.
    const bias = pack(matmul(output.attended, output.project.bias));
    for (let r = 0; r < hidden; r++) nodeBias[r] += bias[r];
  }
  const times = columns(dimNode + dimEdge, dimTime);
  const merge = new Float32Array(times.length);
  for (let k = 0; k < heads; k++)
    for (let r = 0; r < hidden; r++)
      for (let j = 0; j < dimTime; j++)
        merge[(k * dimTime + j) * hidden + r] = times[(k * hidden + r) * dimTime + j];
  const tensorOf = (part: Float32Array, count: number): Tensor =>
    fromTypedArray(part, [heads * hidden, count]);
  return {
    hidden,
    node: tensorOf(columns(0, dimNode), dimNode),
    nodeBias: fromTypedArray(nodeBias, [heads * hidden]),
    edge: dimEdge === 0 ? null : tensorOf(columns(dimNode, dimEdge), dimEdge),
    merge,
    own: output.own,
    ownBias: output.bias,
    scale: variant === 'tgl' ? 1 : 1 / Math.sqrt(size),
    slope: variant === 'tgl' ? 0.2 : 1,
  };
}
