/** Gradients, parameters and batch norm over workers: one worker here, several under mpirun. */
import { SelfCommunicator } from 'skein/dist';
import { describe, expect, it } from 'vitest';
import { hasMpi, launch, withoutMpi } from './mpi-launch.js';
import { nnCases } from './nn-cases.js';
import { workerCounts } from './worker-counts.js';

describe('one worker', () => {
  it.each(nnCases)('$name', async ({ run }) => {
    await run(new SelfCommunicator());
  });
});

describe.skipIf(!hasMpi)(`MPI${withoutMpi}`, () => {
  it.each(workerCounts([3], [2, 4]))(
    '%i ranks',
    async (ranks) => {
      const { code, lines, err } = await launch(ranks, ['case-worker.ts', 'nn-cases.js', 'nnCases']);
      expect(lines.filter(({ error }) => error !== '')).toEqual([]);
      expect({ code, err }).toEqual({ code: 0, err: '' });
      expect(lines.length).toBe(ranks * nnCases.length);
    },
    240_000,
  );
});
