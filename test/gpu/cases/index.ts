/**
 * All conformance cases, in the order of their groups. A new case file is added here and runs in Node and in the
 * browser.
 */
import type { GpuCase } from './case.js';
import { cases as device } from './device.js';
import { cases as dynamicCache } from './dynamic-cache.js';
import { cases as features } from './features.js';
import { cases as programs } from './programs.js';
import { cases as draws } from './sampling-draws.js';
import { cases as limits } from './sampling-limits.js';
import { cases as samplers } from './sampling-samplers.js';
import { cases as vectors } from './sampling-vectors.js';
import { cases as sizes } from './sizes.js';

export const allCases: readonly GpuCase[] = [
  ...vectors,
  ...draws,
  ...limits,
  ...samplers,
  ...device,
  ...programs,
  ...sizes,
  ...features,
  ...dynamicCache,
];
