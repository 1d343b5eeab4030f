/**
 * Every operation of the case tables on the graphics processor against the CPU: values and gradients. Operations that the
 * device does not have are listed, and must refuse by name.
 */
import { enableWebGpu, type GpuDevice, openGpuDevice, type WebGpuTensorDevice } from 'skein/gpu';
import { scope } from 'skein/tensor';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { elementwiseCases } from '../ops/cases/elementwise.js';
import { networkCases } from '../ops/cases/network.js';
import { scoringCases } from '../ops/cases/scoring.js';
import { structureCases } from '../ops/cases/structure.js';
import { makeInputs } from '../ops/check.js';
import { compareOnGpu } from './compare-on-gpu.js';

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
  it.each(list.map((c) => [c.name, c] as const))('%s', (_name, spec) => compareOnGpu(spec, false));
  it.each(list.slice(0, 2).map((c) => [c.name, c] as const))('%s, strided', (_name, spec) =>
    compareOnGpu(spec, true),
  );
});
