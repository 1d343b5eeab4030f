/**
 * Dropout. The mask is a function of a random key, so backward makes it again instead of storing it.
 */
import { kernels, type RandomKey } from '../../native/index.js';
import { checkNumber } from '../../util/errors.js';
import type { Random } from '../../util/philox.js';
import { Tensor } from '../methods.js';
import { builtinOp } from '../op.js';
import { defaultRandom } from '../random.js';
import { checkFloat, packed } from './common.js';

const dropoutOp = builtinOp<{ readonly p: number; readonly key: RandomKey }>({
  name: 'dropout',
  forward(_ctx, [x], { p, key }) {
    const y = Tensor.allocate(x.dtype, x.shape);
    kernels().dropout(packed(x), y.floats, y.size, p, key);
    return y;
  },
  backward(_ctx, gy, { p, key }) {
    const gx = Tensor.allocate(gy.dtype, gy.shape);
    kernels().dropout(packed(gy), gx.floats, gx.size, p, key);
    return [gx];
  },
});

/** Each element 0 with probability p, otherwise divided by 1 − p. Every call draws a new mask. */
export function dropout(x: Tensor, p: number, random: Random = defaultRandom()): Tensor {
  checkFloat('dropout', 'x', x);
  checkNumber('dropout', 'p', p, 0, 1);
  if (p === 0) return x;
  return dropoutOp([x], { p, key: random.split(random.reserve(1)).key });
}
