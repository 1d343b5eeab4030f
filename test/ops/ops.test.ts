/**
 * Every operation of skein/tensor against its case table.
 */
import * as tensorApi from 'skein/tensor';
import { expect, it } from 'vitest';
import type { OpCase } from './case.js';
import { elementwiseCases } from './cases/elementwise.js';
import { networkCases } from './cases/network.js';
import { structureCases } from './cases/structure.js';
import { runOpCases } from './run-cases.js';

const cases: readonly OpCase[] = [...elementwiseCases, ...structureCases, ...networkCases];

/** Exported functions that are not operations on elements. */
const notOperations = new Set([
  ...[
    'arange',
    'bernoulli',
    'eye',
    'fromArray',
    'fromTypedArray',
    'full',
    'ones',
    'rand',
    'randint',
    'randn',
    'randperm',
  ],
  ...[
    'tensor',
    'zeros',
    'backward',
    'backwardAll',
    'grad',
    'checkpoint',
    'enableGrad',
    'isGradEnabled',
    'noGrad',
  ],
  ...[
    'setCheckFinite',
    'defineMultiOp',
    'defineOp',
    'emptyPool',
    'poolStats',
    'resetPeak',
    'dryRun',
    'defaultRandom',
    'manualSeed',
  ],
  ...[
    'randomState',
    'setRandomState',
    'keep',
    'scope',
    'unscoped',
    'broadcastShapes',
    'formatShape',
    'SparseRows',
    'Tensor',
  ],
  ...['encodeSafetensors', 'decodeSafetensors', 'registerDevice', 'unregisterDevice'],
]);

it('has a case for every operation', () => {
  const covered = new Set(cases.map((c) => c.op));
  const missing = Object.entries(tensorApi).filter(
    ([name, value]) => typeof value === 'function' && !notOperations.has(name) && !covered.has(name),
  );
  expect(missing.map(([name]) => name)).toEqual([]);
});

runOpCases(cases);
