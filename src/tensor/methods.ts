/**
 * Operations as methods, so that expressions read from left to right. Each is the function of the same name.
 */

import { DTypeError, expected, StateError } from '../util/errors.js';
import { type BackwardOptions, backward } from './backward.js';
import type { DeviceLike } from './device.js';
import type { DType } from './dtype.js';
import { cpu, to, writeValues } from './move.js';
import * as binary from './ops/binary.js';
import { checkShapeIs, type TensorLike } from './ops/common.js';
import * as layout from './ops/layout.js';
import { matmul } from './ops/matmul.js';
import * as reduce from './ops/reduce.js';
import { gatherRows } from './ops/rows.js';
import { clamp } from './ops/select.js';
import { logSoftmax, softmax } from './ops/softmax.js';
import * as unary from './ops/unary.js';
import { keep } from './scope.js';
import type { GradientHook, LeafHook } from './tape.js';
import { Tensor } from './tensor.js';

type Rest<F> = F extends (first: Tensor, ...rest: infer R) => infer T ? (...rest: R) => T : never;

declare module './tensor.js' {
  interface Tensor {
    add(other: TensorLike): Tensor;
    sub(other: TensorLike): Tensor;
    mul(other: TensorLike): Tensor;
    div(other: TensorLike): Tensor;
    pow(exponent: TensorLike): Tensor;
    matmul: Rest<typeof matmul>;
    neg: Rest<typeof unary.neg>;
    abs: Rest<typeof unary.abs>;
    square: Rest<typeof unary.square>;
    sqrt: Rest<typeof unary.sqrt>;
    exp: Rest<typeof unary.exp>;
    log: Rest<typeof unary.log>;
    tanh: Rest<typeof unary.tanh>;
    sigmoid: Rest<typeof unary.sigmoid>;
    relu: Rest<typeof unary.relu>;
    sum: Rest<typeof reduce.sum>;
    mean: Rest<typeof reduce.mean>;
    max: Rest<typeof reduce.max>;
    min: Rest<typeof reduce.min>;
    argmax: Rest<typeof reduce.argmax>;
    argmin: Rest<typeof reduce.argmin>;
    softmax: Rest<typeof softmax>;
    logSoftmax: Rest<typeof logSoftmax>;
    clamp: Rest<typeof clamp>;
    reshape: Rest<typeof layout.reshape>;
    transpose: Rest<typeof layout.transpose>;
    permute: Rest<typeof layout.permute>;
    slice: Rest<typeof layout.slice>;
    squeeze: Rest<typeof layout.squeeze>;
    unsqueeze: Rest<typeof layout.unsqueeze>;
    expand: Rest<typeof layout.expand>;
    contiguous: Rest<typeof layout.contiguous>;
    clone: Rest<typeof layout.clone>;
    gatherRows: Rest<typeof gatherRows>;
    /**
     * The same values in another dtype, or on another device: `cpu`, `webgpu`, or a device. Moving to a device copies at
     * once; moving back must be awaited (`await t.data()` or `await t.cpu()`).
     */
    to(target: DType | DeviceLike): Tensor;
    /** A copy in memory. */
    cpu(): Promise<Tensor>;
    /** The transpose of a matrix (a view). */
    readonly T: Tensor;
    /** Adds d(this)/d(leaf) to `grad` of every leaf; `gradient` may be left out for a scalar. */
    backward(gradient?: Tensor, options?: BackwardOptions): void;
    /** Overwrites the values with those of `source` (same shape and dtype), outside the tape; for buffers and parameters. */
    assign(source: Tensor): this;
    /** The same values outside the tape (shared memory). */
    detach(): Tensor;
    /** Calls `hook` with this tensor's gradient during backward; it may return another. Returns what removes it. */
    registerHook(hook: GradientHook): () => void;
    /** Calls `hook` when this leaf's gradient of a backward pass has been added to `grad`. Returns what removes it. */
    registerLeafHook(hook: LeafHook): () => void;
    /** Keeps the gradient of a result of an operation in `grad`. */
    retainGrad(): this;
  }
}

/** Functions whose first argument is the tensor itself. */
const functions = {
  ...{ add: binary.add, sub: binary.sub, mul: binary.mul, div: binary.div, pow: binary.pow, matmul },
  ...{
    neg: unary.neg,
    abs: unary.abs,
    square: unary.square,
    sqrt: unary.sqrt,
    exp: unary.exp,
    log: unary.log,
  },
  ...{ tanh: unary.tanh, sigmoid: unary.sigmoid, relu: unary.relu },
  ...{
    sum: reduce.sum,
    mean: reduce.mean,
    max: reduce.max,
    min: reduce.min,
    argmax: reduce.argmax,
    argmin: reduce.argmin,
  },
  ...{ softmax, logSoftmax, clamp, gatherRows, to, backward },
  ...{ reshape: layout.reshape, transpose: layout.transpose, permute: layout.permute, slice: layout.slice },
  ...{ squeeze: layout.squeeze, unsqueeze: layout.unsqueeze, expand: layout.expand },
  ...{ contiguous: layout.contiguous, clone: layout.clone },
};

for (const [name, fn] of Object.entries(functions)) {
  Object.defineProperty(Tensor.prototype, name, {
    value(this: Tensor, ...rest: never[]) {
      return (fn as (self: Tensor, ...args: never[]) => unknown)(this, ...rest);
    },
    writable: true,
    configurable: true,
  });
}

/** What console.log shows in Node.js. */
Object.defineProperty(Tensor.prototype, Symbol.for('nodejs.util.inspect.custom'), {
  value(this: Tensor): string {
    return this.toString();
  },
});

Object.defineProperty(Tensor.prototype, 'T', {
  get(this: Tensor) {
    return layout.transpose(this);
  },
});

Tensor.prototype.detach = function detach(): Tensor {
  return this.view(this.shape, this.isContiguous ? undefined : this.strides);
};

Tensor.prototype.assign = function assign(this: Tensor, source: Tensor) {
  checkShapeIs('assign', 'source', source, this.shape);
  if (source.dtype !== this.dtype)
    throw new DTypeError(expected('assign', this.dtype, 'the dtype of source', source.dtype));
  if (!this.isContiguous)
    throw new StateError(
      'assign: expected a contiguous tensor, got a strided view. Assign to the tensor it shows.',
    );
  writeValues(source, this);
  return this;
};

Tensor.prototype.cpu = function copyToMemory(this: Tensor) {
  return cpu(this);
};

Tensor.prototype.registerHook = function registerHook(hook: GradientHook): () => void {
  let list: GradientHook[];
  if (this.node === null) {
    this.hooks ??= [];
    list = this.hooks;
  } else {
    this.node.hooks ??= [];
    this.node.hooks[this.outputIndex] ??= [];
    list = this.node.hooks[this.outputIndex] as GradientHook[];
  }
  return added(list, hook);
};

Tensor.prototype.registerLeafHook = function registerLeafHook(hook: LeafHook): () => void {
  this.leafHooks ??= [];
  return added(this.leafHooks, hook);
};

Tensor.prototype.retainGrad = function retainGrad(this: Tensor) {
  if (this.node !== null) {
    this.registerHook((gradient) => {
      this.grad = keep(this.grad === null ? gradient.clone() : this.grad.add(gradient));
      return undefined;
    });
  }
  return this;
};

function added<T>(list: T[], item: T): () => void {
  list.push(item);
  return () => {
    const at = list.indexOf(item);
    if (at >= 0) list.splice(at, 1);
  };
}
