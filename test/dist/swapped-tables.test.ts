/** Tables whose partitions several workers swap together: the rows of one process, each worker with its share of them. */
import { SelfCommunicator } from 'skein/dist';
import { describe, expect, it } from 'vitest';
import { hasMpi, launch, withoutMpi } from './mpi-launch.js';
import { swappedCases } from './swapped-cases.js';
import { workerCounts } from './worker-counts.js';

describe('one worker', () => {
  it.each(swappedCases)('$name', async ({ run }) => {
    await run(new SelfCommunicator());
  });
});

describe.skipIf(!hasMpi)(`MPI${withoutMpi}`, () => {
  it.each(workerCounts([2, 3], [5]))(
    '%i ranks',
    async (ranks) => {
      const { code, lines, err } = await launch(ranks, [
        'case-worker.ts',
        'swapped-cases.js',
        'swappedCases',
      ]);
      expect(lines.filter(({ error }) => error !== '')).toEqual([]);
      expect({ code, err }).toEqual({ code: 0, err: '' });
      expect(lines.length).toBe(ranks * swappedCases.length);
    },
    120_000,
  );
});
