/** One result, whatever does the work: any number of slices of a batch, any number of threads. */
import { getThreads, setThreads } from 'skein';
import type { TemporalBatch } from 'skein/temporal';
import { noGrad } from 'skein/tensor';
import { afterEach, describe, expect, test } from 'vitest';
import type { StateDelta } from '#internal/temporal/mailbox/rows.js';
import { families, makeEvents, makeRig, type Rig } from './stream.js';

/** Returns the delta of the events of one slice. */
function deltaOf({ model, mailbox }: Rig, batch: TemporalBatch): StateDelta {
  const { src, dst, times, eventRows, srcRoots, dstRoots, hops } = batch;
  const ends = Int32Array.from([...srcRoots, ...dstRoots]);
  const output = noGrad(() => model.forward(batch));
  const memory = output.stateOf(ends);
  const rows = Int32Array.from([...eventRows, ...eventRows]);
  return {
    ...mailbox!.getUpdateMemory(Int32Array.from([...src, ...dst]), memory, output.timeOf(ends), rows),
    ...mailbox!.getUpdateMail({
      src,
      dst,
      times,
      eventRows,
      memory,
      srcRoots,
      dstRoots,
      hop: hops[0] ?? null,
    }),
  };
}

describe.each(Object.entries(families))('check 13: %s', (_name, file) => {
  test.each([2, 3, 10])(
    'check 13: a batch in %i slices has the scores and the state of the whole',
    async (slices) => {
      const events = makeEvents(60);
      const whole = makeRig(events, { file, tieGroups: true, batchSize: 20, amount: 2 });
      const cut = makeRig(events, { file, tieGroups: true, batchSize: 20, amount: 2 });
      cut.model.train(false);
      let step = 0;
      for await (const batch of whole.loader.epoch(0)) {
        const result = whole.runtime.evaluate(batch);
        const size = Math.ceil(batch.eventRows.length / slices);
        const parts = Array.from({ length: slices }, (_, i) =>
          cut.loader.batch(batch.eventRows.slice(i * size, (i + 1) * size), { epoch: 0, step }),
        );
        const scored = parts.map((part) => cut.runtime.score(part));
        expect(scored.flatMap(({ positive }) => [...positive])).toEqual([...result.positive]);
        expect(scored.flatMap(({ negative }) => [...negative])).toEqual([...result.negative]);
        if (cut.mailbox !== null) {
          // The last slice arrives first: order must play no part.
          for (const part of parts.toReversed()) cut.mailbox.commitAsync(deltaOf(cut, part));
          cut.mailbox.drain();
          expect(cut.mailbox.snapshot()).toEqual(whole.mailbox!.snapshot());
        }
        step++;
      }
      expect(step).toBe(3);
    },
  );
});

describe('threads', () => {
  const before = getThreads();
  afterEach(() => setThreads(before));

  test.each(Object.entries(families))('1, 2 and 4 train %s to the same bits', async (_name, file) => {
    const trained = async (threads: number) => {
      setThreads(threads);
      const rig = makeRig(makeEvents(400), { file, batchSize: 100, amount: 3 });
      const losses: number[] = [];
      for await (const batch of rig.loader.epoch(0)) losses.push(rig.runtime.train(batch).loss);
      return {
        losses,
        parameters: rig.model.parameters().map((p) => p.dataSync().slice()),
        state: rig.mailbox?.snapshot() ?? null,
      };
    };
    const one = await trained(1);
    expect(new Set(one.losses).size).toBeGreaterThan(3);
    expect(await trained(2)).toEqual(one);
    expect(await trained(4)).toEqual(one);
  });
});
