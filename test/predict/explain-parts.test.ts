/** Parts of explanations: nodes that a true end is compared with, masks under max and min, models with random parameters. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fromTypedArray, Graph, openRun, Random } from 'skein';
import { fitLinks } from 'skein/predict';
import { describe, expect, it } from 'vitest';
import { randomAnswer } from '#internal/predict/explain/explain-link.js';
import { MaskedGraph } from '#internal/predict/explain/masked-graph.js';
import { neighborhoodInputs } from '#internal/predict/explain/neighborhood-inputs.js';
import { knownEnds, otherNodes } from '#internal/predict/explain/other-nodes.js';
import { Pace } from '#internal/predict/explain/pace.js';
import { EndRefit } from '#internal/predict/explain/refit-ends.js';
import { EdgeIndex } from '#internal/predict/views/edge-index.js';
import type { OpenedGraphRun } from '#internal/train/index.js';
import { ruleFacts } from '../../examples/shared/planted-reasons.js';

const pace = new Pace(async () => {});

describe('nodes that a true end is compared with', () => {
  it('are distinct, not excluded, and the same for the same seed', () => {
    const excluded = new Set([0, 7, 8, 9, 99]);
    const draw = () => otherNodes(new Random(3), 64, 100, excluded);
    const found = draw();
    expect(found).toEqual(draw());
    expect(new Set(found).size).toBe(64);
    for (const node of found) expect(excluded.has(node) || node < 0 || node > 99).toBe(false);
  });

  it('are all that are left in a small graph, and may be none', () => {
    expect([...otherNodes(new Random(3), 64, 6, new Set([1, 2, 5]))]).toEqual([0, 3, 4]);
    expect([...otherNodes(new Random(3), 64, 2, new Set([0, 1]))]).toEqual([]);
  });

  it('are each drawn equally often', () => {
    const random = new Random(5);
    const counts = new Map<number, number>();
    for (let i = 0; i < 3000; i++)
      for (const node of otherNodes(random, 1, 5, new Set([0, 3])))
        counts.set(node, (counts.get(node) ?? 0) + 1);
    expect([...counts.keys()].sort()).toEqual([1, 2, 4]);
    // The standard deviation of each count is 26.
    for (const count of counts.values()) expect(Math.abs(count - 1000)).toBeLessThan(130);
  });

  it('exclude known ends by side and relation', async () => {
    const columns = {
      ...{ src: Int32Array.of(0, 0, 0, 3), dst: Int32Array.of(1, 2, 3, 0) },
      ...{ relations: Int32Array.of(0, 0, 1, 0), splits: Uint8Array.of(0, 2, 0, 0), times: null },
    };
    const index = new EdgeIndex(columns, 4);
    const listed = async (at: 'head' | 'tail') =>
      Array.from(await knownEnds(index, 0, at, pace), ([relation, ends]) => [relation, [...ends]]);
    expect(await listed('head')).toEqual([
      [0, [1, 2]],
      [1, [3]],
    ]);
    expect(await listed('tail')).toEqual([[0, [3]]]);
  });
});

describe('a mask of 0', () => {
  // Three messages to node 3: all are negative, so that a message of 0 would win.
  const graph = Graph.fromEdges(Int32Array.of(0, 1, 2), Int32Array.of(3, 3, 3), { numNodes: 4 });
  const x = fromTypedArray(Float32Array.of(-1, -2, -3, 5), [4, 1]);
  const of = (mask: readonly number[]) =>
    new MaskedGraph(graph, fromTypedArray(Float32Array.from(mask), [3]));

  it.each([
    ['max', [0, 1, 1], -2],
    ['max', [0, 0, 1], -3],
    ['max', [1, 1, 1], -1],
    ['max', [0, 0, 0], 0],
    ['min', [1, 1, 0], -2],
    ['sum', [0, 1, 1], -5],
  ] as const)('takes the message out of a %s with masks %j', (reduce, mask, expected) => {
    expect(of(mask).aggregate(x, { reduce }).dataSync()[3]).toBe(expected);
    const rows = fromTypedArray(Float32Array.of(-1, -2, -3), [3, 1]);
    expect(of(mask).aggregateEdges(rows, reduce).dataSync()[3]).toBe(expected);
  });

  it('takes positive messages out of a min', () => {
    const positive = fromTypedArray(Float32Array.of(1, 2, 3, 5), [4, 1]);
    expect(of([0, 1, 1]).aggregate(positive, { reduce: 'min' }).dataSync()[3]).toBe(2);
  });
});

describe('an encoder with graph layers', () => {
  const config = {
    'model.encoder.layers': [
      [{ type: 'EMBEDDING', output_dim: 8 }],
      [
        {
          ...{ type: 'GNN', options: { type: 'GRAPH_SAGE', aggregator: 'MEAN' }, output_dim: 8 },
          bias: true,
        },
      ],
    ],
    'training.form': 'NEGATIVES',
    'model.encoder.train_neighbor_sampling': [{ type: 'ALL' }],
    'model.encoder.eval_neighbor_sampling': [{ type: 'ALL' }],
  };

  it('is compared with a random model whose candidates do not come from training', async () => {
    await withRun({ epochs: 1, config: config as never }, async (run) => {
      const asked = { src: 0, dst: 1, relation: 0 };
      const ends = { maxEdges: 100_000, name: 'ends' };
      const given = await neighborhoodInputs(run, Int32Array.of(0, 1), ends);
      const edges = fromTypedArray(new Float32Array(given.edgeIds.length).fill(1), [given.edgeIds.length, 1]);
      const probability = async (): Promise<number> => {
        const answer = await randomAnswer(run, asked, given, Int32Array.of(2, 3, 4), { seed: 1, pace });
        return answer.logProbability(edges, null).item();
      };
      const before = await probability();
      for (const { floats } of run.model.encoder.parameters()) floats.fill(5);
      run.storage.setEncodedNodes(null);
      expect(await probability()).toBe(before);
    });
  }, 60_000);

  it('encodes a candidate of the random model as it encodes an end', async () => {
    await withRun({ epochs: 1, config: config as never }, async (run) => {
      const ends = { maxEdges: 100_000, name: 'ends' };
      const given = await neighborhoodInputs(run, Int32Array.of(0, 1), ends);
      const edges = fromTypedArray(new Float32Array(given.edgeIds.length).fill(1), [given.edgeIds.length, 1]);
      const tail = Int32Array.of(1);
      const answer = await randomAnswer(run, { src: 0, dst: 1, relation: 0 }, given, tail, { seed: 1, pace });
      // The tail itself is the only candidate, so both are equally likely.
      expect(answer.logProbability(edges, null).item()).toBeCloseTo(Math.log(0.5), 4);
    });
  }, 60_000);

  it('refuses a neighbourhood with too many edges', async () => {
    await withRun({ epochs: 1, config: config as never }, async (run) => {
      const small = neighborhoodInputs(run, Int32Array.of(0, 1), { maxEdges: 1, name: 'a and b' });
      await expect(small).rejects.toThrow('expected at most 1 edges around a and b for maxEdges, got more');
    });
  }, 60_000);
});

it('fits rows to facts against nodes that are not known to be true', async () => {
  // Everybody likes every thing, so that no other end is left: rows stay where they start.
  const names = Array.from({ length: 6 }, (_, i) => `n${i}`);
  const all = names.flatMap((head) => names.map((tail): [string, string, string] => [head, 'likes', tail]));
  await withRun({ epochs: 1, facts: all }, async (run) => {
    const refit = await EndRefit.make(run, { src: 0, dst: 1, relation: 0 }, { seed: 1, pace });
    const facts = Array.from({ length: 12 }, (_, i) => i);
    // The gradient of a loss without competitors is 0, and Adam does not move a row by it.
    expect(await refit.score(facts)).toBeCloseTo(await refit.score([]), 5);
  });
}, 60_000);

interface TrainedOptions {
  readonly epochs: number;
  readonly config?: never;
  readonly facts?: readonly [string, string, string][];
}

/** Trains, opens the run for the work of a test, and removes it. */
async function withRun(
  { facts = ruleFacts(2, 60, 6, 3) as never, ...options }: TrainedOptions,
  work: (run: OpenedGraphRun) => Promise<void>,
): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'explain-'));
  try {
    const model = await fitLinks(facts as never, { ...options, directory: join(directory, 'run') });
    await model.close();
    const run = await openRun(join(directory, 'run', 'run'), { over: 'graph' });
    try {
      await work(run);
    } finally {
      await run.close();
    }
  } finally {
    rmSync(directory, { recursive: true });
  }
}
