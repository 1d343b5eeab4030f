/**
 * Creates tensors: from numbers, from typed arrays without a copy, filled, random.
 *
 * All are in the CPU's memory, also inside an operation on a device, except `full`, `zeros` and `ones`, which are on
 * the device of the operation.
 */
import { kernels, type TypedArray } from '../native/index.js';
import { checkInteger, checkNumber, DTypeError, expected, ShapeError, ValueError } from '../util/errors.js';
import type { Random } from '../util/philox.js';
import { onDevice } from './device.js';
import { checkDType, type DType, dtypeOfArray, dtypes, isFloat } from './dtype.js';
import { Tensor } from './methods.js';
import { defaultRandom } from './random.js';
import { checkShape, formatShape, sizeOf } from './shape.js';
import { Storage } from './storage.js';
import type { NestedArray } from './tensor.js';

export interface CreateOptions {
  readonly dtype?: DType;
  readonly requiresGrad?: boolean;
}

/** Deeper nesting is rejected: an array that contains itself would never end. */
const maxRank = 32;

function finish(t: Tensor, options: CreateOptions): Tensor {
  return options.requiresGrad === true ? t.setRequiresGrad() : t;
}

/** Makes a tensor from nested arrays of numbers (f32 by default). */
export function fromArray(values: NestedArray, options: CreateOptions = {}): Tensor {
  const dtype = checkDType('fromArray', options.dtype ?? 'f32');
  if (dtype === 'f16' || dtype === 'bf16')
    throw new DTypeError(
      expected('fromArray', 'a computing dtype', 'dtype', dtype, 'Use cast() afterwards.'),
    );
  const shape: number[] = [];
  for (let v: unknown = values; Array.isArray(v) && shape.length < maxRank; v = v[0]) shape.push(v.length);
  if (shape.length === maxRank)
    throw new ShapeError(expected('fromArray', `fewer than ${maxRank} axes`, 'values', 'deeper nesting'));
  const t = Tensor.allocate(dtype, checkShape('fromArray', shape), null);
  let position = 0;
  const fill = (value: unknown, axis: number): void => {
    if (axis === shape.length) {
      if (typeof value !== 'number')
        throw new ValueError(expected('fromArray', 'a number', `element ${position}`, value));
      t.array[position++] = value;
      return;
    }
    if (!Array.isArray(value) || value.length !== shape[axis]) {
      throw new ShapeError(
        expected(
          'fromArray',
          `${shape[axis]} items at depth ${axis}, as in the first row`,
          'values',
          Array.isArray(value) ? `${value.length} items` : value,
        ),
      );
    }
    for (const item of value) fill(item, axis + 1);
  };
  fill(values, 0);
  return finish(t, options);
}

/** Makes a tensor that shares the memory of a typed array: writes to one change the other. */
export function fromTypedArray(
  data: TypedArray,
  shape: readonly number[] = [data.length],
  options: CreateOptions = {},
): Tensor {
  if (!ArrayBuffer.isView(data))
    throw new ValueError(expected('fromTypedArray', 'a typed array', 'data', data));
  const dtype =
    options.dtype === undefined ? dtypeOfArray(data) : checkDType('fromTypedArray', options.dtype);
  if (!(data instanceof dtypes[dtype].array)) {
    throw new DTypeError(
      expected('fromTypedArray', `${dtypes[dtype].array.name} for dtype ${dtype}`, 'data', data),
    );
  }
  if (
    (data.buffer as { resizable?: boolean }).resizable === true ||
    (data.buffer as { growable?: boolean }).growable === true
  ) {
    throw new ValueError(
      expected(
        'fromTypedArray',
        'a buffer of fixed size',
        'data',
        'one that can be resized',
        'Copy it first.',
      ),
    );
  }
  const checked = checkShape('fromTypedArray', shape);
  if (sizeOf(checked) !== data.length) {
    throw new ShapeError(
      expected(
        'fromTypedArray',
        `${sizeOf(checked)} elements for shape ${formatShape(checked)}`,
        'data',
        `${data.length} elements`,
      ),
    );
  }
  return finish(new Tensor(Storage.wrap(data), dtype, checked), options);
}

/** Makes a tensor from nested arrays (copied) or from a typed array (shared). */
export function tensor(
  values: NestedArray | TypedArray,
  options: CreateOptions & { readonly shape?: readonly number[] } = {},
): Tensor {
  if (ArrayBuffer.isView(values)) return fromTypedArray(values as TypedArray, options.shape, options);
  const t = fromArray(values as NestedArray, { ...options, requiresGrad: false });
  if (options.shape === undefined) return finish(t, options);
  const shape = checkShape('tensor', [...options.shape]);
  if (sizeOf(shape) !== t.size)
    throw new ShapeError(expected('tensor', `${t.size} elements`, 'shape', formatShape(shape)));
  return finish(t.view(shape), options);
}

/** Throws if the elements of a dtype are 16-bit patterns, not numbers. */
function checkComputing(where: string, dtype: DType): DType {
  if (dtype === 'f16' || dtype === 'bf16')
    throw new DTypeError(expected(where, 'a computing dtype', 'dtype', dtype, 'Use cast() afterwards.'));
  return checkDType(where, dtype);
}

/** Makes a tensor whose elements are all `value`. */
export function full(shape: readonly number[], value: number, options: CreateOptions = {}): Tensor {
  if (typeof value !== 'number') throw new ValueError(expected('full', 'a number', 'value', value));
  const t = Tensor.allocate(checkDType('full', options.dtype ?? 'f32'), checkShape('full', shape));
  if (isFloat(t.dtype) || t.device !== null) kernels().fill(t.floats, t.size, value);
  else if (t.dtype === 'i32' || t.dtype === 'u8' || value === 0) t.array.fill(value);
  else throw new DTypeError(expected('full', 'a computing dtype for a value other than 0', 'dtype', t.dtype));
  return finish(t, options);
}

export function zeros(shape: readonly number[], options: CreateOptions = {}): Tensor {
  return full(shape, 0, options);
}

export function ones(shape: readonly number[], options: CreateOptions = {}): Tensor {
  return full(shape, 1, options);
}

/** Makes the n × n identity matrix. */
export function eye(n: number, options: CreateOptions = {}): Tensor {
  checkInteger('eye', 'n', n);
  checkComputing('eye', options.dtype ?? 'f32');
  const t = onDevice(null, () => zeros([n, n], { ...options, requiresGrad: false }));
  for (let i = 0; i < n; i++) t.array[i * n + i] = 1;
  return finish(t, options);
}

/** Makes start, start + step, … below end (i32 by default). */
export function arange(start: number, end: number, step = 1, options: CreateOptions = {}): Tensor {
  for (const [name, value] of Object.entries({ start, end, step })) checkNumber('arange', name, value);
  if (step === 0) throw new ValueError(expected('arange', 'a step other than 0', 'step', step));
  const count = Math.max(0, Math.ceil((end - start) / step));
  const t = Tensor.allocate(checkComputing('arange', options.dtype ?? 'i32'), [count], null);
  for (let i = 0; i < t.size; i++) t.array[i] = start + i * step;
  return finish(t, options);
}

export interface RandomOptions extends CreateOptions {
  /** The generator; by default the shared one (see `manualSeed`). */
  readonly random?: Random;
}

function randomFloats(
  where: string,
  shape: readonly number[],
  options: RandomOptions,
): { t: Tensor; random: Random } {
  const dtype = options.dtype ?? 'f32';
  if (!isFloat(dtype)) throw new DTypeError(expected(where, 'f32 or f64', 'dtype', dtype));
  return {
    t: Tensor.allocate(dtype, checkShape(where, shape), null),
    random: options.random ?? defaultRandom(),
  };
}

/** Draws uniform numbers in [lo, hi). */
export function rand(
  shape: readonly number[],
  options: RandomOptions & { readonly lo?: number; readonly hi?: number } = {},
): Tensor {
  const { t, random } = randomFloats('rand', shape, options);
  const lo = checkNumber('rand', 'lo', options.lo ?? 0);
  const hi = checkNumber('rand', 'hi', options.hi ?? 1);
  const words = t.dtype === 'f64' ? 2 * t.size : t.size;
  const start = random.reserve(words);
  onDevice(null, () => kernels().randomUniform(t.floats, t.size, lo, hi, random.key, start));
  return finish(t, options);
}

/** Draws normally distributed numbers. */
export function randn(
  shape: readonly number[],
  options: RandomOptions & { readonly mean?: number; readonly std?: number } = {},
): Tensor {
  const { t, random } = randomFloats('randn', shape, options);
  const mean = checkNumber('randn', 'mean', options.mean ?? 0);
  const std = checkNumber('randn', 'std', options.std ?? 1, 0);
  const start = random.reserve(4 * t.size);
  onDevice(null, () => kernels().randomNormal(t.floats, t.size, mean, std, random.key, start));
  return finish(t, options);
}

/** Draws whole numbers in [lo, hi) (i32). */
export function randint(
  lo: number,
  hi: number,
  shape: readonly number[],
  options: { readonly random?: Random } = {},
): Tensor {
  checkInteger('randint', 'lo', lo, -(2 ** 31), 2 ** 31 - 1);
  checkInteger('randint', 'hi', hi, lo + 1, 2 ** 31 - 1);
  const t = Tensor.allocate('i32', checkShape('randint', shape), null);
  const random = options.random ?? defaultRandom();
  const start = random.reserve(t.size);
  onDevice(null, () => kernels().randomIntegers(t.array as Int32Array, t.size, lo, hi, random.key, start));
  return t;
}

/** Draws 1 with probability p, else 0 (u8). */
export function bernoulli(
  p: number,
  shape: readonly number[],
  options: { readonly random?: Random } = {},
): Tensor {
  checkNumber('bernoulli', 'p', p, 0, 1);
  const t = Tensor.allocate('u8', checkShape('bernoulli', shape), null);
  const random = options.random ?? defaultRandom();
  const start = random.reserve(t.size);
  onDevice(null, () => kernels().randomBernoulli(t.array as Uint8Array, t.size, p, random.key, start));
  return t;
}

/** Draws a permutation of 0 … n−1 (i32). */
export function randperm(n: number, options: { readonly random?: Random } = {}): Tensor {
  checkInteger('randperm', 'n', n, 0, 2 ** 31 - 1);
  const t = Tensor.allocate('i32', [n], null);
  const random = options.random ?? defaultRandom();
  const { key } = random.split(random.reserve(1));
  onDevice(null, () => kernels().randomPermutation(t.array as Int32Array, n, key));
  return t;
}
