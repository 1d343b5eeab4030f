/**
 * A gradient that is zero except in some rows: what a row lookup produces. Ids may repeat until `coalesce`.
 *
 * Ids are checked whenever rows are added up by them, because the arrays are open to the user and kernels trust ids.
 */
import { type FloatArray, kernels } from '../native/index.js';
import { expected, ShapeError, ValueError } from '../util/errors.js';
import type { FloatDType } from './dtype.js';
import type { Shape } from './shape.js';

export class SparseRows {
  /** Shape of the dense gradient this stands for; the first axis is indexed by `ids`. */
  readonly shape: Shape;
  readonly ids: Int32Array;
  /** One row per id, `width` values each. */
  readonly rows: FloatArray;
  readonly width: number;

  constructor(shape: Shape, ids: Int32Array, rows: FloatArray) {
    if (!Array.isArray(shape) || shape.length === 0)
      throw new ShapeError(expected('SparseRows', 'at least one axis', 'shape', shape));
    if (!(ids instanceof Int32Array))
      throw new ValueError(expected('SparseRows', 'an Int32Array', 'ids', ids));
    if (!(rows instanceof Float32Array) && !(rows instanceof Float64Array)) {
      throw new ValueError(expected('SparseRows', 'a Float32Array or Float64Array', 'rows', rows));
    }
    this.shape = shape;
    this.ids = ids;
    this.rows = rows;
    this.width = shape.slice(1).reduce((product, d) => product * d, 1);
    if (rows.length !== ids.length * this.width) {
      throw new ShapeError(
        expected(
          'SparseRows',
          `${ids.length * this.width} values (${ids.length} rows of ${this.width})`,
          'rows',
          rows.length,
        ),
      );
    }
    this.#checkIds();
  }

  get dtype(): FloatDType {
    return this.rows instanceof Float32Array ? 'f32' : 'f64';
  }

  /** The same gradient with ascending ids, each once. */
  coalesce(): SparseRows {
    this.#checkIds();
    const ids = new Int32Array(this.ids.length);
    const rows = sameKind(this.rows, this.rows.length);
    const count = kernels().coalesceRows(
      this.ids,
      this.rows,
      ids,
      rows,
      this.ids.length,
      this.shape[0],
      this.width,
    );
    return new SparseRows(this.shape, ids.subarray(0, count), rows.subarray(0, count * this.width));
  }

  /** Both gradients, one after the other. */
  concat(other: SparseRows): SparseRows {
    const ids = new Int32Array(this.ids.length + other.ids.length);
    ids.set(this.ids);
    ids.set(other.ids, this.ids.length);
    const rows = sameKind(this.rows, this.rows.length + other.rows.length);
    rows.set(this.rows);
    rows.set(other.rows, this.rows.length);
    return new SparseRows(this.shape, ids, rows);
  }

  /** Adds the rows to a dense gradient. */
  addTo(dense: FloatArray): void {
    this.#checkIds();
    kernels().scatterAddRows(this.ids, this.rows, dense, this.ids.length, this.shape[0], this.width);
  }

  #checkIds(): void {
    const bad = kernels().findOutOfRange(this.ids, this.ids.length, 0, this.shape[0]);
    if (bad < 0) return;
    throw new ValueError(
      expected(
        'SparseRows',
        `ids from 0 to ${this.shape[0] - 1}`,
        'ids',
        `${this.ids[bad]} at position ${bad}`,
      ),
    );
  }
}

function sameKind(like: FloatArray, length: number): FloatArray {
  return like instanceof Float32Array ? new Float32Array(length) : new Float64Array(length);
}
