/** Which addons are trusted. */
import { expect, it } from 'vitest';
import { nativeKernels, referenceKernels } from './active.js';
import { loadAddon } from './load.js';

it.runIf(nativeKernels !== null)('an addon that lacks a kernel is not used, and the kernel is named', () => {
  expect(loadAddon('1', Object.keys(referenceKernels)).addon).not.toBeNull();
  const { addon, reason } = loadAddon('1', ['gemm', 'addedSince']);
  expect(addon).toBeNull();
  expect(reason).toMatch(/another version of the sources \(no kernel addedSince\)/);
});
