/**
 * A gradient that is zero except in consecutive rows, as produced by a slice of rows. Only these rows are added to
 * another gradient of the same value; zeros are not written.
 */
import type { DType } from './dtype.js';
import type { Shape } from './shape.js';
import type { Tensor } from './tensor.js';

export class RowRange {
  /** The shape of the dense gradient that this represents. */
  readonly shape: Shape;
  /** The index of the first row of `rows`. */
  readonly start: number;
  readonly rows: Tensor;

  constructor(shape: Shape, start: number, rows: Tensor) {
    this.shape = shape;
    this.start = start;
    this.rows = rows;
  }

  get dtype(): DType {
    return this.rows.dtype;
  }
}
