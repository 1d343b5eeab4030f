/** Partitions with their workers: one here, several under mpirun. */
import { SelfCommunicator } from 'skein/dist';
import { describe, expect, it } from 'vitest';
import { hasMpi, launch, withoutMpi } from './mpi-launch.js';
import { partitionCases } from './partition-cases.js';
import { workerCounts } from './worker-counts.js';

describe('one worker', () => {
  it.each(partitionCases)('$name', async ({ run }) => {
    await run(new SelfCommunicator());
  });
});

describe.skipIf(!hasMpi)(`MPI${withoutMpi}`, () => {
  it.each(workerCounts([3], [2]))(
    '%i ranks',
    async (ranks) => {
      const command = ['case-worker.ts', 'partition-cases.js', 'partitionCases'];
      const { code, lines, err } = await launch(ranks, command);
      expect(lines.filter(({ error }) => error !== '')).toEqual([]);
      expect({ code, err }).toEqual({ code: 0, err: '' });
      expect(lines.length).toBe(ranks * partitionCases.length);
    },
    240_000,
  );
});
