/**
 * Functions of two elements with NumPy's broadcasting. The gradient of an operand that was broadcast is summed
 * to the operand's shape. Numbers take the dtype of the other operand; tensors of different dtypes are rejected.
 */
import {
  type BinaryOp,
  binaryCode,
  type CompareOp,
  compareCode,
  type Dims,
  kernels,
} from '../../native/index.js';
import { DTypeError, expected, ValueError } from '../../util/errors.js';
import { commonDevice, onDevice } from '../device.js';
import { type DType, isFloat } from '../dtype.js';
import { builtinOp } from '../op.js';
import { broadcastShapes, broadcastStrides, type Shape, sameShape } from '../shape.js';
import { Tensor } from '../tensor.js';
import { checkTensor, type TensorLike } from './common.js';
import { sumTo } from './sum-to.js';

/** Returns the common shape and both strides for a kernel; null if both operands are contiguous and of that shape. */
function walk(shape: Shape, a: Tensor, b: Tensor): Dims {
  if (a.isContiguous && b.isContiguous && sameShape(a.shape, shape) && sameShape(b.shape, shape)) return null;
  return Int32Array.of(
    shape.length,
    ...shape,
    ...broadcastStrides(a.shape, a.strides, shape),
    ...broadcastStrides(b.shape, b.strides, shape),
  );
}

function compute(op: BinaryOp, a: Tensor, b: Tensor): Tensor {
  const shape = broadcastShapes(op, a.shape, b.shape);
  const y = Tensor.allocate(a.dtype, shape);
  if (y.size === 0) return y;
  const dims = walk(shape, a, b);
  const left = dims === null ? a.array : a.base;
  const right = dims === null ? b.array : b.base;
  if (a.dtype === 'i32') {
    kernels().binaryI32(
      binaryCode[op],
      left as Int32Array,
      right as Int32Array,
      y.array as Int32Array,
      y.size,
      dims,
    );
  } else {
    kernels().binary(
      binaryCode[op],
      left as Float32Array,
      right as Float32Array,
      y.floats as Float32Array,
      y.size,
      dims,
    );
  }
  return y;
}

/** The gradients of `a op b` for output gradient `g`; each is computed only if it is needed. */
interface Rule {
  /** Whether backward reads the operands. */
  readonly saves: boolean;
  a(g: Tensor, a: Tensor, b: Tensor): Tensor;
  b(g: Tensor, a: Tensor, b: Tensor): Tensor;
}

/** Returns b − 1, but 0 where b is 0: then the factor b makes the gradient 0 also at a = 0. */
function lowerExponent(b: Tensor): Tensor {
  const zero = cast01(compareRaw('eq', b, scalar(0, b.dtype)), b.dtype);
  return compute('add', compute('sub', b, scalar(1, b.dtype)), zero);
}

/** Makes the rule of maximum or minimum; ties share the gradient equally, as in PyTorch. */
function chooserRule(wins: CompareOp): Rule {
  const share = (g: Tensor, mine: Tensor, other: Tensor): Tensor => {
    const win = cast01(compareRaw(wins, mine, other), g.dtype);
    const tie = cast01(compareRaw('eq', mine, other), g.dtype);
    return compute('mul', g, compute('add', win, compute('mul', tie, scalar(0.5, g.dtype))));
  };
  return { saves: true, a: (g, a, b) => share(g, a, b), b: (g, a, b) => share(g, b, a) };
}

const rules: Readonly<Record<BinaryOp, Rule>> = {
  add: { saves: false, a: (g) => g, b: (g) => g },
  sub: { saves: false, a: (g) => g, b: (g) => compute('mul', g, scalar(-1, g.dtype)) },
  mul: { saves: true, a: (g, _a, b) => compute('mul', g, b), b: (g, a) => compute('mul', g, a) },
  div: {
    saves: true,
    a: (g, _a, b) => compute('div', g, b),
    b: (g, a, b) =>
      // (a / b) / b: the square of b may overflow where the gradient does not.
      compute('mul', compute('mul', g, compute('div', compute('div', a, b), b)), scalar(-1, g.dtype)),
  },
  pow: {
    saves: true,
    a: (g, a, b) => compute('mul', g, compute('mul', b, compute('pow', a, lowerExponent(b)))),
    b: (g, a, b) => {
      // 0^b does not depend on b: its gradient is 0, not 0·log 0.
      const nonzero = cast01(compareRaw('ne', a, scalar(0, a.dtype)), a.dtype);
      const zero = cast01(compareRaw('eq', a, scalar(0, a.dtype)), a.dtype);
      const safe = compute('add', a, zero);
      const logs = Tensor.allocate(a.dtype, safe.shape);
      kernels().unary(7, safe.floats, logs.floats, logs.size, 0);
      return compute('mul', compute('mul', g, compute('pow', a, b)), compute('mul', logs, nonzero));
    },
  },
  maximum: chooserRule('gt'),
  minimum: chooserRule('lt'),
};

function makeBinary(op: BinaryOp): (a: TensorLike, b: TensorLike) => Tensor {
  const rule = rules[op];
  const apply = builtinOp<{ readonly shapes: readonly [Shape, Shape] }>({
    name: op,
    forward(ctx, [a, b]) {
      if (rule.saves) ctx.save(a, b);
      return compute(op, a, b);
    },
    backward(ctx, g, { shapes }) {
      const [a, b] = ctx.saved;
      return [
        ctx.needs(0) ? sumTo(rule.a(g, a, b), shapes[0]) : null,
        ctx.needs(1) ? sumTo(rule.b(g, a, b), shapes[1]) : null,
      ];
    },
  });
  return (a, b) => {
    const [x, y] = operands(op, a, b);
    return apply([x, y], { shapes: [x.shape, y.shape] });
  };
}

/** Returns both operands as tensors of one dtype. */
export function operands(op: string, a: TensorLike, b: TensorLike): [Tensor, Tensor] {
  if (typeof a === 'number' && typeof b === 'number')
    throw new ValueError(expected(op, 'at least one tensor', 'the operands', 'two numbers'));
  const x = typeof a === 'number' ? scalarLike(a, checkTensor(op, 'b', b)) : checkTensor(op, 'a', a);
  const y = typeof b === 'number' ? scalarLike(b, x) : checkTensor(op, 'b', b);
  if (x.dtype !== y.dtype) {
    throw new DTypeError(
      expected(op, `${x.dtype} (as a)`, 'the dtype of b', y.dtype, 'Convert one of them with cast().'),
    );
  }
  if (!isFloat(x.dtype) && x.dtype !== 'i32')
    throw new DTypeError(expected(op, 'f32, f64 or i32', 'the dtype of a', x.dtype));
  return [x, y];
}

function scalar(value: number, dtype: DType): Tensor {
  if (dtype === 'i32' && !Number.isInteger(value)) {
    throw new DTypeError(expected('scalar', 'a whole number with an i32 tensor', 'the number', value));
  }
  const t = Tensor.allocate(dtype, []);
  if (t.device !== null) kernels().fill(t.floats, 1, value);
  else t.array[0] = value;
  return t;
}

/** Makes a number a tensor of the dtype and on the device of another. */
function scalarLike(value: number, like: TensorLike): Tensor {
  const { dtype, device } = like as Tensor;
  return onDevice(device, () => scalar(value, dtype));
}

export const add: (a: TensorLike, b: TensorLike) => Tensor = makeBinary('add');
export const sub: (a: TensorLike, b: TensorLike) => Tensor = makeBinary('sub');
export const mul: (a: TensorLike, b: TensorLike) => Tensor = makeBinary('mul');
export const div: (a: TensorLike, b: TensorLike) => Tensor = makeBinary('div');
export const pow: (a: TensorLike, b: TensorLike) => Tensor = makeBinary('pow');
export const maximum: (a: TensorLike, b: TensorLike) => Tensor = makeBinary('maximum');
export const minimum: (a: TensorLike, b: TensorLike) => Tensor = makeBinary('minimum');

function compareRaw(op: CompareOp, a: Tensor, b: Tensor): Tensor {
  const shape = broadcastShapes(op, a.shape, b.shape);
  const y = Tensor.allocate('u8', shape);
  if (y.size === 0) return y;
  const dims = walk(shape, a, b);
  const left = dims === null ? a.array : a.base;
  const right = dims === null ? b.array : b.base;
  const out = y.array as Uint8Array;
  if (a.dtype === 'i32')
    kernels().compareI32(compareCode[op], left as Int32Array, right as Int32Array, out, y.size, dims);
  else kernels().compare(compareCode[op], left as Float32Array, right as Float32Array, out, y.size, dims);
  return y;
}

function cast01(flags: Tensor, dtype: DType): Tensor {
  const y = Tensor.allocate(dtype, flags.shape);
  kernels().cast(flags.array, 3, y.array, dtype === 'f32' ? 0 : 1, y.size);
  return y;
}

function makeCompare(op: CompareOp): (a: TensorLike, b: TensorLike) => Tensor {
  return (a, b) => {
    const [x, y] = operands(op, a, b);
    return onDevice(commonDevice(op, [x, y]), () => compareRaw(op, x, y));
  };
}

/** Compares elements; the result is a u8 tensor of 0 and 1, not differentiable. */
export const eq: (a: TensorLike, b: TensorLike) => Tensor = makeCompare('eq');
export const ne: (a: TensorLike, b: TensorLike) => Tensor = makeCompare('ne');
export const lt: (a: TensorLike, b: TensorLike) => Tensor = makeCompare('lt');
export const le: (a: TensorLike, b: TensorLike) => Tensor = makeCompare('le');
export const gt: (a: TensorLike, b: TensorLike) => Tensor = makeCompare('gt');
export const ge: (a: TensorLike, b: TensorLike) => Tensor = makeCompare('ge');
