/** Sampling on partitioned graphs: one worker here, several under mpirun. */
import { SelfCommunicator } from 'skein/dist';
import { describe, expect, it } from 'vitest';
import { wide } from '../wide.js';
import { loaderCases } from './loader-cases.js';
import { hasMpi, launch, withoutMpi } from './mpi-launch.js';
import { samplingCases } from './sampling-cases.js';

const tables = { samplingCases, loaderCases };

describe('one worker', () => {
  it.each([...samplingCases, ...loaderCases])('$name', async ({ run }) => {
    await run(new SelfCommunicator());
  });
});

describe.skipIf(!hasMpi)(`MPI${withoutMpi}`, () => {
  it.each(
    wide<[number, keyof typeof tables, string]>(
      [
        [3, 'samplingCases', 'sampling-cases.js'],
        [4, 'loaderCases', 'loader-cases.js'],
      ],
      [
        [2, 'samplingCases', 'sampling-cases.js'],
        [2, 'loaderCases', 'loader-cases.js'],
      ],
    ),
  )(
    '%i ranks, %s',
    async (ranks, name, file) => {
      const { code, lines, err } = await launch(ranks, ['case-worker.ts', file, name]);
      expect(lines.filter(({ error }) => error !== '')).toEqual([]);
      expect({ code, err }).toEqual({ code: 0, err: '' });
      expect(lines.length).toBe(ranks * tables[name].length);
    },
    240_000,
  );
});
