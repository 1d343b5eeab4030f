/** Messages longer than MPI's counts: 2 GB and a little more, between two ranks. Needs 8 GB of memory. */
import { freemem } from 'node:os';
import { describe, expect, it } from 'vitest';
import { hasMpi, launch } from '../dist/mpi-launch.js';

const reason = !hasMpi ? 'needs MPI' : freemem() < 8 * 2 ** 30 ? 'needs 8 GB of free memory' : '';

describe.skipIf(reason !== '')(`2 GB${reason === '' ? '' : ` (skipped: ${reason})`}`, () => {
  it('goes through a broadcast and a reduction', async () => {
    const { code, lines, err } = await launch(2, ['mpi-worker.ts', 'large', '{"timeout":300}'], {
      limit: 400,
    });
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(lines.length).toBe(2);
    for (const line of lines) expect(line).toMatchObject({ seen: [5, 6, 7], sums: [3, 3, 3] });
  });
});
