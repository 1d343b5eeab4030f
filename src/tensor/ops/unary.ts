/**
 * Functions of one element. Most need only their input or only their output in backward; saving only that one frees
 * the memory of the other.
 */
import { kernels, type UnaryOp, unaryCode } from '../../native/index.js';
import { checkNumber } from '../../util/errors.js';
import { builtinOp } from '../op.js';
import { Tensor } from '../tensor.js';
import { checkFloat, pack } from './common.js';

/** The tensor that backward reads. */
const saves: Readonly<Record<UnaryOp, 'x' | 'y' | 'none'>> = {
  neg: 'none',
  abs: 'x',
  sign: 'none',
  square: 'x',
  sqrt: 'y',
  reciprocal: 'y',
  exp: 'y',
  log: 'x',
  sin: 'x',
  cos: 'x',
  tanh: 'y',
  sigmoid: 'y',
  relu: 'y',
  leakyRelu: 'x',
  elu: 'x',
  gelu: 'x',
  softplus: 'x',
  logSigmoid: 'x',
}; // prettier-ignore

interface UnaryAttributes {
  readonly alpha: number;
}

function makeUnary(name: UnaryOp): (x: Tensor, alpha?: number) => Tensor {
  const code = unaryCode[name];
  const apply = builtinOp<UnaryAttributes>({
    name,
    forward(ctx, [x], { alpha }) {
      const y = Tensor.allocate(x.dtype, x.shape);
      kernels().unary(code, pack(x), y.floats, y.size, alpha);
      if (saves[name] === 'x') ctx.save(x);
      if (saves[name] === 'y') ctx.save(y);
      return y;
    },
    backward({ saved }, gy, { alpha }) {
      const g = pack(gy);
      const kept = saved.length > 0 ? pack(saved[0]) : g;
      const gx = Tensor.allocate(gy.dtype, gy.shape);
      kernels().unaryBackward(code, kept, kept, g, gx.floats, gx.size, alpha);
      return [gx];
    },
  });
  return (x, alpha = 0) => {
    checkFloat(name, 'x', x);
    return apply([x], { alpha });
  };
}

export const neg: (x: Tensor) => Tensor = makeUnary('neg');
export const abs: (x: Tensor) => Tensor = makeUnary('abs');
/** Returns −1, 0 or 1; the gradient is 0. */
export const sign: (x: Tensor) => Tensor = makeUnary('sign');
export const square: (x: Tensor) => Tensor = makeUnary('square');
export const sqrt: (x: Tensor) => Tensor = makeUnary('sqrt');
export const reciprocal: (x: Tensor) => Tensor = makeUnary('reciprocal');
export const exp: (x: Tensor) => Tensor = makeUnary('exp');
export const log: (x: Tensor) => Tensor = makeUnary('log');
export const sin: (x: Tensor) => Tensor = makeUnary('sin');
export const cos: (x: Tensor) => Tensor = makeUnary('cos');
export const tanh: (x: Tensor) => Tensor = makeUnary('tanh');
export const sigmoid: (x: Tensor) => Tensor = makeUnary('sigmoid');
export const relu: (x: Tensor) => Tensor = makeUnary('relu');
/** Computes the exact form x·Φ(x). */
export const gelu: (x: Tensor) => Tensor = makeUnary('gelu');
/** Computes log(1 + exp(x)). */
export const softplus: (x: Tensor) => Tensor = makeUnary('softplus');
/** Computes log(sigmoid(x)). */
export const logSigmoid: (x: Tensor) => Tensor = makeUnary('logSigmoid');

const leaky = makeUnary('leakyRelu');
/** Returns x for x > 0, else slope·x. */
export function leakyRelu(x: Tensor, slope = 0.01): Tensor {
  return leaky(x, checkNumber('leakyRelu', 'slope', slope));
}

const eluOp = makeUnary('elu');
/** Returns x for x > 0, else alpha·(exp(x) − 1). */
export function elu(x: Tensor, alpha = 1): Tensor {
  return eluOp(x, checkNumber('elu', 'alpha', alpha));
}
