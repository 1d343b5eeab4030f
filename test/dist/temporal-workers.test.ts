/**
 * Event streams on several workers: with a division by place every bit is the same for 1, 2, 4 and 8 workers, under mpirun.
 * Checks 13 and 14 of the notes on temporal systems; the plain runtime is the oracle for scores. Skipped without MPI.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { SelfCommunicator } from 'skein/dist';
import { afterAll, describe, expect, it } from 'vitest';
import { families, makeEvents, makeRig, scoresOf } from '../temporal/stream.js';
import { temporalCases, workerRig } from './temporal-cases.js';
import { mailboxCases } from './temporal-mailbox-cases.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const version = spawnSync('mpirun', ['--version'], { encoding: 'utf8' });
const hasMpi = existsSync(`${root}/build/mpi.node`) && version.status === 0;
const flags = version.stdout?.includes('Open MPI')
  ? ['--allow-run-as-root', '--oversubscribe', '--mca', 'mpi_yield_when_idle', '1']
  : [];

const cases = [...temporalCases, ...mailboxCases];
const comm = new SelfCommunicator();
const alone = new Map<string, string>();

describe('one worker', () => {
  afterAll(() => comm.close());

  it.each(cases.map((one) => [one.name, one] as const))('%s', async (name, { run }) => {
    alone.set(name, await run(comm));
    expect(alone.get(name)).not.toBe('');
  });

  it.each(Object.entries(families))(
    'scores %s as the plain runtime does, bit for bit',
    async (_name, file) => {
      const plain = makeRig(makeEvents(120), { file, tieGroups: true, batchSize: 20, amount: 2 });
      const expected = await scoresOf(plain);
      for (const chunks of [1, 8]) {
        const rig = workerRig(comm, file, { chunks });
        const positive: number[] = [];
        const negative: number[] = [];
        for await (const batch of rig.train.epoch(0)) {
          const result = rig.runtime.evaluate(batch);
          positive.push(...result.positive);
          negative.push(...result.negative);
        }
        expect({ positive, negative }).toEqual(expected);
        if (rig.mailbox !== null && plain.mailbox !== null)
          expect(rig.mailbox.snapshot()).toEqual(plain.mailbox.snapshot());
      }
    },
  );
});

describe.skipIf(!hasMpi)('several workers', () => {
  it.each([2, 4, 8])(
    '%i have the bits of one',
    (ranks) => {
      const worker = ['--import', 'tsx', 'test/dist/temporal-worker.ts'];
      const job = spawnSync('mpirun', [...flags, '-n', String(ranks), process.execPath, ...worker], {
        ...{ cwd: root, encoding: 'utf8', timeout: 240_000 },
        env: { ...process.env, SKEIN_THREADS: '1' },
      });
      expect({ code: job.status, err: job.stderr }).toEqual({ code: 0, err: '' });
      const lines = job.stdout
        .split('\n')
        .filter((line) => line.startsWith('{'))
        .map((line) => JSON.parse(line) as { rank: number; name: string; outcome: string });
      for (const { name } of cases)
        expect({
          name,
          outcomes: lines.filter((line) => line.name === name).map(({ outcome }) => outcome),
        }).toEqual({
          name,
          outcomes: Array.from({ length: ranks }, () => alone.get(name)),
        });
    },
    300_000,
  );
});
