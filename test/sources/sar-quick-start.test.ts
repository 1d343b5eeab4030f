/**
 * SAR's page "Data loading and graph construction": every code block line by line, on one worker and on several, with DGL's
 * partition files. The line of the document is in the comment next to ours (sar-quick-start-cases.ts, sar-single-node-worker.ts);
 * docs/source-documents.md says why a form differs.
 */
import { nativeStatus } from 'skein';
import { SelfCommunicator } from 'skein/dist';
import { describe, expect, it } from 'vitest';
import { hasMpi, launch as launchFile } from '../dist/launch.js';
import { launch, withoutMpi } from '../dist/mpi-launch.js';
import { workerCounts } from '../dist/worker-counts.js';
import { useSarFiles } from './sar-files.js';
import { quickStartCases } from './sar-quick-start-cases.js';

const counts = workerCounts([2], [3]);
const folder = useSarFiles(counts);
const env = { SKEIN_TEST_SAR: folder };

describe('one worker', () => {
  it.each(quickStartCases)('$name', ({ run }) => run(new SelfCommunicator()));
});

describe.skipIf(!hasMpi)(`MPI${withoutMpi}`, () => {
  it.each(counts)('all programs on %i workers', async (ranks) => {
    const command = ['case-worker.ts', '../sources/sar-quick-start-cases.js', 'quickStartCases'];
    const { code, lines, err } = await launch(ranks, command, { env });
    expect(lines.filter(({ error }) => error !== '')).toEqual([]);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(lines.length).toBe(ranks * quickStartCases.length);
  });

  // Locks between processes are in the addon.
  it.skipIf(nativeStatus().backend !== 'native').each(counts)(
    'Single-node training on %i workers',
    async (ranks) => {
      const { code, out, err } = await launchFile(ranks, 'test/sources/sar-single-node-worker.ts', [], {
        env,
      });
      expect({ code, err }).toEqual({ code: 0, err: '' });
      const workers = out
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
      expect(workers.length).toBe(ranks);
      for (const { losses, expected, spills, isOnDisk, after, again, masks } of workers) {
        expect(losses).toEqual(expected);
        expect(losses[2]).toBeLessThan(losses[0]);
        expect(spills).toBeGreaterThan(10);
        expect(isOnDisk).toBe(true);
        expect(after).toBe(ranks);
        expect(again).toMatch(/after delete\(\)/);
        expect(masks).toBeGreaterThan(0);
      }
    },
  );
});
