/**
 * The type of a GPU conformance case. The same cases run in Node (conformance.test.ts) and in a page of headless
 * Chromium (browser.test.ts), so a case file imports the package and its neighbours here, never vitest or `node:`.
 */
import type { GpuDevice } from 'skein/gpu';

export interface GpuCase {
  /** Letter of the conformance group, such as `A`. */
  readonly group: string;
  readonly name: string;
  /** Throws if the case fails. Releases everything it creates on `gpu`, also if it fails. */
  run(gpu: GpuDevice): Promise<void>;
}
