/** Tables whose rows are distributed over workers: one worker here, several under mpirun. */
import { SelfCommunicator } from 'skein/dist';
import { describe, expect, it } from 'vitest';
import { hasMpi, launch, withoutMpi } from './mpi-launch.js';
import { storesCases } from './stores-cases.js';
import { workerCounts } from './worker-counts.js';

describe('one worker', () => {
  it.each(storesCases)('$name', async ({ run }) => {
    await run(new SelfCommunicator());
  });
});

describe.skipIf(!hasMpi)(`MPI${withoutMpi}`, () => {
  it.each(workerCounts([3], [2]))(
    '%i ranks',
    async (ranks) => {
      const { code, lines, err } = await launch(ranks, ['case-worker.ts', 'stores-cases.js', 'storesCases']);
      expect(lines.filter(({ error }) => error !== '')).toEqual([]);
      expect({ code, err }).toEqual({ code: 0, err: '' });
      expect(lines.length).toBe(ranks * storesCases.length);
    },
    240_000,
  );
});
