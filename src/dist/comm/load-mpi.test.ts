import { expect, it } from 'vitest';
import { CommError } from '../../util/errors.js';
import { launchedBy } from '../../util/launched-by.js';
import { loadMpi } from './load-mpi.js';

it('names what to install when the addon is missing', () => {
  expect(() => loadMpi('../../../build/no-such.node')).toThrow(CommError);
  expect(() => loadMpi('../../../build/no-such.node')).toThrow(
    /expected the addon.*Cannot find module.*libopenmpi-dev openmpi-bin.*npx skein build --mpi/,
  );
});

it('detects the launchers from environment variables', () => {
  expect(launchedBy({})).toBeNull();
  expect(launchedBy({ OMPI_COMM_WORLD_RANK: '1', OMPI_COMM_WORLD_SIZE: '4' })).toEqual({
    launcher: 'mpirun',
    rank: 1,
    size: 4,
  });
  expect(launchedBy({ PMI_RANK: '0', PMI_SIZE: '2' })?.launcher).toBe('mpiexec');
  // A batch script also has SLURM_PROCID, but is not a step started by srun.
  expect(launchedBy({ SLURM_PROCID: '0', SLURM_NTASKS: '8' })).toBeNull();
});
