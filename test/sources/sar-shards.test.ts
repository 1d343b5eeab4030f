/**
 * SAR's page "Distributed Graph Representation": it has no code, so every sentence that promises behaviour is a case
 * (sar-shards-cases.ts), on one worker and on several.
 */
import { SelfCommunicator } from 'skein/dist';
import { describe, expect, it } from 'vitest';
import { hasMpi, launch, withoutMpi } from '../dist/mpi-launch.js';
import { workerCounts } from '../dist/worker-counts.js';
import { useSarFiles } from './sar-files.js';
import { shardCases } from './sar-shards-cases.js';

const counts = workerCounts([3], [2, 4]);
const folder = useSarFiles(counts);

describe('one worker', () => {
  it.each(shardCases)('$name', ({ run }) => run(new SelfCommunicator()));
});

describe.skipIf(!hasMpi)(`MPI${withoutMpi}`, () => {
  it.each(counts)('all promises hold on %i workers', async (ranks) => {
    const command = ['case-worker.ts', '../sources/sar-shards-cases.js', 'shardCases'];
    const { code, lines, err } = await launch(ranks, command, { env: { SKEIN_TEST_SAR: folder } });
    expect(lines.filter(({ error }) => error !== '')).toEqual([]);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(lines.length).toBe(ranks * shardCases.length);
  });
});
