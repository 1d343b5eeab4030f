/**
 * Fills tensors with initial values in place, with the formulas of torch.nn.init. Each function returns the tensor it
 * filled. The default of `random` is the shared generator.
 */
import { type FloatArray, kernels } from '../native/index.js';
import { isFloat } from '../tensor/dtype.js';
import { Tensor } from '../tensor/index.js';
import { writeValues } from '../tensor/move.js';
import { defaultRandom } from '../tensor/random.js';
import { formatShape } from '../tensor/shape.js';
import { checkNumber, DTypeError, expected, ShapeError, StateError, ValueError } from '../util/errors.js';
import { checkOptionNames } from '../util/option-names.js';
import type { Random } from '../util/philox.js';

export interface InitOptions {
  readonly random?: Random;
}

/** Fills with uniform numbers in [lo, hi), by default [0, 1). */
export function uniform(
  t: Tensor,
  options: InitOptions & { readonly lo?: number; readonly hi?: number } = {},
): Tensor {
  checkOptionNames('uniform', options, { random: true, lo: true, hi: true });
  const { lo = 0, hi = 1, random = defaultRandom() } = options;
  checkNumber('init.uniform', 'lo', lo);
  checkNumber('init.uniform', 'hi', hi, lo);
  return write('init.uniform', t, (target) => {
    const words = t.dtype === 'f64' ? 2 * t.size : t.size;
    kernels().randomUniform(target, t.size, lo, hi, random.key, random.reserve(words));
  });
}

/** Fills with normally distributed numbers, by default with mean 0 and standard deviation 1. */
export function normal(
  t: Tensor,
  options: InitOptions & { readonly mean?: number; readonly std?: number } = {},
): Tensor {
  checkOptionNames('normal', options, { random: true, mean: true, std: true });
  const { mean = 0, std = 1, random = defaultRandom() } = options;
  checkNumber('init.normal', 'mean', mean);
  checkNumber('init.normal', 'std', std, 0);
  return write('init.normal', t, (target) => {
    kernels().randomNormal(target, t.size, mean, std, random.key, random.reserve(4 * t.size));
  });
}

export function constant(t: Tensor, value: number): Tensor {
  checkNumber('init.constant', 'value', value);
  return write('init.constant', t, (target) => kernels().fill(target, t.size, value));
}

export function zeros(t: Tensor): Tensor {
  return constant(t, 0);
}

export function ones(t: Tensor): Tensor {
  return constant(t, 1);
}

export interface GlorotOptions extends InitOptions {
  readonly gain?: number;
}

/** Fills with U(−a, a), a = gain·√(6 / (fanIn + fanOut)): Glorot & Bengio 2010, also called Xavier. */
export function glorotUniform(t: Tensor, options: GlorotOptions = {}): Tensor {
  checkOptionNames('glorotUniform', options, { random: true, gain: true });
  const { gain = 1, ...rest } = options;
  const bound =
    checkNumber('init.glorotUniform', 'gain', gain, 0) * Math.sqrt(6 / fanSum('init.glorotUniform', t));
  return uniform(t, { ...rest, lo: -bound, hi: bound });
}

/** Fills with N(0, σ²), σ = gain·√(2 / (fanIn + fanOut)). */
export function glorotNormal(t: Tensor, options: GlorotOptions = {}): Tensor {
  checkOptionNames('glorotNormal', options, { random: true, gain: true });
  const { gain = 1, ...rest } = options;
  const std =
    checkNumber('init.glorotNormal', 'gain', gain, 0) * Math.sqrt(2 / fanSum('init.glorotNormal', t));
  return normal(t, { ...rest, mean: 0, std });
}

export interface KaimingOptions extends InitOptions {
  /** Slope of the leaky ReLU that follows; 0 for ReLU, √5 gives the bound 1/√fanIn of a linear layer. */
  readonly slope?: number;
  readonly mode?: 'fanIn' | 'fanOut';
}

/** Fills with U(−a, a), a = √(6 / ((1 + slope²)·fan)): He et al. 2015. */
export function kaimingUniform(t: Tensor, options: KaimingOptions = {}): Tensor {
  checkOptionNames('kaimingUniform', options, { random: true, slope: true, mode: true });
  const { slope = 0, mode = 'fanIn', ...rest } = options;
  checkNumber('init.kaimingUniform', 'slope', slope);
  if (mode !== 'fanIn' && mode !== 'fanOut') {
    throw new ValueError(expected('init.kaimingUniform', "'fanIn' or 'fanOut'", 'mode', mode));
  }
  const fan = fans(t, 'init.kaimingUniform')[mode];
  const bound = fan === 0 ? 0 : Math.sqrt(6 / ((1 + slope * slope) * fan));
  return uniform(t, { ...rest, lo: -bound, hi: bound });
}

/** Returns the inputs per output and the outputs per input of a weight [out, in, ...kernel]. */
export function fans(t: Tensor, where = 'init.fans'): { readonly fanIn: number; readonly fanOut: number } {
  if (!(t instanceof Tensor)) throw new ValueError(expected(where, 'a tensor', 't', t));
  if (t.rank < 2)
    throw new ShapeError(expected(where, 'at least two axes [out, in]', 't', formatShape(t.shape)));
  const field = t.shape.slice(2).reduce((product, d) => product * d, 1);
  return { fanIn: t.shape[1] * field, fanOut: t.shape[0] * field };
}

function fanSum(where: string, t: Tensor): number {
  const { fanIn, fanOut } = fans(t, where);
  // An empty weight needs a finite bound, though nothing is filled.
  return Math.max(1, fanIn + fanOut);
}

/** Fills on the CPU and copies, so that values are the same on every device. */
function write(where: string, t: Tensor, fill: (target: FloatArray) => void): Tensor {
  if (!(t instanceof Tensor)) throw new ValueError(expected(where, 'a tensor', 't', t));
  if (!isFloat(t.dtype)) throw new DTypeError(expected(where, 'f32 or f64', 'the dtype of t', t.dtype));
  if (!t.isContiguous)
    throw new StateError(`${where}: expected a contiguous tensor, got a strided view. Pass a clone().`);
  if (!t.isLeaf)
    throw new StateError(`${where}: expected a leaf tensor, got the result of an operation. Use detach().`);
  if (t.device === null) {
    fill(t.floats);
    t.storage.version++;
    return t;
  }
  const made = Tensor.allocate(t.dtype, t.shape, null);
  fill(made.floats);
  writeValues(made, t);
  made.dispose();
  return t;
}
