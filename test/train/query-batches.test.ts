/** Batches of one-against-all training: every directed edge once per epoch, the same for the same seed, from any row. */
import { describe, expect, test } from 'vitest';
import type { QueryRows } from '#internal/gnn/decoders/query-rows.js';
import { QueryBatches, type QueryBatchesOptions } from '#internal/train/tasks/links/query-batches.js';
import { memoryStorage, randomRows } from './tiny.js';

const [numNodes, numRelations] = [30, 3];
const edges = randomRows(numNodes, 400, numRelations);

async function batchesOf(options: QueryBatchesOptions, train = edges) {
  const storage = memoryStorage({ numNodes, numRelations, train });
  await storage.startEpoch(0);
  return new QueryBatches(storage, options);
}

/** Every directed edge of some queries, as text. */
function examplesOf(queries: readonly QueryRows[]): string[] {
  return queries.flatMap(({ entities, relations, direction, answers }) =>
    [...entities].flatMap((entity, i) =>
      [...answers.ids.subarray(answers.offsets[i], answers.offsets[i + 1])].map((answer) =>
        (direction === 'rhs'
          ? [direction, entity, relations?.[i], answer]
          : [direction, answer, relations?.[i], entity]
        ).join(),
      ),
    ),
  );
}

function epochOf(batches: QueryBatches, epoch: number, from = 0) {
  const found: ReturnType<QueryBatches['draw']>[] = [];
  for (let cursor = from; cursor < batches.count(epoch); ) {
    const batch = batches.draw(epoch, cursor);
    cursor += batch.rows;
    found.push(batch);
  }
  return found;
}

const wanted = (train: Int32Array): string[] =>
  Array.from({ length: train.length / 3 }, (_, i) => [...train.subarray(3 * i, 3 * i + 3)])
    .flatMap((row) => [`rhs,${row}`, `lhs,${row}`])
    .toSorted();

describe.each([1, 3, 16, -1])('at most %d answers per row', (maxAnswers) => {
  test('an epoch has every directed edge once, in batches of at least the requested size', async () => {
    const batches = await batchesOf({ batchSize: 50, maxAnswers, seed: 7 });
    const epoch = epochOf(batches, 0);
    expect(epoch.flatMap(({ queries }) => examplesOf(queries)).toSorted()).toEqual(wanted(edges));
    for (const { answers } of epoch.slice(0, -1)) expect(answers).toBeGreaterThanOrEqual(50);
    for (const { queries } of epoch)
      for (const { answers } of queries)
        for (let i = 0; maxAnswers > 0 && i + 1 < answers.offsets.length; i++)
          expect(answers.offsets[i + 1] - answers.offsets[i]).toBeLessThanOrEqual(maxAnswers);
  });

  test('epochs differ, the seed decides, and an epoch continues at any row', async () => {
    const options = { batchSize: 50, maxAnswers, seed: 7 };
    const [one, again, other] = [
      await batchesOf(options),
      await batchesOf(options),
      await batchesOf({ ...options, seed: 8 }),
    ];
    const epoch = epochOf(one, 3);
    expect(epochOf(again, 3)).toEqual(epoch);
    expect(epochOf(other, 3)).not.toEqual(epoch);
    expect(epochOf(one, 4)).not.toEqual(epoch);
    const done = epoch.slice(0, 4).reduce((sum, { rows }) => sum + rows, 0);
    expect(epochOf(again, 3, done)).toEqual(epoch.slice(4));
  });
});

test('rows are grouped: as many as the queries need', async () => {
  const batches = await batchesOf({ maxAnswers: 3 });
  const sizes = new Map<string, number>();
  for (const example of wanted(edges)) {
    const [direction, src, relation, dst] = example.split(',');
    const key = [direction, relation, direction === 'rhs' ? src : dst].join();
    sizes.set(key, (sizes.get(key) ?? 0) + 1);
  }
  const rows = [...sizes.values()].reduce((sum, size) => sum + Math.ceil(size / 3), 0);
  expect(batches.count(0)).toBe(rows);
});

test('answers of a query are split differently in each epoch', async () => {
  const star = Int32Array.from(Array.from({ length: 20 }, (_, i) => [0, 0, i + 1]).flat());
  const batches = await batchesOf({ maxAnswers: 4, batchSize: 4, seed: 1 }, star);
  const rowsOf = (epoch: number) =>
    epochOf(batches, epoch)
      .flatMap(({ queries }) => queries)
      .filter(({ direction }) => direction === 'rhs')
      .flatMap(({ answers: { offsets, ids } }) =>
        Array.from({ length: offsets.length - 1 }, (_, i) =>
          [...ids.subarray(offsets[i], offsets[i + 1])].toSorted((a, b) => a - b).join(),
        ),
      )
      .toSorted();
  expect(rowsOf(0)).toHaveLength(5);
  expect(rowsOf(0)).not.toEqual(rowsOf(1));
});

test('known answers are all distinct ones of the query; whole queries have no others', async () => {
  const repeated = Int32Array.from([0, 0, 2, 0, 0, 1, 0, 0, 2, 0, 1, 3]);
  const known = await batchesOf({ maxAnswers: 1, batchSize: 1000, known: true }, repeated);
  const [rhs] = epochOf(known, 0)[0].queries;
  for (let i = 0; i < rhs.entities.length; i++) {
    const { offsets, ids } = rhs.known as NonNullable<QueryRows['known']>;
    expect([...ids.subarray(offsets[i], offsets[i + 1])]).toEqual(rhs.relations?.[i] === 0 ? [1, 2] : [3]);
  }
  expect(rhs.answers.ids).toHaveLength(4);
  const whole = await batchesOf({ wholeQueries: true, batchSize: 2 }, repeated);
  const first = epochOf(whole, 0).map(({ rows }) => rows);
  expect(first.reduce((a, b) => a + b)).toBe(whole.count(0));
  expect(Math.max(...first)).toBe(2);
  const examples = epochOf(whole, 0).flatMap(({ queries }) => examplesOf(queries));
  expect(examples.filter((text) => text.startsWith('rhs')).toSorted()).toEqual([
    'rhs,0,0,1',
    'rhs,0,0,2',
    'rhs,0,1,3',
  ]);
});
