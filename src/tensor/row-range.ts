/**
 * A gradient that is zero except in consecutive rows: what a slice of rows produces. Where another gradient of the same
 * value exists already, only these rows are added, and no zeros are ever written.
 */
import type { DType } from './dtype.js';
import type { Shape } from './shape.js';
import type { Tensor } from './tensor.js';

export class RowRange {
  /** Shape of the dense gradient this stands for. */
  readonly shape: Shape;
  /** First row that `rows` belongs to. */
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
