/** The best nodes of a trained model, against scoring every node on its own: decoders, directions, candidates, storage. */
import { openModel } from 'skein/predict';
import { type LinkPredictionModel, openRun } from 'skein/train';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type LinkQuestion, nearestNodes, scoreEdges, topLinks } from '#internal/predict/top-nodes.js';
import type { OpenedGraphRun } from '#internal/train/index.js';
import { randomRows, run, scratch, tinyConfig, writeDataset } from './tiny.js';

const folder = scratch();
const numNodes = 60;
const rows = randomRows(numNodes, 240, 3);
const split = (from: number, to: number) => rows.subarray(3 * from, 3 * to);
const dataset = writeDataset(folder(), {
  ...{ numNodes, numRelations: 3 },
  ...{ train: split(0, 200), validation: split(200, 220), test: split(220, 240) },
});
const all = Array.from({ length: numNodes }, (_, id) => id);

const buffered = {
  embeddings: { type: 'PARTITION_BUFFER', options: { num_partitions: 4, buffer_capacity: 2 } },
  edges: { type: 'FLAT_FILE' },
};

const kinds: Record<string, { readonly decoder: object; readonly storage?: object }> = {
  'DISTMULT by dot products': { decoder: { type: 'DISTMULT' } },
  'COMPLEX in a partition buffer': { decoder: { type: 'COMPLEX' }, storage: buffered },
  'TRANSE by distances, in a partition buffer': { decoder: { type: 'TRANSE' }, storage: buffered },
  'DISTMULT by cosines': { decoder: { type: 'DISTMULT', options: { comparator: 'COSINE' } } },
  'ROTATE by moduli': { decoder: { type: 'ROTATE', options: { comparator: 'MODULUS' } } },
  'sources without a query': {
    decoder: { type: 'ROTATE', options: { comparator: 'L1', inverse_edges: false } },
  },
};

describe.each(Object.entries(kinds))('%s', (_name, { decoder, storage = {} }) => {
  let opened: OpenedGraphRun;
  beforeAll(async () => {
    const config = tinyConfig(dataset, {
      model: { decoder },
      storage: { ...storage, model_dir: folder() },
      training: { num_epochs: 2, batch_size: 50 },
    });
    const { directory } = await run(config);
    opened = await openRun(directory, { over: 'graph' });
  });
  afterAll(() => opened.close());

  /** The scores of all answers, each on its own. */
  async function scores({ node, relation, want }: LinkQuestion): Promise<Float32Array> {
    const { decoder: scorer } = opened.model as LinkPredictionModel;
    const own = new Int32Array(numNodes).fill(node);
    const others = Int32Array.from(all);
    const relations = new Int32Array(numNodes).fill(relation as number);
    if (want === 'tail' || !scorer.bothDirections)
      return want === 'tail'
        ? scoreEdges(opened, { src: own, dst: others, relations })
        : scoreEdges(opened, { src: others, dst: own, relations });
    const { rows: values, width } = await opened.storage.readEncoded(others);
    const { fromTypedArray, gatherRows } = await import('skein/tensor');
    const table = fromTypedArray(values, [numNodes, width]);
    const query = scorer.query(gatherRows(table, own), relations, 'lhs');
    return Float32Array.from(scorer.comparator.pairs(query, table).dataSync());
  }

  it('finds the best ends, as scoring all of them does', async () => {
    const few = Int32Array.of(3, 17, 40, 59);
    const many = Int32Array.from(all.slice(10, 50));
    const questions = all.flatMap((node): LinkQuestion[] => [
      { node, relation: node % 3, want: 'tail', count: 7, exclude: new Set([node, 5, 8]) },
      { node, relation: (node + 1) % 3, want: 'head', count: 100 },
      { node, relation: 0, want: 'tail', count: 6, among: few, exclude: new Set([17]) },
      { node, relation: 1, want: node % 2 === 0 ? 'tail' : 'head', count: 5, among: many },
    ]);
    const found = await topLinks(opened, questions);
    expect(found).toHaveLength(questions.length);
    for (const [i, question] of questions.entries()) {
      const own = await scores(question);
      const wanted = Array.from(question.among ?? all)
        .filter((id) => question.exclude?.has(id) !== true)
        .sort((a, b) => own[b] - own[a] || a - b)
        .slice(0, question.count);
      expect(found[i].map(({ score }) => score)).toEqual(wanted.map((id) => expect.closeTo(own[id], 5)));
      expect(found[i].map(({ id }) => id)).toEqual(wanted);
    }
  });

  it('finds the nearest nodes, as cosines of all rows do', async () => {
    const nodes = Int32Array.from(all);
    const { rows: values, width } = await opened.storage.readEncoded(nodes);
    const row = (id: number) => values.subarray(id * width, (id + 1) * width);
    const dot = (a: Float32Array, b: Float32Array) => a.reduce((sum, x, i) => sum + x * b[i], 0);
    const cosine = (a: number, b: number) =>
      dot(row(a), row(b)) / Math.sqrt(dot(row(a), row(a)) * dot(row(b), row(b)));
    const found = await nearestNodes(opened, nodes, 4);
    for (const id of all) {
      const wanted = all.filter((other) => other !== id).sort((a, b) => cosine(id, b) - cosine(id, a));
      expect(found[id].map((near) => near.id)).toEqual(wanted.slice(0, 4));
      expect(found[id][0].score).toBeCloseTo(cosine(id, wanted[0]), 5);
    }
  });
});

it('answers many questions at once as it answers each alone', async () => {
  const { directory } = await run(tinyConfig(dataset, { storage: { model_dir: folder() } }));
  const model = await openModel(directory);
  const questions = all.flatMap((head) => [0, 1, 2].map((relation) => ({ head, relation })));
  const together = await model.rank(questions, { k: 5 });
  for (const [i, question] of questions.entries())
    expect(await model.rank(question, { k: 5 })).toEqual(together[i]);
  expect(await model.neighbors(all, { k: 3 })).toEqual(
    await Promise.all(all.map((name) => model.neighbors(name, { k: 3 }))),
  );
  await model.close();
});
