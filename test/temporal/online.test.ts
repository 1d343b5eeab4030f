/** Online scoring: a question has the same answer alone and among others, at one time and at several. */
import { TemporalNeighborSampler } from 'skein/sample';
import { OnlineScorer } from 'skein/temporal';
import { beforeEach, describe, expect, it } from 'vitest';
import { families, makeEvents, makeRig, scoresOf, tgnFile } from './stream.js';

describe('OnlineScorer.score', () => {
  let scorer: OnlineScorer;
  let end: number;
  beforeEach(async () => {
    const rig = makeRig(makeEvents(80), {
      file: tgnFile.replace('variant: tgn', 'variant: tgn, pair_depth: 8'),
    });
    await scoresOf(rig);
    const { graph, runtime, model } = rig;
    const sampler = new TemporalNeighborSampler(graph, { fanouts: model.config.sampling.neighbor });
    scorer = new OnlineScorer({ graph, runtime, sampler, pairDepth: 8 });
    end = graph.lastTime;
  });

  it('takes a time for each pair', () => {
    const [src, dst, times] = [
      [0, 1, 2],
      [12, 13, 14],
      [end + 1, end + 50, end + 400.5],
    ];
    const together = [...scorer.score(src, dst, times)];
    const alone = times.map((t, i) => scorer.score([src[i]], [dst[i]], t)[0]);
    expect(together).toEqual(alone);
    expect(new Set(times.map((t) => scorer.score([0], [12], t)[0])).size).toBe(3);
  });

  it('takes one source at several times', () => {
    const times = [end + 1, end + 50];
    const alone = times.map((t, i) => scorer.score([3], [12 + i], t)[0]);
    expect([...scorer.score([3], [12, 13], times)]).toEqual(alone);
  });

  it('refuses times that memory has passed and numbers of times that do not fit', () => {
    expect(() => scorer.score([0, 1], [12, 13], [end + 1, end - 1])).toThrow(/a time after/);
    expect(() => scorer.score([0, 1], [12, 13], [end + 1])).toThrow(/expected 2 times for t, got 1/);
    expect(() => scorer.score([0, 1], [12, 13], [end + 1, Number.NaN])).toThrow(/score: .*NaN/);
  });
});

it('a question asked twice has one answer, also where neighbours are drawn', () => {
  const { graph, runtime } = makeRig(makeEvents(80), { file: families.tgat });
  const sampler = new TemporalNeighborSampler(graph, { fanouts: [3, 3], strategy: 'uniform', seed: 1 });
  const scorer = new OnlineScorer({ graph, runtime, sampler });
  const once = [...scorer.score([3], [12, 13, 14])];
  expect([...scorer.score([3], [12, 13, 14])]).toEqual(once);
  expect(new Set(once).size).toBe(3);
});
