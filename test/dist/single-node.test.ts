/** Workers that share one machine's memory: one worker here, several under mpirun. */
import { SelfCommunicator } from 'skein/dist';
import { nativeStatus } from 'skein/native';
import { describe, expect, it } from 'vitest';
import { hasMpi, launch, withoutMpi } from './mpi-launch.js';
import { singleNodeCases } from './single-node-cases.js';
import { workerCounts } from './worker-counts.js';

/** Locks between processes and memory given back are the addon's. */
const hasAddon = nativeStatus().backend === 'native';

describe.skipIf(!hasAddon)('one worker', () => {
  it.each(singleNodeCases)('$name', async ({ run }) => {
    await run(new SelfCommunicator());
  });
});

describe.skipIf(!hasMpi || !hasAddon)(`MPI${withoutMpi}`, () => {
  it.each(workerCounts([2], [3]))(
    '%i ranks',
    async (ranks) => {
      const table = ['case-worker.ts', 'single-node-cases.js', 'singleNodeCases'];
      const { code, lines, err } = await launch(ranks, table);
      expect(lines.filter(({ error }) => error !== '')).toEqual([]);
      expect({ code, err }).toEqual({ code: 0, err: '' });
      expect(lines.length).toBe(ranks * singleNodeCases.length);
    },
    240_000,
  );
});
