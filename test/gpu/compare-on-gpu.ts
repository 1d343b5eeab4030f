/** Compares one case of an operation on the GPU with the CPU. */

import { fromTypedArray, grad, manualSeed, type Tensor } from 'skein/tensor';
import { expect } from 'vitest';
import { kernels } from '#internal/native/index.js';
import type { OpCase } from '../ops/case.js';
import { evaluate, makeInputs, worstError } from '../ops/check.js';

/**
 * Tolerance relative to max(1, |expected|): f32 sums in another order, and WGSL lets exp, log and pow be off by several
 * units in the last place.
 */
export const tolerance = 1e-4;

async function fetched(t: Tensor | null): Promise<Tensor | null> {
  return t === null ? null : await t.contiguous().cpu();
}

/** Compares values and gradients of a case on the device with the CPU's. */
export async function compareOnGpu(spec: OpCase, strided: boolean): Promise<void> {
  const expected = evaluate(spec, makeInputs(spec, 'f32', strided), kernels());
  const inputs = makeInputs(spec, 'f32', strided).map((t) => t.to('webgpu'));
  manualSeed(7);
  const output = spec.run(...inputs);
  const value = await fetched(output.detach());
  expect(value?.shape).toEqual(expected.output.shape);
  const loose = tolerance * (spec.loose?.[0] ?? 1);
  expect(worstError(value as Tensor, expected.output)).toBeLessThan(loose);
  if (expected.gradients.length === 0) return;
  const n = output.size;
  const weights = fromTypedArray(
    Float32Array.from({ length: n }, (_, i) => ((i * 37 + 11) % 29) / 29 - 0.4),
    output.shape,
  ).to('webgpu');
  const wanted = inputs.filter((t) => t.requiresGrad);
  const gradients = grad(output, wanted, weights);
  for (const [i, gradient] of gradients.entries()) {
    const other = expected.gradients[i];
    expect(gradient === null).toBe(other === null);
    if (other === null) continue;
    expect(worstError((await fetched(gradient)) as Tensor, other)).toBeLessThan(10 * loose);
  }
}
