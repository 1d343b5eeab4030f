/**
 * A sparse matrix by rows (CSR), such as bag-of-words features of nodes. It stays sparse in the first layer, where x·W
 * becomes an aggregation of rows of W. Its values are constants without a gradient.
 */

import { kernels } from '../native/index.js';
import { deviceConstant } from '../tensor/device-constants.js';
import { fromTypedArray, type Ids, type Tensor, zeros } from '../tensor/index.js';
import { checkRank, toInt32 } from '../tensor/ops/common.js';
import { defaultRandom } from '../tensor/random.js';
import { unscoped } from '../tensor/scope.js';
import { checkInteger, checkNumber, expected, ShapeError, ValueError } from '../util/errors.js';
import { Adjacency, checkNodeIds } from './adjacency.js';
import { aggregate } from './ops/aggregate.js';

export class SparseMatrix {
  /** [rows, columns] */
  readonly shape: readonly [number, number];
  /** Rows as destinations, columns as sources. */
  readonly adjacency: Adjacency;
  /** One value per stored entry. */
  readonly values: Float32Array;
  #tensor: Tensor | null = null;
  /** Whether the matrix is used for many steps, so that a device may cache its values. */
  readonly #lasting: boolean;

  private constructor(adjacency: Adjacency, values: Float32Array, lasting = true) {
    this.#lasting = lasting;
    this.adjacency = adjacency;
    this.values = values;
    this.shape = [adjacency.numDst, adjacency.numSrc];
  }

  /** Makes a matrix from CSR arrays: entries offsets[r] … offsets[r+1]−1 of row r. Values default to 1. */
  static fromCsr(
    offsets: Int32Array,
    indices: Int32Array,
    values: Float32Array | null,
    shape: readonly [number, number],
  ): SparseMatrix {
    const where = 'SparseMatrix.fromCsr';
    if (!Array.isArray(shape) || shape.length !== 2)
      throw new ValueError(expected(where, '[rows, columns]', 'shape', shape));
    const columns = checkInteger(where, 'columns', shape[1], 0, 2 ** 31 - 1);
    if (offsets.length - 1 !== shape[0])
      throw new ShapeError(expected(where, `${shape[0] + 1} offsets`, 'offsets', offsets.length));
    Adjacency.fromCsc(offsets, indices, columns);
    const own = values?.slice() ?? new Float32Array(indices.length).fill(1);
    if (own.length !== indices.length)
      throw new ShapeError(expected(where, `${indices.length} values`, 'values', own.length));
    const bad = own.findIndex((v) => !Number.isFinite(v));
    if (bad >= 0) {
      const row = rowOf(offsets, bad);
      throw new ValueError(
        expected(where, 'finite values', 'values', `${own[bad]} in row ${row}, column ${indices[bad]}`),
      );
    }
    return new SparseMatrix(Adjacency.trusted(offsets.slice(), indices.slice(), columns), own);
  }

  /** Makes a matrix of the entries of a dense one that are not 0. */
  static fromDense(dense: Tensor): SparseMatrix {
    checkRank('SparseMatrix.fromDense', 'dense', dense, 2);
    const [rows, columns] = dense.shape;
    const data = dense.dataSync<Float32Array>();
    const offsets = new Int32Array(rows + 1);
    const indices: number[] = [];
    const values: number[] = [];
    for (let r = 0; r < rows; r++) {
      for (let c = 0; c < columns; c++) {
        const v = data[r * columns + c];
        if (v === 0) continue;
        indices.push(c);
        values.push(v);
      }
      offsets[r + 1] = indices.length;
    }
    return SparseMatrix.fromCsr(offsets, Int32Array.from(indices), Float32Array.from(values), [
      rows,
      columns,
    ]);
  }

  get rows(): number {
    return this.shape[0];
  }

  get columns(): number {
    return this.shape[1];
  }

  /** The number of stored entries. */
  get numEntries(): number {
    return this.values.length;
  }

  /** Multiplies this matrix by a dense one: [rows, columns] · [columns, F]. */
  matmul(dense: Tensor): Tensor {
    if (dense.rank !== 2 || dense.shape[0] !== this.columns) {
      const got = `shape [${dense.shape.join(', ')}]`;
      throw new ShapeError(expected('SparseMatrix.matmul', `[${this.columns}, F]`, 'the other matrix', got));
    }
    return aggregate(this.adjacency, dense, { weight: this.#weights(dense) }, null);
  }

  /** Returns the values on the device and in the dtype of `dense`. */
  #weights({ device, dtype }: Tensor): Tensor {
    if (device !== null)
      return this.#lasting ? deviceConstant(device, this.values) : fromTypedArray(this.values).to(device);
    if (dtype === 'f64') return fromTypedArray(Float64Array.from(this.values));
    this.#tensor ??= unscoped(() => fromTypedArray(this.values));
    return this.#tensor;
  }

  /**
   * Applies dropout: sets each stored value to 0 with probability p, and divides it by 1 − p otherwise. The mask is
   * that of the dense matrix; `rowIds` as for `dropout` of a tensor.
   */
  dropout(p: number, rowIds: Int32Array | null = null): SparseMatrix {
    checkNumber('SparseMatrix.dropout', 'p', p, 0, 1);
    if (rowIds !== null && rowIds.length !== this.rows)
      throw new ShapeError(
        expected('SparseMatrix.dropout', `${this.rows} ids (one per row)`, 'rowIds', rowIds.length),
      );
    if (p === 0) return this;
    const random = defaultRandom();
    const { key } = random.split(random.reserve(1));
    const { offsets, indices } = this.adjacency;
    const values = new Float32Array(this.values.length);
    kernels().dropoutEntries({
      x: this.values,
      offsets,
      columns: indices,
      ids: rowIds,
      y: values,
      rows: this.rows,
      width: this.columns,
      p,
      key,
    });
    return new SparseMatrix(this.adjacency, values, false);
  }

  /** Selects rows, in the order of `ids`. */
  gatherRows(ids: Ids): SparseMatrix {
    const rows = toInt32('SparseMatrix.gatherRows', 'ids', ids);
    checkNodeIds('SparseMatrix.gatherRows', 'ids', rows, this.rows);
    const { offsets, indices } = this.adjacency;
    const newOffsets = new Int32Array(rows.length + 1);
    for (let i = 0; i < rows.length; i++)
      newOffsets[i + 1] = newOffsets[i] + (offsets[rows[i] + 1] - offsets[rows[i]]);
    const newIndices = new Int32Array(newOffsets[rows.length]);
    const values = new Float32Array(newIndices.length);
    for (let i = 0; i < rows.length; i++) {
      const from = offsets[rows[i]];
      const to = offsets[rows[i] + 1];
      newIndices.set(indices.subarray(from, to), newOffsets[i]);
      values.set(this.values.subarray(from, to), newOffsets[i]);
    }
    return new SparseMatrix(Adjacency.trusted(newOffsets, newIndices, this.columns), values, false);
  }

  /** Returns the same entries with other values, in the order of `values`. */
  withValues(values: Float32Array): SparseMatrix {
    if (values.length !== this.values.length)
      throw new ShapeError(
        expected('SparseMatrix.withValues', `${this.values.length} values`, 'values', values.length),
      );
    const bad = values.findIndex((v) => !Number.isFinite(v));
    if (bad >= 0)
      throw new ValueError(
        expected('SparseMatrix.withValues', 'finite values', 'values', `${values[bad]} at position ${bad}`),
      );
    return new SparseMatrix(this.adjacency, values.slice());
  }

  toDense(): Tensor {
    const dense = zeros([this.rows, this.columns]);
    const data = dense.dataSync<Float32Array>();
    const { offsets, indices } = this.adjacency;
    for (let r = 0; r < this.rows; r++) {
      for (let p = offsets[r]; p < offsets[r + 1]; p++) data[r * this.columns + indices[p]] += this.values[p];
    }
    return dense;
  }
}

function rowOf(offsets: Int32Array, entry: number): number {
  let row = 0;
  while (offsets[row + 1] <= entry) row++;
  return row;
}
