/**
 * A gradient that is zero except in some rows: what a row lookup produces. Ids may repeat until `coalesce`.
 */
import { type FloatArray, kernels } from '../native/index.js';
import type { Shape } from './shape.js';

export class SparseRows {
  /** Shape of the dense gradient this stands for; the first axis is indexed by `ids`. */
  readonly shape: Shape;
  readonly ids: Int32Array;
  /** One row per id, `width` values each. */
  readonly rows: FloatArray;
  readonly width: number;

  constructor(shape: Shape, ids: Int32Array, rows: FloatArray) {
    this.shape = shape;
    this.ids = ids;
    this.rows = rows;
    this.width = shape.slice(1).reduce((product, d) => product * d, 1);
  }

  /** The same gradient with ascending ids, each once. */
  coalesce(): SparseRows {
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
    kernels().scatterAddRows(this.ids, this.rows, dense, this.ids.length, this.shape[0], this.width);
  }
}

function sameKind(like: FloatArray, length: number): FloatArray {
  return like instanceof Float32Array ? new Float32Array(length) : new Float64Array(length);
}
