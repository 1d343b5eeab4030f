/**
 * `Tensor`: a shape and strides over reference-counted storage, and the node of the tape that made it.
 *
 * This file has the tensor itself: memory, views, reading, disposal. Operations are functions in `ops/`, attached as
 * methods by `methods.ts`; differentiation is in `tape.ts`. Functions never consume their arguments; a disposed tensor
 * throws when used.
 */
import { type FloatArray, kernels, type TypedArray } from '../native/index.js';
import { DTypeError, describe, expected, ShapeError, StateError } from '../util/errors.js';
import { commonDevice, currentDevice, type DeviceArray, onDevice, type TensorDevice } from './device.js';
import { type DType, dtypes, isFloat } from './dtype.js';
import { formatTensor } from './print.js';
import { register, Scoped } from './scope.js';
import { contiguousStrides, formatShape, isContiguous, maxElements, type Shape, sizeOf } from './shape.js';
import type { SparseRows } from './sparse-rows.js';
import { Storage } from './storage.js';
import type { GradientHook, LeafHook, TapeNode } from './tape.js';

export class Tensor extends Scoped {
  readonly shape: Shape;
  readonly dtype: DType;
  /** The index of the first element within the storage. */
  readonly offset: number;
  readonly size: number;
  readonly isContiguous: boolean;
  /** The recorded operation that made this tensor; null if there is none. @internal */
  node: TapeNode | null = null;
  /** The index of this tensor among that operation's outputs. @internal */
  outputIndex = 0;
  /** @internal */
  hooks: GradientHook[] | null = null;
  /** Called after the gradient of a leaf is complete. @internal */
  leafHooks: LeafHook[] | null = null;
  #storage: Storage | null;
  /** null for contiguous tensors; computed on demand. */
  #strides: Shape | null;
  #array: TypedArray | null = null;
  #leafRequiresGrad = false;
  #grad: Tensor | null = null;
  #gradSeen = false;
  #sparseGrad: SparseRows | null = null;

  /** @internal Use `tensor`, `zeros`, `fromArray` …; this constructor takes ownership of one reference to `storage`. */
  constructor(storage: Storage, dtype: DType, shape: Shape, strides?: Shape, offset = 0, scoped = true) {
    super();
    this.#storage = storage;
    this.dtype = dtype;
    this.shape = shape;
    this.size = sizeOf(shape);
    this.offset = offset;
    this.#strides = strides ?? null;
    this.isContiguous = strides === undefined || isContiguous(shape, strides);
    if (scoped) register(this);
  }

  /** Allocates an uninitialised tensor. @internal */
  static allocate(dtype: DType, shape: Shape, device: TensorDevice | null = currentDevice()): Tensor {
    const size = sizeOf(shape);
    if (size > maxElements) {
      throw new ShapeError(
        expected('tensor', `at most ${maxElements} elements`, 'the shape of a result', formatShape(shape)),
      );
    }
    return new Tensor(Storage.allocate(dtype, size, device), dtype, shape);
  }

  /** The device that holds the elements; null is the CPU. */
  get device(): TensorDevice | null {
    return this.storage.device;
  }

  /** Elements to skip for one step along each axis. */
  get strides(): Shape {
    this.#strides ??= contiguousStrides(this.shape);
    return this.#strides;
  }

  get rank(): number {
    return this.shape.length;
  }

  get isDisposed(): boolean {
    return this.#storage === null;
  }

  /** @internal */
  get storage(): Storage {
    if (this.#storage === null) {
      throw new StateError(
        `tensor: expected a live tensor, got one of shape ${formatShape(this.shape)} that was disposed. ` +
          'If a scope() disposed it, return it from the scope or pass it to keep().',
      );
    }
    return this.#storage;
  }

  /** The elements of a contiguous tensor without a copy. @internal */
  get array(): TypedArray {
    const { data } = this.storage;
    if (this.#array === null) {
      const whole = this.offset === 0 && this.size === data.length;
      this.#array = whole ? data : data.subarray(this.offset, this.offset + this.size);
    }
    if (this.#array.length !== this.size) throw memoryGone(this.shape);
    return this.#array;
  }

  /** `array` of a float tensor. @internal */
  get floats(): FloatArray {
    return this.array as FloatArray;
  }

  /** The storage from this tensor's first element, for strided kernels. @internal */
  get base(): TypedArray {
    const { data } = this.storage;
    if (this.size > 0 && data.length <= this.offset) throw memoryGone(this.shape);
    return this.offset === 0 ? data : data.subarray(this.offset);
  }

  /** Returns another tensor over the same memory, outside the tape. @internal */
  view(shape: Shape, strides?: Shape, offset = this.offset, scoped = true): Tensor {
    return new Tensor(this.storage.retain(), this.dtype, shape, strides, offset, scoped);
  }

  /**
   * Returns a second handle that no scope tracks, for the tape; pass `storage` if this tensor may be disposed.
   * @internal
   */
  alias(storage: Storage = this.storage): Tensor {
    const strides = this.isContiguous ? undefined : this.strides;
    return new Tensor(storage.retain(), this.dtype, this.shape, strides, this.offset, false);
  }

  // --- reading -------------------------------------------------------------------------------------------------------

  /**
   * Returns the elements in row-major order: the tensor's memory if it is contiguous, otherwise a copy. Use `assign` to
   * write to a tensor, since the tape detects it.
   */
  dataSync<A extends TypedArray = TypedArray>(): A {
    this.#refuseDevice('dataSync');
    return (this.isContiguous ? this.array : gatherStrided(this)) as A;
  }

  /** Returns the elements, from any device. */
  async data(): Promise<TypedArray> {
    const { device } = this;
    if (device === null) return this.dataSync();
    if (!this.isContiguous)
      throw new StateError(
        'data: expected a contiguous tensor on a device, got a view. Use contiguous() first.',
      );
    return device.download(this.array as unknown as DeviceArray);
  }

  /** Returns the value of a tensor with one element. */
  item(): number {
    if (this.size !== 1)
      throw new ShapeError(expected('item', 'a tensor with one element', 'this', formatShape(this.shape)));
    this.#refuseStored('item');
    this.#refuseDevice('item');
    return this.storage.data[this.offset];
  }

  /** Returns nested arrays of numbers (a number for a scalar). */
  toArray(): NestedArray {
    this.#refuseStored('toArray');
    const data = this.dataSync();
    let position = 0;
    const build = (axis: number): NestedArray =>
      axis === this.rank ? data[position++] : Array.from({ length: this.shape[axis] }, () => build(axis + 1));
    return build(0);
  }

  override toString(): string {
    const kind = `${formatShape(this.shape)}, ${this.dtype}`;
    if (this.isDisposed) return `Tensor(disposed, ${kind})`;
    return this.device === null ? formatTensor(this) : `Tensor(${kind}, on ${this.device.name})`;
  }

  #refuseDevice(where: string): void {
    const { device } = this;
    if (device === null) return;
    throw new StateError(
      `${where}: expected a tensor on the CPU, got one on ${device.name}, whose values must be awaited. Use \`await t.data()\`.`,
    );
  }

  #refuseStored(where: string): void {
    if (this.dtype === 'f16' || this.dtype === 'bf16') {
      throw new DTypeError(
        expected(where, 'a computing dtype', 'this', this.dtype, 'Convert it first: cast(t, "f32").'),
      );
    }
  }

  // --- gradients -----------------------------------------------------------------------------------------------------

  get requiresGrad(): boolean {
    return this.node !== null || this.#leafRequiresGrad;
  }

  /** Whether the tensor was made by the user, not by a recorded operation. */
  get isLeaf(): boolean {
    return this.node === null;
  }

  setRequiresGrad(flag = true): this {
    if (this.node !== null)
      throw new StateError(
        'setRequiresGrad: expected a leaf tensor, got the result of an operation. Use detach() first.',
      );
    if (flag && !isFloat(this.dtype))
      throw new DTypeError(expected('setRequiresGrad', 'f32 or f64', 'dtype', this.dtype));
    this.#leafRequiresGrad = flag;
    return this;
  }

  /**
   * The sum of the gradients of all backward passes since `zeroGrad`; null if there are none (see also `sparseGrad`).
   */
  get grad(): Tensor | null {
    this.#gradSeen = true;
    return this.#grad;
  }

  set grad(value: Tensor | null) {
    if (value !== null) {
      const fits =
        value instanceof Tensor &&
        value.dtype === this.dtype &&
        formatShape(value.shape) === formatShape(this.shape);
      if (!fits) {
        const got =
          value instanceof Tensor ? `${value.dtype} of shape ${formatShape(value.shape)}` : describe(value);
        throw new ShapeError(
          expected('grad', `${this.dtype} of shape ${formatShape(this.shape)}`, 'the gradient', got),
        );
      }
      commonDevice('grad', [this, value]);
    }
    this.#gradSeen = true;
    // Later passes add to it in place, so it must be contiguous.
    this.#grad = value === null || value.isContiguous ? value : packedCopy(value);
  }

  /** The gradient as rows, if the only uses of a leaf were row lookups with the option `sparse`. */
  get sparseGrad(): SparseRows | null {
    return this.#sparseGrad;
  }

  set sparseGrad(value: SparseRows | null) {
    if (
      value !== null &&
      (value.dtype !== this.dtype || formatShape(value.shape) !== formatShape(this.shape))
    ) {
      const got = `${value.dtype} of shape ${formatShape(value.shape)}`;
      throw new ShapeError(
        expected('sparseGrad', `${this.dtype} of shape ${formatShape(this.shape)}`, 'the gradient', got),
      );
    }
    this.#sparseGrad = value;
  }

  /** The gradient, without marking it as seen by the user. @internal */
  get ownGrad(): Tensor | null {
    return this.#grad;
  }

  /** @internal */
  setOwnGrad(value: Tensor | null, seenByUser = false): void {
    this.#grad = value;
    this.#gradSeen = seenByUser;
  }

  /** Removes the gradient; its memory is reused immediately unless the caller has read it through `grad`. */
  zeroGrad(): void {
    if (this.#grad !== null && !this.#gradSeen) this.#grad.dispose();
    this.#grad = null;
    this.#gradSeen = false;
    this.#sparseGrad?.dispose();
    this.#sparseGrad = null;
  }

  // --- lifetime
  // ----------------------------------------------------------------------------------------------------------

  /**
   * Takes ownership of the memory of another tensor of the same shape, for moving a parameter to a device. @internal
   */
  adopt(source: Tensor): void {
    this.#storage?.release();
    this.#storage = source.storage.retain();
    this.#array = null;
  }

  /** Releases the memory. Views and recorded operations that still use it keep it alive. */
  dispose(): void {
    const storage = this.#storage;
    if (storage === null) return;
    this.#storage = null;
    this.#array = null;
    storage.release();
    const { node } = this;
    this.node = null;
    node?.unhold();
  }
}

/** Makes the error for memory that was transferred or resized; kernels trust lengths, so it must be detected. */
function memoryGone(shape: Shape): StateError {
  return new StateError(
    `tensor: expected the memory of a tensor of shape ${formatShape(shape)}, but its ArrayBuffer was transferred or resized. ` +
      'Transfer a copy instead.',
  );
}

export type NestedArray = number | NestedArray[];

/** Copies a strided tensor to row-major order, on its device. */
function packedCopy(t: Tensor): Tensor {
  if (t.device === null) return new Tensor(Storage.wrap(gatherStrided(t)), t.dtype, t.shape);
  return onDevice(t.device, () => {
    const copy = Tensor.allocate(t.dtype, t.shape);
    const dims = Int32Array.of(t.rank, ...t.shape, ...t.strides, ...contiguousStrides(t.shape));
    kernels().copyStrided(t.base, copy.array, dtypes[t.dtype].bytes, dims);
    return copy;
  });
}

/** Copies a strided tensor to row-major order, one element at a time: for reading, not for computing. */
function gatherStrided(t: Tensor): TypedArray {
  const { array, bytes } = dtypes[t.dtype];
  const out = new array(new ArrayBuffer(t.size * bytes), 0, t.size);
  const { data } = t.storage;
  const index = new Array<number>(t.rank).fill(0);
  let position = t.offset;
  for (let i = 0; i < t.size; i++) {
    out[i] = data[position];
    for (let axis = t.rank - 1; axis >= 0; axis--) {
      position += t.strides[axis];
      if (++index[axis] < t.shape[axis]) break;
      position -= t.strides[axis] * t.shape[axis];
      index[axis] = 0;
    }
  }
  return out;
}
