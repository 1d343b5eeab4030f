/**
 * Values that PyTorch computed (test/golden/nn-*.json, written by scripts/golden/nn.py), and how results are compared.
 */
import { readFileSync } from 'node:fs';
import type { Module } from 'skein/nn';
import { backward, type FloatDType, fromArray, mul, sum, type Tensor } from 'skein/tensor';
import { expect } from 'vitest';

/** Relative to the larger of 1 and the expected value. */
export const tolerance: Readonly<Record<FloatDType, number>> = { f64: 1e-10, f32: 1e-5 };

export const dtypes: readonly FloatDType[] = ['f64', 'f32'];

export interface Recorded {
  readonly output: readonly number[];
  readonly grads: Readonly<Record<string, readonly number[]>>;
  readonly [extra: string]: unknown;
}

export type Cases<T> = Readonly<Record<string, T>>;

/** The cases of one golden file. */
export function golden<T>(name: string): Cases<T> {
  const file = new URL(`../golden/nn-${name}.json`, import.meta.url);
  const { format, version, cases } = JSON.parse(readFileSync(file, 'utf8'));
  if (format !== 'skein-nn-golden' || version !== 1) {
    throw new Error(
      `test/golden/nn-${name}.json has version ${version}, this test needs 1. Run: python3 scripts/golden/nn.py`,
    );
  }
  return cases;
}

/** The formula of scripts/golden/nn.py. */
export function pattern(shape: readonly number[], seed: number, dtype: FloatDType, scale = 1): Tensor {
  const size = shape.reduce((product, d) => product * d, 1);
  const values = Array.from(
    { length: size },
    (_, i) => ((((i * 31 + seed * 57 + ((i * i) % 7) * 13) % 199) - 99.5) / 100) * scale,
  );
  return fromArray(values, { dtype }).reshape(shape).clone();
}

export function leaf(shape: readonly number[], seed: number, dtype: FloatDType, scale = 1): Tensor {
  return pattern(shape, seed, dtype, scale).setRequiresGrad();
}

/** Gives parameter k of `names` the values of pattern seed 10 + k; returns them by name. */
export function fill(module: Module, names: readonly string[]): Record<string, Tensor> {
  const own = module.namedParameters();
  expect([...own.keys()].sort()).toEqual([...names].sort());
  const state = Object.fromEntries(
    names.map((name, k) => {
      const p = own.get(name) as Tensor;
      return [name, pattern(p.shape, 10 + k, p.dtype as FloatDType)];
    }),
  );
  module.loadStateDict(state, { strict: false });
  return Object.fromEntries(own);
}

export function expectClose(
  actual: Tensor | ArrayLike<number>,
  wanted: readonly number[],
  limit: number,
  name: string,
): void {
  const values = 'dataSync' in actual ? actual.dataSync() : actual;
  expect(values.length, `${name}: count`).toBe(wanted.length);
  for (let i = 0; i < wanted.length; i++) {
    const error = Math.abs(values[i] - wanted[i]) / Math.max(1, Math.abs(wanted[i]));
    if (!(error <= limit))
      expect.fail(
        `${name}[${i}] is ${values[i]}, PyTorch has ${wanted[i]} (error ${error}, allowed ${limit})`,
      );
  }
}

/** Compares the output, then every gradient of sum(output · pattern 99). */
export function expectRecorded(
  wanted: Recorded,
  output: Tensor,
  leaves: Readonly<Record<string, Tensor>>,
): void {
  const dtype = output.dtype as FloatDType;
  expectClose(output, wanted.output, tolerance[dtype], 'output');
  backward(sum(mul(output, pattern(output.shape, 99, dtype))));
  expect(Object.keys(leaves).sort()).toEqual(Object.keys(wanted.grads).sort());
  for (const [name, values] of Object.entries(wanted.grads)) {
    expectClose(leaves[name].grad as Tensor, values, tolerance[dtype], `gradient of ${name}`);
  }
}

/** Checks the gradients of sum(f() · weights) by central differences, for every element of every leaf (f64). */
export function expectFiniteDifferences(f: () => Tensor, leaves: Readonly<Record<string, Tensor>>): void {
  const value = (): Tensor => {
    const y = f();
    return sum(mul(y, pattern(y.shape, 41, 'f64')));
  };
  for (const t of Object.values(leaves)) t.zeroGrad();
  backward(value());
  const step = 1e-6;
  for (const [name, t] of Object.entries(leaves)) {
    const data = t.dataSync();
    const analytic = (t.grad as Tensor).dataSync();
    for (let i = 0; i < data.length; i++) {
      const before = data[i];
      data[i] = before + step;
      const above = value().item();
      data[i] = before - step;
      const below = value().item();
      data[i] = before;
      const numeric = (above - below) / (2 * step);
      const error = Math.abs(numeric - analytic[i]) / Math.max(1, Math.abs(numeric));
      if (error > 1e-7) expect.fail(`d/d${name}[${i}] is ${analytic[i]}, differences give ${numeric}`);
    }
  }
}
