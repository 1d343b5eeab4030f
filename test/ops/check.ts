/**
 * How a case is checked: inputs with a given layout, values and gradients under given kernels, finite differences.
 */

import {
  type FloatDType,
  fromTypedArray,
  grad,
  manualSeed,
  rand,
  randperm,
  type Tensor,
  transpose,
} from 'skein/tensor';
import { Random } from 'skein/util';
import { type Kernels, withKernels } from '#internal/native/index.js';
import type { Input, OpCase } from './case.js';

export interface Outcome {
  readonly output: Tensor;
  readonly gradients: readonly (Tensor | null)[];
}

/** Seeded values for an input; the same for both dtypes up to rounding. */
function values(spec: Input, seed: number): Float64Array {
  const { lo = -1.5, hi = 1.5, away = 0 } = spec;
  const random = new Random(seed);
  const size = spec.shape.reduce((a, b) => a * b, 1);
  if (spec.distinct === true) {
    const order = randperm(size, { random }).dataSync();
    return Float64Array.from({ length: size }, (_, i) => (order[i] + 1) / 8);
  }
  return Float64Array.from(rand([size], { lo, hi, random, dtype: 'f64' }).dataSync(), (v) => {
    // Rounded to f32, so that both dtypes see the same numbers.
    const rounded = Math.fround(v);
    return Math.abs(rounded) < away
      ? Math.fround(Math.sign(rounded || 1) * (away + Math.abs(rounded)))
      : rounded;
  });
}

export function makeInputs(spec: OpCase, dtype: FloatDType, strided = false): Tensor[] {
  return spec.inputs.map((one, i) => {
    const data = values(one, 100 + i);
    const array = dtype === 'f32' ? Float32Array.from(data) : data;
    const t = fromTypedArray(array, one.shape);
    const leaf = strided && t.rank >= 2 ? asStrided(t) : t;
    return one.constant === true || spec.forwardOnly === true ? leaf : leaf.setRequiresGrad();
  });
}

/** Returns a tensor of equal values with the last two axes transposed in memory. */
function asStrided(t: Tensor): Tensor {
  const flipped = transpose(t).contiguous();
  return transpose(flipped.detach()).detach();
}

/** Weights of the scalar that is differentiated: fixed, different for each element. */
function weightsFor(output: Tensor): Tensor {
  const n = output.size;
  const w = Float64Array.from({ length: n }, (_, i) => ((i * 37 + 11) % 29) / 29 - 0.4);
  return fromTypedArray(output.dtype === 'f32' ? Float32Array.from(w) : w, output.shape);
}

export function evaluate(spec: OpCase, inputs: readonly Tensor[], kernels: Kernels): Outcome {
  return withKernels(kernels, () => {
    manualSeed(7);
    const output = spec.run(...inputs);
    if (spec.forwardOnly === true || !output.requiresGrad) return { output, gradients: [] };
    const wanted = inputs.filter((t) => t.requiresGrad);
    return { output, gradients: grad(output, wanted, weightsFor(output)) };
  });
}

/** Σ output·weights with one input element moved. */
function objective(spec: OpCase, inputs: readonly Tensor[], kernels: Kernels): number {
  return withKernels(kernels, () => {
    manualSeed(7);
    const output = spec.run(...inputs.map((t) => t.detach()));
    const weights = weightsFor(output).dataSync();
    return (output.dataSync() as Float64Array).reduce((total, v, i) => total + v * weights[i], 0);
  });
}

/** Central differences in f64 for at most `limit` elements of an input, spread over it. */
export function numericGradient(
  spec: OpCase,
  which: number,
  kernels: Kernels,
  limit = 24,
): Map<number, number> {
  const inputs = makeInputs(spec, 'f64');
  const data = inputs[which].dataSync();
  const result = new Map<number, number>();
  const step = Math.max(1, Math.floor(data.length / limit));
  for (let i = 0; i < data.length; i += step) {
    const before = data[i];
    const h = 1e-5 * Math.max(1, Math.abs(before));
    data[i] = before + h;
    const up = objective(spec, inputs, kernels);
    data[i] = before - h;
    const down = objective(spec, inputs, kernels);
    data[i] = before;
    result.set(i, (up - down) / (2 * h));
  }
  return result;
}

/** Largest error relative to max(1, |expected|); NaN matches NaN. */
export function worstError(actual: Tensor, wanted: Tensor): number {
  const a = actual.dataSync();
  const b = wanted.dataSync();
  if (a.length !== b.length) return Infinity;
  let worst = 0;
  for (let i = 0; i < a.length; i++) {
    if (Object.is(a[i], b[i]) || a[i] === b[i]) continue;
    const error = Math.abs(a[i] - b[i]) / Math.max(1, Math.abs(b[i]));
    worst = error <= worst ? worst : error;
  }
  return worst;
}
