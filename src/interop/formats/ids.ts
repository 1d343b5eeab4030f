/** Ids as Skein's graphs want them: i32. */
import { DTypeError, expected } from '../../util/errors.js';
import { convertArray } from '../convert.js';
import type { TensorView } from '../tensor-view.js';

/**
 * The whole numbers of a view on the CPU as an Int32Array: the memory itself for i32, otherwise a copy. Numbers that do
 * not fit are refused with their position.
 *
 * @param name what messages call the numbers.
 */
export function viewIds(view: TensorView, name = 'ids'): Int32Array {
  const { dtype } = view;
  const values = view.toTyped();
  if (values instanceof Int32Array) return values;
  if (dtype !== 'i64' && dtype !== 'u32' && dtype !== 'u8')
    throw new DTypeError(expected('viewIds', 'i32, i64, u32 or u8', name, dtype));
  return convertArray(name, values, dtype, 'i32') as Int32Array;
}
