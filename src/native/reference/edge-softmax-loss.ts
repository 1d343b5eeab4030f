/** The twin of edgeSoftmaxLoss: the queries, chunkedSoftmaxLoss over copies of all rows that are read, and the operator's gradient. */
import type { Kernels } from '../kernels.js';
import { relationOps } from '../op-codes.js';
import type { FloatArray } from '../types.js';
import { scoreTwins } from './scores.js';

export const edgeSoftmaxLossTwins = {
  edgeSoftmaxLoss(args) {
    const { op, rows, sources, targets, table, relations, negatives, maskOffsets, maskPositions } = args;
    const { loss, gRead, gRelations, edges, width, chunks, n, scale } = args;
    const source = copyRows(rows, sources, edges, width);
    const relation = table === null || relations === null ? null : copyRows(table, relations, edges, width);
    const query = source.slice();
    const adjoint = relationOps[op] === 'conjugate';
    if (relation !== null) product(op, source, relation, query, width, adjoint ? -1 : 1);
    const gQuery = gRead === null ? null : like(rows, edges * width);
    const gNegatives = gRead?.subarray(2 * edges * width, (2 * edges + chunks * n) * width).fill(0) ?? null;
    scoreTwins.chunkedSoftmaxLoss({
      query,
      target: copyRows(rows, targets, edges, width),
      rows: copyRows(rows, negatives, chunks * n, width),
      negatives: Int32Array.from({ length: chunks * n }, (_, i) => i),
      maskOffsets,
      maskPositions,
      loss,
      gQuery,
      gTarget: gRead?.subarray(edges * width, 2 * edges * width) ?? null,
      gRows: gNegatives,
      edges,
      width,
      rowCount: chunks * n,
      chunks,
      n,
      scale,
    });
    if (gQuery === null || gRead === null) return;
    if (relation === null) gRead.set(gQuery);
    else product(op, gQuery, relation, gRead, width, adjoint ? 1 : -1);
    if (gRelations === null) return;
    if (adjoint) product(op, source, gQuery, gRelations, width, -1);
    else product(op, gQuery, source, gRelations, width, -1);
  },
} satisfies Partial<Kernels>;

/** out = a · b row by row; for complex numbers, `sign` multiplies the imaginary components of b. */
function product(
  op: number,
  a: FloatArray,
  b: FloatArray,
  out: FloatArray,
  width: number,
  sign: number,
): void {
  const half = width / 2;
  for (let i = 0; i < a.length; i++) {
    const re = i % width < half;
    if (relationOps[op] === 'hadamard') out[i] = a[i] * b[i];
    else if (re) out[i] = a[i] * b[i] - sign * a[i + half] * b[i + half];
    else out[i] = sign * a[i - half] * b[i] + a[i] * b[i - half];
  }
}

function copyRows(from: FloatArray, ids: Int32Array, count: number, width: number): FloatArray {
  const out = like(from, count * width);
  for (let i = 0; i < count; i++) out.set(from.subarray(ids[i] * width, (ids[i] + 1) * width), i * width);
  return out;
}

function like(array: FloatArray, length: number): FloatArray {
  return array instanceof Float32Array ? new Float32Array(length) : new Float64Array(length);
}
