/**
 * Rows of nodes from the words of their text columns: each column is the weighted sum of the vectors of its words. Only the
 * vectors of a batch's words are gathered, so that their gradient, and the optimiser's step, is a few rows of the table.
 */
import { SparseMatrix } from '../../../../graph/index.js';
import { gatherRows, reshape, type Tensor } from '../../../../tensor/index.js';

/** Sizes of the text of a dataset. */
export interface TextSizes {
  /** Text columns per node. */
  readonly columns: number;
  /** Words of the vocabulary. */
  readonly words: number;
}

/** The text of some nodes: a matrix with `columns` consecutive rows per node and one column per word. */
export interface TextRows {
  readonly matrix: SparseMatrix;
  readonly columns: number;
}

/** Returns the rows of these nodes. */
export function gatherText({ matrix, columns }: TextRows, nodes: Int32Array): TextRows {
  const rows = new Int32Array(nodes.length * columns);
  for (let i = 0; i < rows.length; i++) rows[i] = nodes[Math.floor(i / columns)] * columns + (i % columns);
  return { matrix: matrix.gatherRows(rows), columns };
}

/** Returns the sums of the vectors in `table` [words, d], those of a node's columns side by side: [nodes, columns · d]. */
export function textBags({ matrix, columns }: TextRows, table: Tensor): Tensor {
  const { offsets, indices } = matrix.adjacency;
  const { distinct, positions } = distinctIds(indices, matrix.columns);
  const local = SparseMatrix.fromCsr(offsets as Int32Array, positions, matrix.values, [
    matrix.rows,
    distinct.length,
  ]);
  const bags = local.matmul(gatherRows(table, distinct, { sparse: true }));
  return reshape(bags, [matrix.rows / columns, columns * table.shape[1]]);
}

/** Returns the distinct ids in order of appearance, and the position of each id among them. */
function distinctIds(ids: Int32Array, limit: number): { distinct: Int32Array; positions: Int32Array } {
  const seen = new Int32Array(limit);
  const distinct = new Int32Array(Math.min(ids.length, limit));
  const positions = new Int32Array(ids.length);
  let count = 0;
  for (let i = 0; i < ids.length; i++) {
    if (seen[ids[i]] === 0) {
      distinct[count++] = ids[i];
      seen[ids[i]] = count;
    }
    positions[i] = seen[ids[i]] - 1;
  }
  return { distinct: distinct.subarray(0, count), positions };
}
