/** Batches of a stream: where they begin and end, and that looking ahead changes nothing in them. */
import fc from 'fast-check';
import { TemporalGraph } from 'skein/graph';
import { TemporalNeighborSampler } from 'skein/sample';
import { TemporalLoader } from 'skein/temporal';
import { ValueError } from 'skein/util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { batchBoundaries } from '#internal/temporal/batch-rows.js';
import type { NegativeSource } from '#internal/temporal/loader.js';
import { collect, makeEvents, makeRig, numNodes } from './stream.js';

const distinct = (i: number): number => i;
const sizes = (boundaries: Int32Array): number[] =>
  Array.from(boundaries.slice(1), (end, i) => end - boundaries[i]);

describe('boundaries', () => {
  test('without chunks every batch is full but the last', () => {
    expect([...batchBoundaries(distinct, 25, { batchSize: 10 }, 3)]).toEqual([0, 10, 20, 25]);
    expect([...batchBoundaries(distinct, 20, { batchSize: 10 }, 0)]).toEqual([0, 10, 20]);
  });

  test('random chunks: a short first batch of 0 … r − 1 parts, then full ones; every offset is met', () => {
    const offsets = new Set<number>();
    for (let epoch = 0; epoch < 60; epoch++) {
      const options = { batchSize: 12, chunks: 4, seed: 9 };
      const boundaries = batchBoundaries(distinct, 100, options, epoch);
      expect(batchBoundaries(distinct, 100, options, epoch)).toEqual(boundaries);
      const [first, ...rest] = sizes(boundaries);
      expect([3, 6, 9, 12]).toContain(first);
      for (const size of rest.slice(0, -1)) expect(size).toBe(12);
      offsets.add(first % 12);
    }
    expect([...offsets].sort((a, b) => a - b)).toEqual([0, 3, 6, 9]);
  });

  test('batches end where windows do', () => {
    const windowOf = (time: number): number => Math.floor(time / 4);
    const at = (times: readonly number[], batchSize: number) => [
      ...batchBoundaries((i) => times[i], times.length, { batchSize, windowOf }, 0),
    ];
    const times = [0, 1, 2, 3, 4, 4, 5, 17, 18];
    expect(at(times, 3)).toEqual([0, 3, 4, 7, 9]);
    expect(at(times, 100)).toEqual([0, 4, 7, 9]);
    expect(at(times, 1)).toEqual([0, 1, 2, 3, 4, 6, 7, 8, 9]);
    expect(at([], 3)).toEqual([0]);
  });

  test('another seed shifts other epochs', () => {
    const firsts = (seed: number): number[] =>
      Array.from(
        { length: 20 },
        (_, epoch) => batchBoundaries(distinct, 90, { batchSize: 8, chunks: 8, seed }, epoch)[1],
      );
    expect(firsts(1)).toEqual(firsts(1));
    expect(firsts(1)).not.toEqual(firsts(2));
    expect(new Set(firsts(1)).size).toBeGreaterThan(3);
  });

  test('every event is in exactly one batch and no moment is cut, whatever the times', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 2 }), { maxLength: 60 }),
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 1, max: 4 }),
        fc.integer({ min: 0, max: 1000 }),
        (steps, part, chunks, epoch) => {
          let clock = 0;
          const times = steps.map((step) => (clock += step));
          const batchSize = part * chunks;
          const boundaries = [
            ...batchBoundaries((i) => times[i], times.length, { batchSize, chunks }, epoch),
          ];
          expect(boundaries[0]).toBe(0);
          expect(boundaries[boundaries.length - 1]).toBe(times.length);
          for (let i = 1; i < boundaries.length; i++) {
            expect(boundaries[i]).toBeGreaterThan(boundaries[i - 1]);
            if (boundaries[i] < times.length)
              expect(times[boundaries[i]]).toBeGreaterThan(times[boundaries[i] - 1]);
          }
        },
      ),
    );
  });

  test('a moment larger than a batch is one batch; split only on request', () => {
    const times = (i: number): number => (i < 3 ? i : i < 53 ? 3 : i);
    expect([...batchBoundaries(times, 60, { batchSize: 5 }, 0)]).toEqual([0, 53, 58, 60]);
    expect(sizes(batchBoundaries(times, 60, { batchSize: 5, tieGroups: false }, 0))).toEqual(
      Array(12).fill(5),
    );
    expect([...batchBoundaries(() => 1, 60, { batchSize: 5 }, 0)]).toEqual([0, 60]);
  });

  test('no events, one event', () => {
    expect([...batchBoundaries(distinct, 0, { batchSize: 5 }, 0)]).toEqual([0]);
    for (let epoch = 0; epoch < 8; epoch++) {
      expect([...batchBoundaries(distinct, 0, { batchSize: 6, chunks: 3 }, epoch)]).toEqual([0]);
      expect([...batchBoundaries(distinct, 1, { batchSize: 6, chunks: 3 }, epoch)]).toEqual([0, 1]);
    }
  });

  test.each([
    [{ batchSize: 0 }, /batchSize/],
    [{ batchSize: 2.5 }, /batchSize/],
    [{ batchSize: 10, chunks: 0 }, /chunks/],
    [{ batchSize: 10, chunks: 3 }, /a divisor of the batch size 10 for chunks, got 3/],
  ])('%j is refused', (options, message) => {
    expect(() => batchBoundaries(distinct, 5, options, 0)).toThrow(message);
  });
});

/** A loader without memory over the test stream, with what is under test put in. */
function plainLoader(
  options: Partial<ConstructorParameters<typeof TemporalLoader>[1]> = {},
  events = makeEvents(50),
): TemporalLoader {
  const graph = new TemporalGraph(events, { numNodes });
  const sampler = new TemporalNeighborSampler(graph, { fanouts: [3], strategy: 'uniform', seed: 4 });
  return new TemporalLoader(graph, { sampler, batchSize: 10, ...options });
}

const facts = ({ eventRows, negatives, hops, nodes }: Awaited<ReturnType<typeof collect>>[number]) => ({
  eventRows,
  negatives,
  nodes,
  sampled: hops.map((hop) => [...hop.eventRows]),
  times: hops.map((hop) => [...hop.srcTimes]),
});

describe('batches', () => {
  test('given rows alone are gone through, in order', async () => {
    const rows = Int32Array.from({ length: 17 }, (_, i) => 2 * i + 1);
    const loader = plainLoader({ rows, tieGroups: false });
    expect(loader.numEvents).toBe(17);
    expect(loader.numBatches(0)).toBe(2);
    const batches = await collect(loader);
    expect(batches.flatMap(({ eventRows }) => [...eventRows])).toEqual([...rows]);
    const { time, src } = loader.graph;
    for (const batch of batches) {
      expect([...batch.times]).toEqual(Array.from(batch.eventRows, (row) => time[row]));
      expect([...batch.src]).toEqual(Array.from(batch.eventRows, (row) => src[row]));
    }
  });

  test('moments are kept together among the given rows only', async () => {
    const events = { src: [0, 0, 0, 0], dst: [1, 2, 3, 4], time: [1, 1, 1, 2] };
    const graph = new TemporalGraph(events);
    const sampler = new TemporalNeighborSampler(graph, { fanouts: [1] });
    const loader = new TemporalLoader(graph, { sampler, batchSize: 1, rows: Int32Array.of(0, 2, 3) });
    expect([...loader.boundaries(0)]).toEqual([0, 2, 3]);
  });

  test.each([[[3, 2]], [[1, 1]], [[-1]], [[50]]])('rows %j are refused', (rows) => {
    expect(() => plainLoader({ rows: Int32Array.from(rows) })).toThrow(ValueError);
    expect(() => plainLoader({ rows: Int32Array.from(rows) })).toThrow(/ascending rows of 50 events/);
  });

  test('an empty stream has no batches, a single event one', async () => {
    const none = new TemporalGraph({ src: [], dst: [], time: [] }, { numNodes: 2 });
    const sampler = new TemporalNeighborSampler(none, { fanouts: [2] });
    const empty = new TemporalLoader(none, { sampler, batchSize: 10 });
    expect(empty.numBatches(0)).toBe(0);
    expect(await collect(empty)).toEqual([]);
    expect(await collect(plainLoader({ rows: new Int32Array(0) }))).toEqual([]);
    const [only, ...rest] = await collect(plainLoader({ rows: Int32Array.of(7), chunks: 5 }));
    expect(rest).toEqual([]);
    expect([...only.eventRows]).toEqual([7]);
  });

  test('an epoch entered at batch k gives the batches that come there anyway', async () => {
    const rig = makeRig(makeEvents(70), { chunks: 5, amount: 2 });
    for (const epoch of [0, 3]) {
      const all = (await collect(rig.loader, epoch)).map(facts);
      expect(all.length).toBeGreaterThan(5);
      for (const from of [0, 1, 4, all.length - 1, all.length, all.length + 3]) {
        const rest: unknown[] = [];
        for await (const batch of rig.loader.epoch(epoch, from)) rest.push(facts(batch));
        expect(rest).toEqual(all.slice(from));
      }
    }
  });

  test('a batch made at once is the one made ahead', async () => {
    const loader = plainLoader();
    const ahead = await collect(loader, 2);
    for (const [step, batch] of ahead.entries())
      expect(facts(loader.batch(batch.eventRows, { epoch: 2, step }))).toEqual(facts(batch));
  });

  test('draws differ between epochs', async () => {
    const { loader } = makeRig(makeEvents(70), { amount: 2 });
    const negatives = async (epoch: number) =>
      (await collect(loader, epoch)).flatMap((batch) => [...batch.negatives]);
    expect(await negatives(0)).toEqual(await negatives(0));
    expect(await negatives(0)).not.toEqual(await negatives(1));
  });
});

describe('looking ahead', () => {
  test('state is read after the commit of the batch before', async () => {
    const rig = makeRig(makeEvents(60));
    const mailbox = rig.mailbox!;
    let commits = 0;
    let nonzero = 0;
    for await (const batch of rig.loader.epoch(0)) {
      expect(mailbox.version).toBe(commits);
      const now = mailbox.read(batch.nodes);
      expect(batch.state!.memory.dataSync()).toEqual(now.memory.dataSync());
      expect(batch.state!.mail.dataSync()).toEqual(now.mail.dataSync());
      expect(batch.state!.mailEvents).toEqual(now.mailEvents);
      expect(batch.state!.memoryTime).toEqual(now.memoryTime);
      if (batch.state!.memory.dataSync().some((x) => x !== 0)) nonzero++;
      rig.runtime.train(batch);
      commits++;
      // Time for a batch ahead to be made too early, if that were so.
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(nonzero).toBeGreaterThan(2);
  });

  test('pipelined and synchronous batches train to the same bits', async () => {
    const events = makeEvents(60);
    const ahead = makeRig(events);
    const losses: number[] = [];
    for await (const batch of ahead.loader.epoch(0)) losses.push(ahead.runtime.train(batch).loss);
    const atOnce = makeRig(events);
    const boundaries = atOnce.loader.boundaries(0);
    const others: number[] = [];
    for (let step = 0; step + 1 < boundaries.length; step++) {
      const rows = Int32Array.from(
        { length: boundaries[step + 1] - boundaries[step] },
        (_, i) => boundaries[step] + i,
      );
      others.push(atOnce.runtime.train(atOnce.loader.batch(rows, { epoch: 0, step })).loss);
    }
    expect(others).toEqual(losses);
    expect(atOnce.mailbox!.snapshot()).toEqual(ahead.mailbox!.snapshot());
  });

  describe('failures', () => {
    const unhandled: unknown[] = [];
    const note = (error: unknown): void => void unhandled.push(error);
    beforeEach(() => {
      unhandled.length = 0;
      process.on('unhandledRejection', note);
    });
    afterEach(() => process.off('unhandledRejection', note));

    /** Draws that fail for the batch with this event. */
    const failing = (row: number): NegativeSource => ({
      amount: 1,
      draw(rows) {
        if (rows.includes(row)) throw new ValueError(`no draw for ${row}`);
        return new Int32Array(rows.length);
      },
    });
    /** Sampling that fails for the batch of this step. */
    function failingSampler(graph: TemporalGraph, step: number): TemporalNeighborSampler {
      const sampler = new TemporalNeighborSampler(graph, { fanouts: [2] });
      const sampleAsync = sampler.sampleAsync.bind(sampler);
      sampler.sampleAsync = async (seeds, at) => {
        if (at?.step === step) throw new ValueError('no sample');
        return sampleAsync(seeds, at);
      };
      return sampler;
    }
    const settled = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5));

    test.each([
      ['negatives', () => plainLoader({ negatives: failing(25), tieGroups: false })],
      ['sampling', () => plainLoader({ sampler: failingSampler(plainLoader().graph, 2), tieGroups: false })],
    ] as const)('of %s are met when the turn of their batch comes, once', async (_name, make) => {
      const batches = make().epoch(0);
      const seen: number[] = [];
      const failure = await (async () => {
        for await (const batch of batches) {
          seen.push(batch.eventRows[0]);
          await settled();
        }
        return null;
      })().catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(ValueError);
      expect(seen).toEqual([0, 10]);
      expect(await batches.next()).toEqual({ value: undefined, done: true });
      await settled();
      expect(unhandled).toEqual([]);
    });

    test('of a batch that is never requested are not thrown', async () => {
      const loader = plainLoader({ negatives: failing(15), tieGroups: false });
      for await (const batch of loader.epoch(0)) {
        expect(batch.eventRows[0]).toBe(0);
        break;
      }
      await settled();
      expect(unhandled).toEqual([]);
    });
  });
});
