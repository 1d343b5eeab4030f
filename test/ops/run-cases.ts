/**
 * Checks of every differentiable operation, given its case table: native = reference, gradients by finite
 * differences, strided input, inputs left as they were, and the same bytes for any number of threads.
 */
import { getThreads, setThreads } from 'skein/native';
import type { Tensor } from 'skein/tensor';
import { describe, expect, it } from 'vitest';
import { nativeKernels, referenceKernels } from '#internal/native/index.js';
import { expectSameBytes } from '../kernels/harness.js';
import { type OpCase, tolerance } from './case.js';
import { evaluate, makeInputs, numericGradient, worstError } from './check.js';

const active = nativeKernels ?? referenceKernels;
const title = (c: OpCase): string => `${c.op}: ${c.name}`;

export function runOpCases(cases: readonly OpCase[]): void {
  const differentiable = cases.filter((c) => c.forwardOnly !== true);

  describe.each(['f32', 'f64'] as const)('native = reference in %s', (dtype) => {
    it.each(cases.map((c) => [title(c), c] as const))('%s', (_name, spec) => {
      const bound = tolerance[dtype] * (spec.loose?.[0] ?? 1);
      const want = evaluate(spec, makeInputs(spec, dtype), referenceKernels);
      const got = evaluate(spec, makeInputs(spec, dtype), active);
      expect(got.output.shape).toEqual(want.output.shape);
      expect(got.output.dtype).toBe(want.output.dtype);
      expect(worstError(got.output, want.output)).toBeLessThanOrEqual(bound);
      for (const [i, g] of got.gradients.entries()) {
        expect(worstError(g as Tensor, want.gradients[i] as Tensor), `gradient ${i}`).toBeLessThanOrEqual(
          bound,
        );
      }
    });
  });

  describe('gradient = finite difference in f64', () => {
    it.each(differentiable.map((c) => [title(c), c] as const))('%s', (_name, spec) => {
      const inputs = makeInputs(spec, 'f64');
      const { gradients } = evaluate(spec, inputs, active);
      let next = 0;
      for (const [which, t] of inputs.entries()) {
        if (!t.requiresGrad) continue;
        const analytic = gradients[next++]?.dataSync();
        for (const [i, numeric] of numericGradient(spec, which, active)) {
          const value = analytic?.[i] ?? 0;
          // Central differences with h = 1e-5: truncation about h² and rounding about 1e-16/h, together near 1e-9.
          const error = Math.abs(value - numeric) / Math.max(1, Math.abs(numeric));
          expect(
            error,
            `input ${which}, element ${i}: analytic ${value}, numeric ${numeric}`,
          ).toBeLessThanOrEqual(1e-7 * (spec.loose?.[0] ?? 1));
        }
      }
    });
  });

  describe('strided input gives the same result', () => {
    const strided = cases.filter((c) => c.inputs.some((one) => one.shape.length >= 2));
    it.each(strided.map((c) => [title(c), c] as const))('%s', (_name, spec) => {
      const want = evaluate(spec, makeInputs(spec, 'f64'), active);
      const got = evaluate(spec, makeInputs(spec, 'f64', true), active);
      expect(worstError(got.output, want.output)).toBeLessThanOrEqual(tolerance.f64 * (spec.loose?.[0] ?? 1));
      for (const [i, g] of got.gradients.entries()) {
        expect(worstError(g as Tensor, want.gradients[i] as Tensor)).toBeLessThanOrEqual(
          tolerance.f64 * (spec.loose?.[0] ?? 1),
        );
      }
    });
  });

  describe('inputs stay as they were', () => {
    it.each(cases.map((c) => [title(c), c] as const))('%s', (_name, spec) => {
      const inputs = makeInputs(spec, 'f32');
      const before = inputs.map((t) => t.dataSync().slice());
      evaluate(spec, inputs, active);
      for (const [i, t] of inputs.entries()) expectSameBytes(t.dataSync(), before[i], `input ${i}`);
    });
  });

  describe('bytes do not depend on the number of threads', () => {
    it.each(cases.map((c) => [title(c), c] as const))('%s', (_name, spec) => {
      const threads = getThreads();
      try {
        const results = [1, 2, 4].map((count) => {
          setThreads(count);
          const { output, gradients } = evaluate(spec, makeInputs(spec, 'f32'), active);
          return [output, ...gradients].map((t) => t?.dataSync() ?? new Uint8Array(0));
        });
        for (const other of results.slice(1))
          for (const [i, view] of other.entries()) expectSameBytes(view, results[0][i], `result ${i}`);
      } finally {
        setThreads(threads);
      }
    });
  });
}
