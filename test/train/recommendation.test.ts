/** Metrics of recommendations, of lists and of runs, against plain loops over all users and items. */

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { preprocess, shopData } from 'skein/data';
import { fitLinks, openModel } from 'skein/predict';
import { fromTypedArray } from 'skein/tensor';
import { type LinkPredictionModel, openRun, recommendationMetrics } from 'skein/train';
import { Random } from 'skein/util';
import { beforeAll, describe, expect, it, test } from 'vitest';
import { datasetFacts } from '#internal/train/config/dataset-facts.js';
import { randomRows, run, scratch, tinyConfig, writeDataset } from './tiny.js';

const folder = scratch();

type Lists = readonly (readonly number[])[];

/** The definitions, by other means than the implementation: sets, and positions of hits. */
function naive(recommended: Lists, heldOut: Lists, k: number, numItems: number): Record<string, number> {
  const users = heldOut.flatMap((held, u) =>
    held.length === 0 ? [] : [{ held, list: recommended[u].slice(0, k) }],
  );
  const mean = (of: (user: (typeof users)[number]) => number): number =>
    users.reduce((sum, user) => sum + of(user), 0) / users.length;
  const ranks = ({ held, list }: (typeof users)[number]): number[] =>
    held
      .map((item) => list.indexOf(item) + 1)
      .filter((rank) => rank > 0)
      .sort((a, b) => a - b);
  const discounts = (all: readonly number[]): number =>
    all.reduce((sum, rank) => sum + 1 / Math.log2(rank + 1), 0);
  const best = (count: number): number[] => Array.from({ length: Math.min(k, count) }, (_, i) => i + 1);
  return {
    [`recall@${k}`]: mean((user) => ranks(user).length / user.held.length),
    [`precision@${k}`]: mean((user) => ranks(user).length / k),
    [`ndcg@${k}`]: mean((user) => discounts(ranks(user)) / discounts(best(user.held.length))),
    [`map@${k}`]: mean(
      (user) => ranks(user).reduce((sum, rank, i) => sum + (i + 1) / rank, 0) / best(user.held.length).length,
    ),
    [`hit_rate@${k}`]: mean((user) => (ranks(user).length > 0 ? 1 : 0)),
    [`coverage@${k}`]: new Set(users.flatMap(({ list }) => list)).size / numItems,
  };
}

function expectSame(got: Readonly<Record<string, number>>, want: Readonly<Record<string, number>>): void {
  expect(Object.keys(got).sort()).toEqual(Object.keys(want).sort());
  for (const [name, value] of Object.entries(want)) expect(got[name], name).toBeCloseTo(value, 12);
}

describe('recommendationMetrics', () => {
  const random = new Random(3);
  const shuffled = (count: number): number[] =>
    Array.from({ length: 12 }, (_, item) => ({ item, key: random.nextFloat() }))
      .sort((a, b) => a.key - b.key)
      .slice(0, count)
      .map(({ item }) => item);

  it('has the values of the definitions', () => {
    const recommended = Array.from({ length: 30 }, () => shuffled(random.nextInt(9)));
    const heldOut = Array.from({ length: 30 }, () => shuffled(random.nextInt(5)));
    for (const k of [1, 3, 5, 20])
      expectSame(
        recommendationMetrics(recommended, heldOut, { k: [k], numItems: 12 }),
        naive(recommended, heldOut, k, 12),
      );
  });

  it('is 1 for perfect lists and 0 for wrong ones', () => {
    const perfect = recommendationMetrics([['a', 'b']], [['a', 'b']], { k: [2], numItems: 2 });
    expect(new Set(Object.values(perfect))).toEqual(new Set([1]));
    const wrong = recommendationMetrics([['c', 'd']], [['a', 'b']], { k: [2] });
    expect(Object.entries(wrong)).toEqual(
      ['recall', 'precision', 'ndcg', 'map', 'hit_rate'].map((n) => [`${n}@2`, 0]),
    );
  });

  it('rejects wrong arguments', () => {
    expect(() => recommendationMetrics([[1]], [], { k: [1] })).toThrow(/1 lists.*heldOut/);
    expect(() => recommendationMetrics([[1]], [[1]], { k: [0] })).toThrow(/k/);
    expect(() => recommendationMetrics([[1]], [[1]], { k: [] })).toThrow(/at least one/);
    expect(() => recommendationMetrics([[1]], [[1]], { at: 3 } as object)).toThrow(/at/);
  });
});

const names = [3, 5].flatMap((k) =>
  ['recall', 'precision', 'ndcg', 'map', 'hit_rate', 'coverage'].map((n) => `${n}@${k}`),
);
const [numNodes, numRelations] = [40, 2];
/** Heads below 15, tails above; the tails of some edges are held out and in training too. */
const rows = randomRows(15, 210, numRelations).map((id, i) => (i % 3 === 2 ? 15 + ((id * 7 + i) % 24) : id));
const splits = {
  train: rows.subarray(0, 390),
  validation: rows.subarray(390, 510),
  test: rows.subarray(510),
};
const dataset = writeDataset(folder(), { numNodes, numRelations, ...splits });

const tailsOf = (edges: Int32Array, head: number, relation: number): number[] => {
  const found = new Set<number>();
  for (let i = 0; i < edges.length; i += 3)
    if (edges[i] === head && edges[i + 1] === relation) found.add(edges[i + 2]);
  return [...found].sort((a, b) => a - b);
};

interface Scores {
  of(head: number, relation: number): ArrayLike<number>;
}

/** Lists of all (relation, head) pairs by search among the tails that training edges of the relation have. */
function bySearch(scores: Scores, split: 'validation' | 'test', users = 15) {
  const recommended: number[][] = [];
  const heldOut: number[][] = [];
  const candidates = new Set<number>();
  const seenTails = [0, 1].map((relation) =>
    [
      ...new Set(Array.from({ length: users }, (_, head) => tailsOf(splits.train, head, relation)).flat()),
    ].sort((a, b) => a - b),
  );
  for (let relation = 0; relation < numRelations; relation++)
    for (let head = 0; head < users; head++) {
      const seen = tailsOf(splits.train, head, relation);
      if (split === 'test') seen.push(...tailsOf(splits.validation, head, relation));
      const held = tailsOf(splits[split], head, relation).filter((tail) => !seen.includes(tail));
      if (held.length > 0) for (const tail of seenTails[relation]) candidates.add(tail);
      const own = scores.of(head, relation);
      const list = seenTails[relation]
        .filter((tail) => !seen.includes(tail))
        .sort((a, b) => own[b] - own[a] || a - b);
      recommended.push(list);
      heldOut.push(held);
    }
  return Object.assign({}, ...[3, 5].map((k) => naive(recommended, heldOut, k, candidates.size))) as Record<
    string,
    number
  >;
}

async function modelScores(directory: string): Promise<Scores> {
  const opened = await openRun(directory, { over: 'graph' });
  const { decoder } = opened.model as LinkPredictionModel;
  const all = Int32Array.from({ length: numNodes }, (_, i) => i);
  const { rows: values, width } = await opened.storage.readEncoded(all);
  await opened.close();
  return {
    of: (head, relation) => {
      const table = fromTypedArray(values, [numNodes, width]);
      const row = fromTypedArray(values.slice(head * width, (head + 1) * width), [1, width]);
      const [{ query }] = decoder.sides({
        src: row,
        dst: row,
        relations: Int32Array.of(relation),
        rows: table,
      });
      return decoder.comparator.chunks(query, table, all, 1).dataSync() as Float32Array;
    },
  };
}

const popularity: Scores = {
  of: (_head, relation) => {
    const counts = new Int32Array(numNodes);
    for (let i = 0; i < splits.train.length; i += 3)
      if (splits.train[i + 1] === relation) counts[splits.train[i + 2]]++;
    return counts;
  },
};

describe('a run with metrics of recommendations', () => {
  const buffer = {
    embeddings: { type: 'PARTITION_BUFFER', options: { num_partitions: 4, buffer_capacity: 2 } },
    edges: { type: 'FLAT_FILE' },
  };
  for (const [name, storage, metrics] of [
    ['alone', {}, names],
    ['next to ranks', {}, [...names, 'mrr', 'hits@10']],
    ['through a partition buffer', buffer, names],
  ] as const)
    test(`reports those of a search, ${name}`, async () => {
      const directory = folder();
      const config = tinyConfig(dataset, {
        storage: { ...storage, model_dir: directory },
        training: { early_stopping: { metric: 'ndcg@5', patience: 3 } },
        evaluation: { metrics },
      });
      const { test: got, baselines } = await run(config);
      const { mrr, 'hits@10': hits, ...lists } = got;
      expectSame(lists, bySearch(await modelScores(directory), 'test'));
      expect([mrr, hits].every((value) => (metrics.includes('mrr') ? value > 0 : value === undefined))).toBe(
        true,
      );
      expect(baselines.map((one) => one.name)).toEqual(
        metrics.includes('mrr') ? ['popularity', 'counting'] : ['popularity'],
      );
      expectSame(baselines[0].metrics, bySearch(popularity, 'test'));
      const done = JSON.parse(readFileSync(join(directory, 'done.json'), 'utf8')) as Record<string, object>;
      expect(done['test']).toEqual(got);
      expect(done['baselines']).toEqual(baselines);
    });

  test('validates on users that together have max_edges items', async () => {
    const directory = folder();
    const metrics = { metrics: ['recall@5', 'ndcg@5'] };
    const more = { storage: { model_dir: directory }, training: { num_epochs: 1 } };
    const whole = await run(tinyConfig(dataset, { ...more, evaluation: metrics }));
    const scores = await modelScores(directory);
    expect(whole.validation['recall@5']).toBeCloseTo(bySearch(scores, 'validation')['recall@5'], 12);
    const config = (most: number) =>
      tinyConfig(dataset, { training: { num_epochs: 1 }, evaluation: { ...metrics, max_edges: most } });
    const some = await run(config(12));
    expect(some.validation).toEqual((await run(config(12))).validation);
    expect(some.validation).not.toEqual(whole.validation);
    expect(some.test).toEqual(whole.test);
    expect((await run(config(1000))).validation).toEqual(whole.validation);
  });

  test('stops by the first of them by default, and by none that is not computed', () => {
    const stopping = (metric: object) => ({
      training: { early_stopping: metric },
      evaluation: { metrics: ['NDCG10', 'recall@5'] },
    });
    const config = tinyConfig(dataset, stopping({}));
    expect(config.training.early_stopping?.metric).toBe('ndcg@10');
    expect(() => tinyConfig(dataset, stopping({ metric: 'map@10' }))).toThrow(/one of evaluation.metrics/);
  });
});

describe('a shop with users and items of the same ids', () => {
  const shop = shopData({ users: 60, items: 40, tastes: 3, itemsPerUser: 10, seed: 2 });
  const directory = folder();
  const shopDataset = folder();
  beforeAll(async () => {
    const files = (['train', 'validation', 'test'] as const).map((name) => {
      const path = `${shopDataset}-${name}.csv`;
      const { user, item } = shop[name];
      writeFileSync(path, `user,item\n${[...user].map((u, i) => `${u},${item[i]}\n`).join('')}`);
      return path;
    });
    await preprocess({ edges: files, outputDir: shopDataset, inProcess: true }, () => {}, {
      onNote: () => {},
    });
    await run(
      tinyConfig(shopDataset, {
        model: {
          decoder: { type: 'DOT' },
          loss: { type: 'BPR', options: { reduction: 'MEAN' } },
          sparse_optimizer: { type: 'ADAM', options: { learning_rate: 0.05 } },
        },
        storage: { model_dir: directory },
        training: {
          num_epochs: 4,
          negative_sampling: { candidates: 'SEEN', degree_fraction: 0, known_filter: true },
        },
        evaluation: { metrics: ['coverage@40', 'recall@40'] },
      }),
    );
  });

  test('is recognised, with and without node types, where one relation leads from heads to other nodes', async () => {
    expect(await datasetFacts(shopDataset)).toMatchObject({ is_bipartite: true });
    expect(await datasetFacts(dataset)).toMatchObject({ is_bipartite: false });
    const plain = (rows: number[], numNodes: number) =>
      writeDataset(folder(), { numNodes, train: Int32Array.from(rows) });
    expect(await datasetFacts(plain([0, 2, 1, 3, 0, 3], 4))).toMatchObject({ is_bipartite: true });
    expect(await datasetFacts(plain([0, 2, 2, 3], 4))).toMatchObject({ is_bipartite: false });
  });

  test('is learned by the defaults of fitLinks far better than popularity', async () => {
    const { train, validation, test } = shopData({
      users: 200,
      items: 80,
      tastes: 4,
      itemsPerUser: 16,
      seed: 2,
    });
    const choices = [train, validation, test].flatMap(({ user, item }) =>
      Array.from(user, (u, i): [string, string] => [`u${u}`, `i${item[i]}`]),
    );
    const model = await fitLinks(choices, { epochs: 15, split: [0.8, 0.1, 0.1] });
    const { test: got, baseline } = model.metrics;
    expect(got['ndcg@10']).toBeGreaterThan(1.2 * (baseline as typeof got)['ndcg@10']);
    const [list] = await model.recommend(['u3'], { k: 30 });
    expect(list.every(({ name }) => name.startsWith('i'))).toBe(true);
    await model.close();
  });

  test('never recommends users, and every unseen item can be reached', async () => {
    const model = await openModel(directory);
    const users = Array.from({ length: 60 }, (_, user) => `user:${user}`);
    const lists = await model.recommend(users, { k: 40 });
    for (const [user, list] of lists.entries()) {
      expect(list.every(({ name }) => name.startsWith('item:'))).toBe(true);
      const seen = shop.train.item.filter((_, i) => shop.train.user[i] === user);
      for (const item of seen) expect(list.some(({ name }) => name === `item:${item}`)).toBe(false);
    }
    await model.close();
    const done = JSON.parse(readFileSync(join(directory, 'done.json'), 'utf8')) as Record<
      string,
      Record<string, number>
    >;
    // Lists as long as there are items hold every item that a user has not seen, and nothing else.
    expect(done['test']).toEqual({ 'coverage@40': 1, 'recall@40': 1 });
  });
});
