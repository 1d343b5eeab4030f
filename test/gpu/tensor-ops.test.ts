/**
 * Every operation of the case tables on the graphics processor against the CPU: values and gradients. Operations that the
 * device does not have are listed, and must refuse by name.
 */
import { enableWebGpu, type GpuDevice, openGpuDevice, type WebGpuTensorDevice } from 'skein/gpu';
import { kernels } from 'skein/native';
import { fromTypedArray, grad, manualSeed, scope, type Tensor } from 'skein/tensor';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { OpCase } from '../ops/case.js';
import { elementwiseCases } from '../ops/cases/elementwise.js';
import { networkCases } from '../ops/cases/network.js';
import { scoringCases } from '../ops/cases/scoring.js';
import { structureCases } from '../ops/cases/structure.js';
import { evaluate, makeInputs, worstError } from '../ops/check.js';

/**
 * Relative to max(1, |expected|): f32 sums in another order, and WGSL lets exp, log and pow be off by several units in the
 * last place.
 */
const tolerance = 1e-4;

/** No kernel on the device: recurrent cells and time encoding belong to temporal models, which run on the CPU. */
const onlyOnCpu = new Set<string>([]);

let gpu: GpuDevice;
let device: WebGpuTensorDevice;
beforeAll(async () => {
  gpu = await openGpuDevice();
  device = await enableWebGpu(gpu);
});
afterAll(() => {
  device.release();
  gpu.destroy();
});

async function fetched(t: Tensor | null): Promise<Tensor | null> {
  return t === null ? null : await t.contiguous().cpu();
}

async function compare(spec: OpCase, strided: boolean): Promise<void> {
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

const cases = [...elementwiseCases, ...structureCases, ...networkCases, ...scoringCases];
const names = [...new Set(cases.map((c) => c.op))];
const byOp = names.map((op) => [op, cases.filter((c) => c.op === op)] as const);

describe.each(byOp)('%s on webgpu', (op, list) => {
  if (onlyOnCpu.has(op)) {
    it('refuses by name', () => {
      const inputs = makeInputs(list[0], 'f32').map((t) => t.to('webgpu'));
      expect(() => scope(() => void list[0].run(...inputs))).toThrow(/webgpu/);
    });
    return;
  }
  it.each(list.map((c) => [c.name, c] as const))('%s', (_name, spec) => compare(spec, false));
  it.each(list.slice(0, 2).map((c) => [c.name, c] as const))('%s, strided', (_name, spec) =>
    compare(spec, true),
  );
});
