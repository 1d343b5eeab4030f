/** Conversion of ids to i32, the type of Skein's graphs. */
import { DTypeError, expected } from '../../util/errors.js';
import { convertArray } from '../convert.js';
import type { TensorView } from '../tensor-view.js';

/**
 * Returns the whole numbers of a view on the CPU as an Int32Array: the memory itself for i32, otherwise a copy. Throws an
 * error with the position for a number that does not fit.
 *
 * @param name the name of the numbers in messages.
 */
export function viewIds(view: TensorView, name = 'ids'): Int32Array {
  const { dtype } = view;
  const values = view.toTyped();
  if (values instanceof Int32Array) return values;
  if (dtype !== 'i64' && dtype !== 'u32' && dtype !== 'u8')
    throw new DTypeError(expected('viewIds', 'i32, i64, u32 or u8', name, dtype));
  return convertArray(name, values, dtype, 'i32') as Int32Array;
}
