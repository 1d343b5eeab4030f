/** Edges in the layout of other graph libraries: one array of shape [2, E], sources first. */
import { expected, ShapeError } from '../util/errors.js';
import { TensorView } from './tensor-view.js';

/**
 * Returns the edges row[e] → col[e] as a view of shape [2, E]: without a copy if `col` follows `row` in one buffer,
 * otherwise in a new array.
 */
export function edgeIndexView(row: Int32Array, col: Int32Array): TensorView {
  if (row.length !== col.length)
    throw new ShapeError(expected('edgeIndexView', `${row.length} destinations, one per source`, 'col', col));
  const shape = [2, row.length];
  if (row.buffer === col.buffer && row.byteOffset + row.byteLength === col.byteOffset)
    return TensorView.fromTyped(new Int32Array(row.buffer, row.byteOffset, 2 * row.length), shape);
  const both = new Int32Array(2 * row.length);
  both.set(row);
  both.set(col, row.length);
  return TensorView.fromTyped(both, shape);
}
