/**
 * Every operation of the case tables on the GPU against the CPU: values and gradients. Operations that the
 * device does not support are listed, and must throw.
 */
import { scope } from 'skein/tensor';
import { describe, expect, it } from 'vitest';
import type { OpCase } from '../ops/case.js';
import { elementwiseCases } from '../ops/cases/elementwise.js';
import { networkCases } from '../ops/cases/network.js';
import { scoringCases } from '../ops/cases/scoring.js';
import { structureCases } from '../ops/cases/structure.js';
import { makeInputs } from '../ops/check.js';
import { compareOnGpu } from './compare-on-gpu.js';
import { useWebGpu } from './use-webgpu.js';

/** Operations without a GPU kernel, as `op` or `op: case`. */
const onlyOnCpu = new Set<string>([
  // Its angles are formed in double, so that long spans of time keep their phase; temporal models run on the CPU.
  'timeEncode',
  // The device has neither double nor 16-bit elements.
  'cast: floats',
  'cast: through f16',
  'cast: through bf16',
]);

useWebGpu();

const cases = [...elementwiseCases, ...structureCases, ...networkCases, ...scoringCases];
const names = [...new Set(cases.map((c) => c.op))];
const byOp = names.map((op) => [op, cases.filter((c) => c.op === op)] as const);

function refuse(spec: OpCase): void {
  const inputs = makeInputs(spec, 'f32').map((t) => t.to('webgpu'));
  expect(() => scope(() => void spec.run(...inputs))).toThrow(/webgpu|the GPU has/);
}

describe.each(byOp)('%s on webgpu', (op, list) => {
  // Scores by moduli and with biases have no GPU kernel.
  const isRefused = (c: OpCase): boolean =>
    onlyOnCpu.has(op) || onlyOnCpu.has(`${op}: ${c.name}`) || /^(modulus|biasedSquaredL2) /.test(c.name);
  const computed = list.filter((c) => !isRefused(c)).map((c) => [c.name, c] as const);
  const refused = list.filter(isRefused).map((c) => [c.name, c] as const);
  it.each(refused)('%s throws', (_name, spec) => refuse(spec));
  it.each(computed)('%s', (_name, spec) => compareOnGpu(spec, false));
  it.each(computed.slice(0, 2))('%s, strided', (_name, spec) => compareOnGpu(spec, true));
});
