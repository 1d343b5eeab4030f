/**
 * Converts between rows of nodes and rows of edges: the row of an end for every edge, reductions of edge rows, and
 * reordering between edge ids and positions.
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

interface SpreadAttributes {
  readonly ids: Int32Array;
  /** Returns the indices i with ids[i] = r for each row r of x; called for the gradient. */
  readonly inverse: () => { offsets: Offsets; indices: Int32Array };
}

const spreadOp = builtinOp<SpreadAttributes>({
  name: 'nodesToEdges',
  forward(_ctx, [x], { ids }) {
    const y = Tensor.allocate(x.dtype, [ids.length, ...x.shape.slice(1)]);
    const rowBytes = sizeOf(x.shape.slice(1)) * dtypes[x.dtype].bytes;
    kernels().gatherRows(pack(x), ids, y.floats, ids.length, rowBytes);
    return y;
  },
  backward(_ctx, gy, { inverse }) {
    const { offsets, indices } = inverse();
    const rows = offsets.length - 1;
    const width = sizeOf(gy.shape.slice(1));
    const gx = Tensor.allocate(gy.dtype, [rows, ...gy.shape.slice(1)]);
    spmm({ x: pack(gy), xRows: gy.shape[0], y: gx.floats, width, offsets, indices });
    return [gx];
  },
});

/** Returns y[i] = x[ids[i]]. @param inverse returns the indices i of each row of x, for the gradient. */
export function spreadRows(x: Tensor, ids: Int32Array, inverse: SpreadAttributes['inverse']): Tensor {
  return spreadOp([x], { ids, inverse });
}

export function srcToEdges(adjacency: Adjacency, x: Tensor): Tensor {
  checkRows('srcToEdges', 'x', x, adjacency.numSrc, 'source');
  return spreadOp([x], {
    ids: adjacency.indices,
    inverse: () => {
      const { offsets, positions } = adjacency.out();
      return { offsets, indices: positions };
    },
  });
}

export function dstToEdges(adjacency: Adjacency, x: Tensor): Tensor {
  checkRows('dstToEdges', 'x', x, adjacency.numDst, 'destination');
  return spreadOp([x], {
    ids: adjacency.destinations(),
    inverse: () => ({ offsets: adjacency.offsets, indices: identity(adjacency.numEdges) }),
  });
}

export function aggregateEdges(adjacency: Adjacency, positionRows: Tensor, reduce: ReduceName): Tensor {
  checkRows('aggregateEdges', 'positionRows', positionRows, adjacency.numEdges, 'edge');
  if (!(adjacency.offsets instanceof Int32Array))
    throw new ValueError('aggregateEdges: edge rows need fewer than 2^31 edges.');
  return segmentReduce(positionRows, adjacency.offsets, reduce);
}

const permuteOp = builtinOp<{ readonly order: Int32Array; readonly back: Int32Array }>({
  name: 'permuteEdges',
  forward: (_ctx, [x], { order }) => permuteRows(x, order),
  backward: (_ctx, gy, { back }) => [permuteRows(gy, back)],
});

function permuteRows(x: Tensor, order: Int32Array): Tensor {
  const y = Tensor.allocate(x.dtype, x.shape);
  const rowBytes = sizeOf(x.shape.slice(1)) * dtypes[x.dtype].bytes;
  kernels().gatherRows(pack(x), order, y.floats, order.length, rowBytes);
  return y;
}

export function toPositions(adjacency: Adjacency, edgeRows: Tensor): Tensor {
  checkTensor('toPositions', 'edgeRows', edgeRows);
  checkRows('toPositions', 'edgeRows', edgeRows, adjacency.numEdges, 'edge');
  const { edgeIds } = adjacency;
  if (edgeIds === null) return edgeRows;
  return permuteOp([edgeRows], { order: edgeIds, back: adjacency.edgePositions() as Int32Array });
}

export function toEdgeIds(adjacency: Adjacency, positionRows: Tensor): Tensor {
  checkRows('toEdgeIds', 'positionRows', positionRows, adjacency.numEdges, 'edge');
  const { edgeIds } = adjacency;
  if (edgeIds === null) return positionRows;
  return permuteOp([positionRows], { order: adjacency.edgePositions() as Int32Array, back: edgeIds });
}
