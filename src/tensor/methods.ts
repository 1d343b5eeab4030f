/**
 * `Tensor` with the operations as methods, so that expressions read from left to right. Each is the function of the
 * same name.
 *
 * Operations need the class of tensor.ts and methods need the operations, so the methods are added to the class here.
 * Modules that create tensors (`create.ts`, files, other folders) import `Tensor` from this module; only those that the
 * methods themselves need import it from tensor.ts. So every tensor has its methods, and a bundler that drops unused
 * modules cannot drop them, as it could if this module were imported for its side effect.
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
import { Tensor as PlainTensor } from './tensor.js';

export type Tensor = PlainTensor;

declare module './tensor.js' {
  interface Tensor extends TensorMethods {}
}

/** The parameters of a function after the tensor. */
type Rest<F> = F extends (first: Tensor, ...rest: infer R) => unknown ? R : never;

abstract class TensorMethods {
  add(this: Tensor, other: TensorLike): Tensor {
    return binary.add(this, other);
  }

  sub(this: Tensor, other: TensorLike): Tensor {
    return binary.sub(this, other);
  }

  mul(this: Tensor, other: TensorLike): Tensor {
    return binary.mul(this, other);
  }

  div(this: Tensor, other: TensorLike): Tensor {
    return binary.div(this, other);
  }

  pow(this: Tensor, exponent: TensorLike): Tensor {
    return binary.pow(this, exponent);
  }

  matmul(this: Tensor, ...rest: Rest<typeof matmul>): Tensor {
    return matmul(this, ...rest);
  }

  neg(this: Tensor): Tensor {
    return unary.neg(this);
  }

  abs(this: Tensor): Tensor {
    return unary.abs(this);
  }

  square(this: Tensor): Tensor {
    return unary.square(this);
  }

  sqrt(this: Tensor): Tensor {
    return unary.sqrt(this);
  }

  exp(this: Tensor): Tensor {
    return unary.exp(this);
  }

  log(this: Tensor): Tensor {
    return unary.log(this);
  }

  tanh(this: Tensor): Tensor {
    return unary.tanh(this);
  }

  sigmoid(this: Tensor): Tensor {
    return unary.sigmoid(this);
  }

  relu(this: Tensor): Tensor {
    return unary.relu(this);
  }

  sum(this: Tensor, ...rest: Rest<typeof reduce.sum>): Tensor {
    return reduce.sum(this, ...rest);
  }

  mean(this: Tensor, ...rest: Rest<typeof reduce.mean>): Tensor {
    return reduce.mean(this, ...rest);
  }

  max(this: Tensor, ...rest: Rest<typeof reduce.max>): Tensor {
    return reduce.max(this, ...rest);
  }

  min(this: Tensor, ...rest: Rest<typeof reduce.min>): Tensor {
    return reduce.min(this, ...rest);
  }

  argmax(this: Tensor, ...rest: Rest<typeof reduce.argmax>): Tensor {
    return reduce.argmax(this, ...rest);
  }

  argmin(this: Tensor, ...rest: Rest<typeof reduce.argmin>): Tensor {
    return reduce.argmin(this, ...rest);
  }

  softmax(this: Tensor, ...rest: Rest<typeof softmax>): Tensor {
    return softmax(this, ...rest);
  }

  logSoftmax(this: Tensor, ...rest: Rest<typeof logSoftmax>): Tensor {
    return logSoftmax(this, ...rest);
  }

  clamp(this: Tensor, ...rest: Rest<typeof clamp>): Tensor {
    return clamp(this, ...rest);
  }

  reshape(this: Tensor, ...rest: Rest<typeof layout.reshape>): Tensor {
    return layout.reshape(this, ...rest);
  }

  transpose(this: Tensor, ...rest: Rest<typeof layout.transpose>): Tensor {
    return layout.transpose(this, ...rest);
  }

  permute(this: Tensor, ...rest: Rest<typeof layout.permute>): Tensor {
    return layout.permute(this, ...rest);
  }

  slice(this: Tensor, ...rest: Rest<typeof layout.slice>): Tensor {
    return layout.slice(this, ...rest);
  }

  squeeze(this: Tensor, ...rest: Rest<typeof layout.squeeze>): Tensor {
    return layout.squeeze(this, ...rest);
  }

  unsqueeze(this: Tensor, ...rest: Rest<typeof layout.unsqueeze>): Tensor {
    return layout.unsqueeze(this, ...rest);
  }

  expand(this: Tensor, ...rest: Rest<typeof layout.expand>): Tensor {
    return layout.expand(this, ...rest);
  }

  contiguous(this: Tensor, ...rest: Rest<typeof layout.contiguous>): Tensor {
    return layout.contiguous(this, ...rest);
  }

  clone(this: Tensor, ...rest: Rest<typeof layout.clone>): Tensor {
    return layout.clone(this, ...rest);
  }

  gatherRows(this: Tensor, ...rest: Rest<typeof gatherRows>): Tensor {
    return gatherRows(this, ...rest);
  }

  /** The transpose of a matrix (a view). */
  get T(): Tensor {
    return layout.transpose(this as unknown as Tensor);
  }

  /**
   * Returns the same values in another dtype, or on another device: `cpu`, `webgpu`, or a device. A move to a device
   * starts immediately; a move back must be awaited (`await t.data()` or `await t.cpu()`).
   */
  to(this: Tensor, target: DType | DeviceLike): Tensor {
    return to(this, target);
  }

  /** Copies the values to the CPU. */
  cpu(this: Tensor): Promise<Tensor> {
    return cpu(this);
  }

  /** Adds d(this)/d(leaf) to `grad` of every leaf; `gradient` defaults to 1 for a scalar. */
  backward(this: Tensor, gradient?: Tensor, options?: BackwardOptions): void {
    backward(this, gradient, options);
  }

  /** Returns a tensor over the same memory, outside the tape. */
  detach(this: Tensor): Tensor {
    return this.view(this.shape, this.isContiguous ? undefined : this.strides);
  }

  /**
   * Copies the values of `source` (same shape and dtype) into this tensor, outside the tape; for buffers and
   * parameters.
   */
  assign<T extends Tensor>(this: T, source: Tensor): T {
    checkShapeIs('assign', 'source', source, this.shape);
    if (source.dtype !== this.dtype)
      throw new DTypeError(expected('assign', this.dtype, 'the dtype of source', source.dtype));
    if (!this.isContiguous)
      throw new StateError(
        'assign: expected a contiguous tensor, got a strided view. Assign to the tensor that it is a view of.',
      );
    writeValues(source, this);
    return this;
  }

  /**
   * Calls `hook` with this tensor's gradient during backward; it may return another. Returns a function that removes
   * it.
   */
  registerHook(this: Tensor, hook: GradientHook): () => void {
    let list: GradientHook[];
    if (this.node === null) {
      this.hooks ??= [];
      list = this.hooks;
    } else {
      this.node.hooks ??= [];
      this.node.hooks[this.outputIndex] ??= [];
      list = this.node.hooks[this.outputIndex] as GradientHook[];
    }
    return addRemovable(list, hook);
  }

  /** Calls `hook` after a backward pass has added to this leaf's `grad`. Returns a function that removes it. */
  registerLeafHook(this: Tensor, hook: LeafHook): () => void {
    this.leafHooks ??= [];
    return addRemovable(this.leafHooks, hook);
  }

  /** Keeps the gradient of an operation's result in `grad`. */
  retainGrad<T extends Tensor>(this: T): T {
    if (this.node !== null) {
      this.registerHook((gradient) => {
        this.grad = keep(this.grad === null ? gradient.clone() : this.grad.add(gradient));
        return undefined;
      });
    }
    return this;
  }

  /** Returns the text that console.log shows in Node.js. @internal */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return this.toString();
  }
}

/** Adds the methods above to the class. */
function addMethods(target: typeof PlainTensor): typeof PlainTensor {
  const { constructor: _, ...methods } = Object.getOwnPropertyDescriptors(TensorMethods.prototype);
  Object.defineProperties(target.prototype, methods);
  return target;
}

export const Tensor: typeof PlainTensor = addMethods(PlainTensor);

/** Adds an item to a list and returns a function that removes it. */
function addRemovable<T>(list: T[], item: T): () => void {
  list.push(item);
  return () => {
    const at = list.indexOf(item);
    if (at >= 0) list.splice(at, 1);
  };
}
