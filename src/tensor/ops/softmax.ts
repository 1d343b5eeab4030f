/**
 * Softmax and log-softmax along an axis (the last one without a copy).
 */
import { kernels } from '../../native/index.js';
import { builtinOp } from '../op.js';
import { checkAxis, sizeOf } from '../shape.js';
import { Tensor } from '../tensor.js';
import { checkFloat, pack } from './common.js';
import { transpose } from './layout.js';

type Name = 'softmax' | 'logSoftmax';

function makeSoftmax(name: Name): (x: Tensor, axis?: number) => Tensor {
  const backwardName = `${name}Backward` as const;
  const apply = builtinOp({
    name,
    forward(ctx, [x]) {
      const y = Tensor.allocate(x.dtype, x.shape);
      const cols = x.shape[x.rank - 1];
      kernels()[name](pack(x), y.floats, sizeOf(x.shape.slice(0, -1)), cols);
      ctx.save(y);
      return y;
    },
    backward({ saved: [y] }, gy) {
      const gx = Tensor.allocate(y.dtype, y.shape);
      kernels()[backwardName](
        y.floats,
        pack(gy),
        gx.floats,
        sizeOf(y.shape.slice(0, -1)),
        y.shape[y.rank - 1],
      );
      return [gx];
    },
  });
  return (x, axis = -1) => {
    checkFloat(name, 'x', x);
    const which = checkAxis(name, axis, x.rank);
    if (which === x.rank - 1) return apply([x]);
    return transpose(apply([transpose(x, which, -1)]), which, -1);
  };
}

/** Computes exp(x) / Σ exp(x) along an axis. */
export const softmax: (x: Tensor, axis?: number) => Tensor = makeSoftmax('softmax');
/** Computes log softmax(x) along an axis, more exactly than the logarithm of softmax. */
export const logSoftmax: (x: Tensor, axis?: number) => Tensor = makeSoftmax('logSoftmax');
