import fc from 'fast-check';
import { TemporalGraph } from 'skein/graph';
import { getThreads, setThreads } from 'skein/native';
import {
  type TemporalHop,
  TemporalNeighborSampler,
  type TemporalNeighborSamplerOptions,
  type TemporalSample,
} from 'skein/sample';
import { Random } from 'skein/util';
import { describe, expect, it } from 'vitest';
import { nativeKernels } from '#internal/native/index.js';
import { bruteForcePast, f1, part, randomStream, type Stream } from '../graph/temporal-streams.js';
import { samplerContract } from './sampler-contract.js';

const stream = randomStream(3000, 40, 7);
const graph = new TemporalGraph(stream, { numNodes: 42 });

function randomSeeds(count: number, seed: number, numNodes = 42, end = stream.time[2999] + 1) {
  const random = new Random(seed);
  const nodes = Int32Array.from({ length: count }, () => random.nextInt(numNodes));
  return { nodes, times: Float64Array.from(nodes, () => random.nextFloat() * end) };
}

const arrays = (hop: TemporalHop) => {
  const { dstNodes, dstTimes, indptr, sources, eventRows, spans, srcNodes, srcTimes } = hop;
  return { dstNodes, dstTimes, indptr, sources, eventRows, spans, srcNodes, srcTimes };
};
/** All arrays as bytes: much faster to compare than large arrays. */
const bytes = ({ snapshots }: TemporalSample) =>
  Buffer.concat(
    snapshots.flatMap((hops) =>
      hops.flatMap((hop) =>
        Object.values(arrays(hop)).map((a) => Buffer.from(a.buffer, a.byteOffset, a.byteLength)),
      ),
    ),
  );
const contents = ({ snapshots }: TemporalSample) => snapshots.map((hops) => hops.map(arrays));

/** Edges of a destination as [neighbour, event row]. */
const edgesOf = (hop: TemporalHop, i: number): [number, number][] =>
  Array.from({ length: hop.indptr[i + 1] - hop.indptr[i] }, (_, j) => {
    const e = hop.indptr[i] + j;
    return [hop.srcNodes[hop.sources[e]], hop.eventRows[e]];
  });

/** One expectation for many facts: an `expect` for each would take longer than the sampling. */
function expectAll(facts: Iterable<[holds: boolean, what: string]>): void {
  for (const [holds, what] of facts) if (!holds) expect.fail(what);
}

/** Checks the invariants of every hop, for any strategy. */
function expectSoundHop(hop: TemporalHop, events: Stream, propTime: boolean, unique: boolean): void {
  expect(hop.srcNodes.subarray(0, hop.numDst)).toEqual(hop.dstNodes);
  expect(hop.srcTimes.subarray(0, hop.numDst)).toEqual(hop.dstTimes);
  const pairs = new Set<string>();
  for (let r = 0; r < hop.numSrc; r++) {
    const pair = `${hop.srcNodes[r]} ${hop.srcTimes[r]}`;
    if (unique && r >= hop.numDst && pairs.has(pair)) expect.fail(`${pair} has two rows`);
    pairs.add(pair);
  }
  for (let i = 0; i < hop.numDst; i++) {
    let before = -1;
    for (let e = hop.indptr[i]; e < hop.indptr[i + 1]; e++) {
      const [row, t] = [hop.eventRows[e], hop.dstTimes[i]];
      expectAll([
        [events.time[row] < t, `event ${row} is not before ${t}`],
        [row >= before, `event ${row} comes after ${before}`],
        [hop.spans[e] === Math.fround(t - events.time[row]), `span ${hop.spans[e]} of event ${row} at ${t}`],
        [
          hop.srcTimes[hop.sources[e]] === (propTime ? t : events.time[row]),
          `time of the source of edge ${e}`,
        ],
      ]);
      before = row;
    }
  }
}

describe('check 1: the small stream, recent', () => {
  const small = new TemporalGraph(f1, { directed: true });
  const sampler = new TemporalNeighborSampler(small, { fanouts: [2] });
  it.each([
    [
      0,
      4,
      [
        [1, 3, 2],
        [2, 7, 3],
      ],
    ],
    [
      0,
      3,
      [
        [1, 1, 1],
        [1, 3, 2],
      ],
    ],
    [0, 2, [[1, 1, 1]]],
    [
      1,
      3,
      [
        [0, 0, 1],
        [2, 5, 2],
      ],
    ],
    [
      2,
      5,
      [
        [1, 2, 1],
        [5, 12, 4],
      ],
    ],
    [3, 3, [[2, 6, 2]]],
    [
      3,
      4,
      [
        [2, 8, 3],
        [4, 9, 3],
      ],
    ],
    [5, 3, []],
    [5, 9, [[4, 10, 3]]],
  ])('node %i at %i', (node, t, want) => {
    const [hop] = sampler.sample({ nodes: [node], times: [t] }).hops;
    expect(edgesOf(hop, 0).map(([v, row]) => [v, row, f1.time[row]])).toEqual(want);
  });
});

describe('check 1: against brute force', () => {
  const streams = fc.record({
    events: fc.integer({ min: 0, max: 120 }),
    nodes: fc.integer({ min: 1, max: 9 }),
    seed: fc.integer({ min: 0, max: 1000 }),
    ties: fc.integer({ min: 1, max: 6 }),
    fanout: fc.integer({ min: -1, max: 7 }),
    directed: fc.boolean(),
    propTime: fc.boolean(),
    unique: fc.boolean(),
  });

  it('recent = the last min(fan-out, past) events, over two hops', () => {
    fc.assert(
      fc.property(streams, ({ events, nodes, seed, ties, fanout, directed, propTime, unique }) => {
        const random = randomStream(events, nodes, seed, ties);
        const sampler = new TemporalNeighborSampler(
          new TemporalGraph(random, { numNodes: nodes, directed }),
          { fanouts: [fanout, 3], propTime, unique },
        );
        // Half of the times are those of events, where strictly earlier matters.
        const seeds = randomSeeds(12, seed, nodes, (random.time[events - 1] ?? 0) + 1);
        for (let i = 0; i < 12 && events > 0; i += 2) seeds.times[i] = random.time[(i * 7) % events];
        const { hops } = sampler.sample(seeds);
        for (const [h, hop] of hops.entries()) {
          expectSoundHop(hop, random, propTime, unique);
          const take = h === 0 ? fanout : 3;
          for (let i = 0; i < hop.numDst; i++) {
            const past = bruteForcePast(random, hop.dstNodes[i], hop.dstTimes[i], { directed });
            expect(edgesOf(hop, i)).toEqual(take < 0 ? past : take === 0 ? [] : past.slice(-take));
          }
        }
        expect(hops[1].dstNodes).toEqual(hops[0].srcNodes);
        expect(hops[1].dstTimes).toEqual(hops[0].srcTimes);
      }),
      { numRuns: 60 },
    );
  });

  it('uniform and weighted take only what is strictly past, all of it when there is little', () => {
    const weights = Float32Array.from({ length: 3000 }, (_, i) => (i % 4 === 0 ? 0 : 1 + (i % 5)));
    for (const strategy of ['uniform', 'weighted'] as const) {
      const options = { fanouts: [5, 4], strategy, ...(strategy === 'weighted' ? { weights } : {}) };
      const { hops } = new TemporalNeighborSampler(graph, options).sample(randomSeeds(200, 3));
      for (const [h, hop] of hops.entries()) {
        expectSoundHop(hop, stream, false, true);
        for (let i = 0; i < hop.numDst; i++) {
          const past = bruteForcePast(stream, hop.dstNodes[i], hop.dstTimes[i]).filter(
            ([, row]) => strategy === 'uniform' || weights[row] > 0,
          );
          const fanout = options.fanouts[h];
          const got = edgesOf(hop, i);
          if (past.length <= fanout) expect(got).toEqual(past);
          else {
            expect(got.length).toBe(fanout);
            const known = new Set(past.map(String));
            expect(got.every((edge) => known.has(String(edge)))).toBe(true);
          }
        }
      }
    }
  });

  it('windows hold the events in [t − (i + 1)·duration, t − i·duration)', () => {
    const duration = 40;
    const sampler = new TemporalNeighborSampler(graph, {
      ...{ fanouts: [4, 2], history: 3, duration, propTime: true },
    });
    const sample = sampler.sample(randomSeeds(60, 4));
    expect(sample.snapshots.length).toBe(3);
    expect(sample.hops).toBe(sample.snapshots[0]);
    for (const [w, hops] of sample.snapshots.entries()) {
      for (const [h, hop] of hops.entries()) {
        for (let i = 0; i < hop.numDst; i++) {
          const t = hop.dstTimes[i];
          const past = bruteForcePast(stream, hop.dstNodes[i], t - w * duration, {
            from: t - (w + 1) * duration,
          });
          expect(edgesOf(hop, i)).toEqual(past.slice(h === 0 ? -4 : -2));
        }
      }
    }
  });
});

describe('check 1: draws', () => {
  /** How often each past event of one node is drawn over many steps. */
  function frequencies(options: Partial<TemporalNeighborSamplerOptions>, steps: number): Map<number, number> {
    const sampler = new TemporalNeighborSampler(graph, { fanouts: [10], strategy: 'uniform', ...options });
    const seeds = { nodes: Int32Array.of(1), times: Float64Array.of(stream.time[900]) };
    const counts = new Map<number, number>();
    for (let step = 0; step < steps; step++)
      for (const row of sampler.sample(seeds, { step }).hops[0].eventRows)
        counts.set(row, (counts.get(row) ?? 0) + 1);
    return counts;
  }
  const past = bruteForcePast(stream, 1, stream.time[900]).map(([, row]) => row);

  /** Chi-square against fractions; its mean is the degrees of freedom k, its deviation √(2k). */
  function expectShares(counts: Map<number, number>, shares: number[], draws: number): void {
    let chi = 0;
    for (const [i, row] of past.entries()) {
      if (shares[i] === 0) expect(counts.has(row)).toBe(false);
      else chi += ((counts.get(row) ?? 0) - draws * shares[i]) ** 2 / (draws * shares[i]);
    }
    const freedom = shares.filter((share) => share > 0).length - 1;
    expect(freedom).toBeGreaterThan(20);
    expect(Math.abs(chi - freedom)).toBeLessThan(5 * Math.sqrt(2 * freedom));
  }

  it('uniform reaches all past events alike', () => {
    expectShares(
      frequencies({}, 2000),
      past.map(() => 1 / past.length),
      20_000,
    );
  });

  it('weighted reaches them by weight', () => {
    const weights = Float32Array.from({ length: 3000 }, (_, i) => i % 4);
    const total = past.reduce((sum, row) => sum + weights[row], 0);
    const counts = frequencies({ strategy: 'weighted', weights }, 2000);
    expectShares(
      counts,
      past.map((row) => weights[row] / total),
      20_000,
    );
  });

  it('gives the same (node, time) the same draw at any position, another in another hop', () => {
    const sampler = new TemporalNeighborSampler(graph, {
      fanouts: [6, 6],
      strategy: 'uniform',
      propTime: true,
    });
    const t = stream.time[2500];
    const first = sampler.sample({ nodes: [1, 2, 3], times: [t, t, t] }).hops;
    const other = sampler.sample({ nodes: [7, 3, 1], times: [t, t, t] }).hops;
    expect(edgesOf(other[0], 2)).toEqual(edgesOf(first[0], 0));
    expect(edgesOf(other[0], 1)).toEqual(edgesOf(first[0], 2));
    expect(edgesOf(first[1], 0)).not.toEqual(edgesOf(first[0], 0));
  });

  it.skipIf(nativeKernels === null)('are the same for 1 to 8 threads', () => {
    const before = getThreads();
    const weights = Float32Array.from({ length: 3000 }, (_, i) => i % 7);
    try {
      for (const options of [
        { fanouts: [10, 5] },
        { fanouts: [10, 5], strategy: 'uniform' as const },
        { fanouts: [10, 5], strategy: 'weighted' as const, weights },
      ]) {
        const sampler = new TemporalNeighborSampler(graph, options);
        const results = [1, 2, 4, 8].map((threads) => {
          setThreads(threads);
          return bytes(sampler.sample(randomSeeds(2500, 6), { step: 3 }));
        });
        for (const result of results.slice(1)) expect(result.equals(results[0])).toBe(true);
      }
    } finally {
      setThreads(before);
    }
  });
});

describe('TemporalNeighborSampler', () => {
  const weights = Float32Array.from({ length: 3000 }, (_, i) => 0.25 + (i % 7));
  const cases: Record<string, TemporalNeighborSamplerOptions> = {
    recent: { fanouts: [4, 3] },
    uniform: { fanouts: [4, 3], strategy: 'uniform' },
    weighted: { fanouts: [4, 3], strategy: 'weighted', weights },
    'windows, rows not shared': {
      fanouts: [3, 3],
      strategy: 'uniform',
      history: 2,
      duration: 90,
      unique: false,
    },
  };
  for (const [title, options] of Object.entries(cases)) {
    describe(title, () => {
      samplerContract<ReturnType<typeof randomSeeds>, TemporalSample>({
        make: (seed) => new TemporalNeighborSampler(graph, { ...options, seed }),
        seeds: randomSeeds(50, 1),
        otherSeeds: randomSeeds(70, 2),
        noSeeds: randomSeeds(0, 1),
        badSeeds: { nodes: Int32Array.of(42), times: Float64Array.of(1) },
        contents,
        fixed: title === 'recent',
      });
    });
  }

  it('check 16: two queries of one node at two times have two rows', () => {
    const small = new TemporalGraph({ src: [0, 1], dst: [1, 2], time: [1, 1.5] });
    const sampler = new TemporalNeighborSampler(small, { fanouts: [5] });
    const [hop] = sampler.sample({ nodes: [1, 1, 1], times: [1.25, 1.75, 1.25] }).hops;
    expect(hop.numDst).toBe(3);
    expect([0, 1, 2].map((i) => edgesOf(hop, i).length)).toEqual([1, 2, 1]);
    // (0, 1) and (2, 1.5), each once.
    expect([...hop.srcNodes.subarray(3)]).toEqual([0, 2]);
    expect([...hop.srcTimes.subarray(3)]).toEqual([1, 1.5]);
    expect([...hop.sources]).toEqual([3, 3, 4, 3]);
  });

  it('check 19: fractions of a second in Unix time are distinguished', () => {
    const base = 1.6e9;
    const late = new TemporalGraph({ src: [0, 0], dst: [1, 2], time: [base, base + 0.25] });
    const sampler = new TemporalNeighborSampler(late, { fanouts: [5] });
    const { hops } = sampler.sample({ nodes: [0, 0, 0], times: [base, base + 0.25, base + 0.5] });
    expect([...hops[0].indptr]).toEqual([0, 0, 1, 3]);
    expect([...hops[0].spans]).toEqual([0.25, 0.5, 0.25]);
  });

  it('a row that is a destination already is that row', () => {
    const pair = new TemporalGraph({ src: [0], dst: [1], time: [1] });
    const sampler = new TemporalNeighborSampler(pair, { fanouts: [1], propTime: true });
    const [hop] = sampler.sample({ nodes: [0, 1], times: [2, 2] }).hops;
    expect([...hop.sources]).toEqual([1, 0]);
    expect(hop.block.numSrcNodes).toBe(2);
  });

  it('identity has rows and no edges', () => {
    const sampler = new TemporalNeighborSampler(graph, { fanouts: [3, 3], strategy: 'identity' });
    const { hops } = sampler.sample(randomSeeds(5, 1));
    expect(hops.map((hop) => [hop.numDst, hop.numSrc, hop.numEdges])).toEqual([
      [5, 5, 0],
      [5, 5, 0],
    ]);
  });

  it('makes room for nodes with very many events', () => {
    const n = 5000;
    const star = new TemporalGraph({
      src: new Int32Array(n),
      dst: Int32Array.from({ length: n }, (_, i) => 1 + (i % 50)),
      time: Float64Array.from({ length: n }, (_, i) => i),
    });
    const sampler = new TemporalNeighborSampler(star, { fanouts: [-1, -1] });
    const { hops } = sampler.sample({ nodes: [0], times: [300] });
    expect(hops[0].numEdges).toBe(300);
    for (let i = 0; i < hops[1].numDst; i++)
      expect(edgesOf(hops[1], i).length).toBe(
        hops[1].dstNodes[i] === 0
          ? hops[1].dstTimes[i]
          : Math.floor((hops[1].dstTimes[i] - hops[1].dstNodes[i] + 50) / 50),
      );
  });

  it('samples the graph of the call while events are appended', async () => {
    const growing = new TemporalGraph(part(stream, 0, 50), { growNodes: true });
    const sampler = new TemporalNeighborSampler(growing, { fanouts: [6, 6, 6], strategy: 'uniform' });
    const pending: Promise<TemporalSample>[] = [];
    const wanted: Buffer[] = [];
    for (let i = 50; i < 3000; i += 59) {
      const seeds = randomSeeds(40, i, growing.numNodes);
      wanted.push(bytes(sampler.sample(seeds, { step: i })));
      pending.push(sampler.sampleAsync(seeds, { step: i }));
      for (let k = i; k < Math.min(i + 59, 3000); k++) growing.append(part(stream, k, k + 1));
      if (i % 5 === 0) await Promise.resolve();
    }
    const got = await Promise.all(pending);
    for (const [i, sample] of got.entries()) expect(bytes(sample).equals(wanted[i])).toBe(true);
  });

  it('rejects wrong options and seeds with errors that name them', () => {
    const make = (options: object) => () => new TemporalNeighborSampler(graph, { fanouts: [2], ...options });
    expect(make({ strategy: 'latest' })).toThrow(
      /recent, uniform, weighted, identity for strategy, got "latest"/,
    );
    expect(make({ fanouts: [-2] })).toThrow(/fanouts\[0\]/);
    expect(make({ fanouts: [1e6], strategy: 'uniform' })).toThrow(/from -1 to 65536 for fanouts\[0\]/);
    expect(make({ history: 2 })).toThrow(/the length of the 2 windows for duration/);
    expect(make({ history: 2, duration: -1 })).toThrow(/duration/);
    expect(make({ strategy: 'weighted' })).toThrow(/weights if and only if strategy is 'weighted'/);
    expect(make({ weights: [1] })).toThrow(/weights if and only if/);
    expect(() => new TemporalNeighborSampler({} as never, { fanouts: [1] })).toThrow(
      /a TemporalGraph for graph/,
    );
    const weighted = (given: unknown) => () =>
      new TemporalNeighborSampler(graph, {
        fanouts: [2],
        strategy: 'weighted',
        weights: given as never,
      }).sample(randomSeeds(1, 1));
    expect(weighted([1, 2])).toThrow(/3000 numbers, one per event, for weights, got 2/);
    expect(weighted(() => new Float32Array(3000).fill(-1))).toThrow(
      /0 or more for weights, got "-1 at position 0"/,
    );
    const sampler = new TemporalNeighborSampler(graph, { fanouts: [2] });
    expect(() => sampler.sample({ nodes: [1], times: [] })).toThrow(/1 times, one per node, for seeds.times/);
    expect(() => sampler.sample({ nodes: [1], times: [Number.NaN] })).toThrow(/seeds.times\[0\], got NaN/);
    expect(() => sampler.sample({ nodes: [1], times: new Float32Array(1) as never })).toThrow(/Float64Array/);
  });
});
