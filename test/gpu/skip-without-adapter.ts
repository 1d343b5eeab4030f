/**
 * The runner of tests that need a WebGPU adapter: without one, a file is not loaded but appears in the report as one
 * skipped test with the reason (scripts/probe-gpu.mjs).
 */
import { inject, TestRunner, test } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    /** Reason why there is no adapter; '' if there is one. */
    withoutGpu: string;
  }
}

export default class SkipWithoutAdapter extends TestRunner {
  override importFile(...args: Parameters<TestRunner['importFile']>): unknown {
    const reason = inject('withoutGpu');
    if (args[1] === 'setup' || reason === '') return super.importFile(...args);
    return test.skip(`all of this file (skipped: no WebGPU adapter: ${reason})`, () => {});
  }
}
