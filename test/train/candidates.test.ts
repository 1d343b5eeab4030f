/** Ranking among the candidates of a relation equals ranking all nodes and leaving the others out afterwards. */

import { openModel } from 'skein/predict';
import { fromTypedArray } from 'skein/tensor';
import { type LinkPredictionModel, openRun, resolveConfig } from 'skein/train';
import { describe, expect, test } from 'vitest';
import { Candidates } from '#internal/train/tasks/links/candidates.js';
import { EndCounts } from '#internal/train/tasks/links/end-counts.js';
import { randomRows, run, scratch, tinyConfig, writeDataset } from './tiny.js';

const folder = scratch();
const [numNodes, numRelations] = [40, 3];
/** Sources are the nodes below 15, destinations the others, except that no training edge has node 39. */
const rows = randomRows(15, 150, numRelations).map((id, i) => (i % 3 === 2 ? 15 + ((id * 7 + i) % 24) : id));
rows[448] = 2;
rows[449] = 39;
const split = { train: rows.subarray(0, 330), validation: rows.subarray(330, 390), test: rows.subarray(390) };
const dataset = writeDataset(folder(), { numNodes, numRelations, ...split });

/** Nodes that training edges have at an end of a relation: 2 destinations, 0 sources. */
function seenAt(relation: number, end: number): Set<number> {
  const nodes = new Set<number>();
  for (let i = 0; i < split.train.length; i += 3)
    if (split.train[i + 1] === relation) nodes.add(split.train[i + end]);
  return nodes;
}

/** The MRR of a run among seen candidates, from scores of all nodes. */
async function mrrBySearch(directory: string): Promise<number> {
  const opened = await openRun(directory, { over: 'graph' });
  const { decoder } = opened.model as LinkPredictionModel;
  const known = new Set(
    Array.from({ length: rows.length / 3 }, (_, i) => rows.subarray(3 * i, 3 * i + 3).join()),
  );
  const all = Int32Array.from({ length: numNodes }, (_, i) => i);
  const { rows: values, width } = await opened.storage.readEncoded(all);
  let sum = 0;
  for (let i = 0; i < split.test.length; i += 3) {
    const edge = [...split.test.subarray(i, i + 3)];
    const table = fromTypedArray(values, [numNodes, width]);
    const row = (node: number) => fromTypedArray(values.slice(node * width, (node + 1) * width), [1, width]);
    const input = { src: row(edge[0]), dst: row(edge[2]), relations: Int32Array.of(edge[1]), rows: table };
    for (const { direction, query } of decoder.sides(input)) {
      const end = direction === 'rhs' ? 2 : 0;
      const scores = decoder.comparator.chunks(query, table, all, 1).dataSync();
      const seen = seenAt(edge[1], end);
      const others = [...all].filter(
        (node) => node !== edge[end] && seen.has(node) && !known.has(edge.with(end, node).join()),
      );
      const own = scores[edge[end]];
      const greater = others.filter((node) => scores[node] > own).length;
      const equal = others.filter((node) => scores[node] === own).length;
      sum += 1 / (1 + greater + equal / 2);
    }
  }
  await opened.close();
  return sum / ((2 * split.test.length) / 3);
}

describe('evaluation.candidates: SEEN', () => {
  for (const [name, more] of Object.entries({
    'in memory': {},
    'through a partition buffer': {
      storage: {
        embeddings: { type: 'PARTITION_BUFFER', options: { num_partitions: 4, buffer_capacity: 2 } },
        edges: { type: 'FLAT_FILE' },
      },
    },
  }))
    test(`ranks as after leaving the others out, ${name}`, async () => {
      const evaluation = { candidates: 'SEEN', batch_size: 7 };
      const { test: metrics, directory } = await run(tinyConfig(dataset, { ...more, evaluation }));
      expect(metrics['mrr']).toBeCloseTo(await mrrBySearch(directory), 12);
      const { test: all } = await run(tinyConfig(dataset, { ...more, evaluation: { batch_size: 7 } }));
      expect(metrics['mrr']).toBeGreaterThan(all['mrr']);
    });

  test('needs a ranking against all nodes', () => {
    const evaluation = {
      candidates: 'SEEN',
      negative_sampling: { filtered: false, negatives_per_positive: 10 },
    };
    expect(() => resolveConfig({ ...tinyConfig(dataset), evaluation })).toThrow(
      /expected ALL with evaluation\.negative_sampling\.negatives_per_positive 10 for evaluation\.candidates/,
    );
  });
});

describe('Candidates', () => {
  async function* edges() {
    yield { src: Int32Array.of(0, 1), dst: Int32Array.of(4, 5), relations: Int32Array.of(0, 0) };
  }

  test('are the nodes seen, all nodes of their types, or all nodes of the graph', async () => {
    const counts = await EndCounts.read(edges(), 7, 2);
    const seen = new Candidates(counts, null);
    expect([...(seen.of(0, 'tail') ?? [])]).toEqual([4, 5]);
    expect([...(seen.of(0, 'head') ?? [])]).toEqual([0, 1]);
    expect(seen.of(1, 'tail')).toBeNull();
    const typed = new Candidates(counts, Uint8Array.of(0, 0, 0, 1, 1, 1, 1));
    expect([...(typed.of(0, 'tail') ?? [])]).toEqual([3, 4, 5, 6]);
    expect([...(typed.of(0, 'head') ?? [])]).toEqual([0, 1, 2]);
  });
});

test('rank answers with candidates unless all nodes are requested', async () => {
  const { directory } = await run(tinyConfig(dataset));
  const model = await openModel(directory);
  const question = { head: 3, relation: 1 };
  const [all] = await model.rank([question], { k: 40, candidates: 'all' });
  const [seen] = await model.rank([question], { k: 40 });
  const tails = seenAt(1, 2);
  expect(seen).toEqual(all.filter(({ name }) => tails.has(Number(name))));
  expect(seen.length).toBeLessThan(all.length);
  await expect(model.rank([question], { candidates: 'some' as 'all' })).rejects.toThrow(
    'rank: expected seen or all for candidates, got "some"',
  );
  await model.close();
});
