/**
 * Event streams on several workers: with a division by place every bit is the same for 1, 2, 4 and 8 workers, under mpirun.
 * Checks 13 and 14 of the notes on temporal systems; the plain runtime is the oracle for scores. Skipped without MPI.
 */
import { SelfCommunicator } from 'skein/dist';
import { afterAll, describe, expect, it } from 'vitest';
import { families, makeEvents, makeRig, scoresOf } from '../temporal/stream.js';
import { hasMpi, launch, withoutMpi } from './launch.js';
import { temporalCases, workerRig } from './temporal-cases.js';
import { mailboxCases } from './temporal-mailbox-cases.js';
import { replicaCases } from './temporal-replica-cases.js';
import { workerCounts } from './worker-counts.js';

const cases = [...temporalCases, ...mailboxCases, ...replicaCases];
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

describe.skipIf(!hasMpi)(`several workers${withoutMpi}`, () => {
  it.each(workerCounts([2], [4, 8]))(
    '%i have the bits of one',
    async (ranks) => {
      const { code, err, out } = await launch(ranks, 'test/dist/temporal-worker.ts', [], { limit: 240 });
      expect({ code, err }).toEqual({ code: 0, err: '' });
      const lines = out
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
