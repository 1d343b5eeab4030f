/**
 * Distributed graphs against one machine: every operation and layer in every mode, results and all gradients, with 1 to
 * 8 workers. One job runs a whole table; its workers print the differences.
 */
import { describe, expect, it } from 'vitest';
import { workerCounts } from '../worker-counts.js';
import { hasMpi, launch, withoutMpi } from './launch.js';

const workers = [
  { what: 'operations', file: 'ops-worker.ts', cases: 800 },
  { what: 'layers', file: 'layers-worker.ts', cases: 1100 },
  { what: 'layers for several types', file: 'hetero-worker.ts', cases: 48 },
];

describe.skipIf(!hasMpi).each(workers)(`$what on shards${withoutMpi}`, ({ file, cases }) => {
  it.each(workerCounts([3], [1, 2, 4, 8]))(
    'equal those on one machine with %i workers',
    async (ranks) => {
      const { code, lines, err } = await launch(ranks, file);
      expect(lines.filter(({ problem }) => problem !== undefined)).toEqual([]);
      expect({ code, err }).toEqual({ code: 0, err: '' });
      expect(lines.filter(({ done }) => (done as number) >= cases).length).toBe(ranks);
    },
    240_000,
  );
});

const suites = [{ what: 'graphs on shards', file: 'graph-worker.ts', cases: 16 }];

describe.skipIf(!hasMpi).each(suites)(`$what${withoutMpi}`, ({ file, cases }) => {
  it.each(workerCounts([3], [1, 2, 4, 8]))(
    'are as promised with %i workers',
    async (ranks) => {
      const { code, lines, err } = await launch(ranks, file);
      expect(lines.filter(({ problem }) => problem !== '')).toEqual([]);
      expect({ code, err }).toEqual({ code: 0, err: '' });
      expect(lines.length).toBe(ranks * cases);
    },
    240_000,
  );
});
