/**
 * The shape of a conformance case for graphics processors. The same cases run in Node (conformance.test.ts) and in a page of
 * headless Chromium (browser.test.ts), so a case file imports the package and its neighbours here, never vitest or `node:`.
 */
import type { GpuDevice } from 'skein/gpu';

export interface GpuCase {
  /** Letter of the conformance group, such as `A`. */
  readonly group: string;
  readonly name: string;
  /** Throws when the case fails. What it creates on `gpu` it releases, also when it fails. */
  run(gpu: GpuDevice): Promise<void>;
}
