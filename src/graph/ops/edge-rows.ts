/**
 * Rows of nodes laid out along the edges, and back: each end's row for every edge, reductions of edge rows, and the
 * change between edge-id order and slot order.
 */
import { kernels, type Offsets } from '../../native/index.js';
import { dtypes } from '../../tensor/dtype.js';
import { segmentReduce, Tensor } from '../../tensor/index.js';
import { builtinOp } from '../../tensor/op.js';
import { checkTensor, pack } from '../../tensor/ops/common.js';
import { sizeOf } from '../../tensor/shape.js';
import { ValueError } from '../../util/errors.js';
import type { Adjacency } from '../adjacency.js';
import type { ReduceName } from '../fn.js';
import { checkRows } from './aggregate.js';
import { identity, spmm } from './spmm.js';

/** y[i] = x[ids[i]]; `inverse` lists for each row of x the places i where it went, as groups. */
interface SpreadAttributes {
  readonly ids: Int32Array;
  /** The places of each row of x, made when a gradient is wanted. */
  readonly places: () => { offsets: Offsets; indices: Int32Array };
}

const spreadOp = builtinOp<SpreadAttributes>({
  name: 'nodesToEdges',
  forward(_ctx, [x], { ids }) {
    const y = Tensor.allocate(x.dtype, [ids.length, ...x.shape.slice(1)]);
    const rowBytes = sizeOf(x.shape.slice(1)) * dtypes[x.dtype].bytes;
    kernels().gatherRows(pack(x), ids, y.floats, ids.length, rowBytes);
    return y;
  },
  backward(_ctx, gy, { places }) {
    const { offsets, indices } = places();
    const rows = offsets.length - 1;
    const width = sizeOf(gy.shape.slice(1));
    const gx = Tensor.allocate(gy.dtype, [rows, ...gy.shape.slice(1)]);
    spmm({ x: pack(gy), xRows: gy.shape[0], y: gx.floats, width, offsets, indices });
    return [gx];
  },
});

/** y[i] = x[ids[i]]; `places` are the i of each row of x, asked for when a gradient is wanted. */
export function spreadRows(x: Tensor, ids: Int32Array, places: SpreadAttributes['places']): Tensor {
  return spreadOp([x], { ids, places });
}

export function srcToEdges(adjacency: Adjacency, x: Tensor): Tensor {
  checkRows('srcToEdges', 'x', x, adjacency.numSrc, 'source');
  return spreadOp([x], {
    ids: adjacency.indices,
    places: () => {
      const { offsets, slots } = adjacency.out();
      return { offsets, indices: slots };
    },
  });
}

export function dstToEdges(adjacency: Adjacency, x: Tensor): Tensor {
  checkRows('dstToEdges', 'x', x, adjacency.numDst, 'destination');
  return spreadOp([x], {
    ids: adjacency.destinations(),
    places: () => ({ offsets: adjacency.offsets, indices: identity(adjacency.numEdges) }),
  });
}

export function aggregateEdges(adjacency: Adjacency, slotRows: Tensor, reduce: ReduceName): Tensor {
  checkRows('aggregateEdges', 'slotRows', slotRows, adjacency.numEdges, 'edge');
  if (!(adjacency.offsets instanceof Int32Array))
    throw new ValueError('aggregateEdges: edge rows need fewer than 2^31 edges.');
  return segmentReduce(slotRows, adjacency.offsets, reduce);
}

const permuteOp = builtinOp<{ readonly order: Int32Array; readonly back: Int32Array }>({
  name: 'permuteEdges',
  forward: (_ctx, [x], { order }) => permuted(x, order),
  backward: (_ctx, gy, { back }) => [permuted(gy, back)],
});

function permuted(x: Tensor, order: Int32Array): Tensor {
  const y = Tensor.allocate(x.dtype, x.shape);
  const rowBytes = sizeOf(x.shape.slice(1)) * dtypes[x.dtype].bytes;
  kernels().gatherRows(pack(x), order, y.floats, order.length, rowBytes);
  return y;
}

export function toSlots(adjacency: Adjacency, edgeRows: Tensor): Tensor {
  checkTensor('toSlots', 'edgeRows', edgeRows);
  checkRows('toSlots', 'edgeRows', edgeRows, adjacency.numEdges, 'edge');
  const { edgeIds } = adjacency;
  if (edgeIds === null) return edgeRows;
  return permuteOp([edgeRows], { order: edgeIds, back: adjacency.slotOfEdge() as Int32Array });
}

export function toEdgeIds(adjacency: Adjacency, slotRows: Tensor): Tensor {
  checkRows('toEdgeIds', 'slotRows', slotRows, adjacency.numEdges, 'edge');
  const { edgeIds } = adjacency;
  if (edgeIds === null) return slotRows;
  return permuteOp([slotRows], { order: adjacency.slotOfEdge() as Int32Array, back: edgeIds });
}
