/** Trained runs asked by names: one predictor for links, nodes and events, and what each of them refuses. */
import { writeFileSync } from 'node:fs';
import { openModel, type Predictor } from 'skein/predict';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { jodieText, temporalRun, writeTemporalConfig } from './temporal-files.js';
import { ringRows, run, scratch, tinyConfig, writeDataset } from './tiny.js';

const folder = scratch();
const opened: Predictor[] = [];
afterAll(() => Promise.all(opened.map((model) => model.close())));

async function open(directory: string): Promise<Predictor> {
  const model = await openModel(directory);
  opened.push(model);
  return model;
}

describe('links', () => {
  let model: Predictor;
  beforeAll(async () => {
    const rows = ringRows(12, 2);
    const dataset = writeDataset(folder(), {
      numNodes: 12,
      numRelations: 2,
      train: rows,
      validation: rows,
      test: rows,
    });
    const config = tinyConfig(dataset, {
      model: { decoder: { type: 'COMPLEX' } },
      storage: { model_dir: folder() },
      training: { num_epochs: 60, batch_size: 12 },
    });
    await run(config);
    model = await open(config.storage.model_dir as string);
  });

  it('says what it answers, and what it measured', () => {
    expect(model.kind).toBe('links');
    expect(model.answers).toEqual(['score', 'rank', 'recommend', 'neighbors', 'embed', 'explain']);
    expect(model.metrics['test'].mrr).toBeGreaterThan(0.5);
  });

  it('scores edges as it ranks them', async () => {
    const [[first, ...others]] = await model.rank([{ head: '3', relation: '1' }], {
      k: 12,
      includeKnown: true,
    });
    expect(first).toMatchObject({ name: '5', known: true });
    const edges = [first, ...others].map(({ name }) => ({ head: '3', relation: '1', tail: name }));
    const scores = await model.score(edges);
    expect([...scores]).toEqual([first, ...others].map(({ score }) => expect.closeTo(score, 5)));
    const [[tail], [head]] = await model.rank(
      [
        { head: '3', relation: '1' },
        { tail: '3', relation: '0' },
      ],
      { k: 1 },
    );
    // Known edges and the node itself are left out.
    expect(['3', '5']).not.toContain(tail.name);
    expect(['3', '2']).not.toContain(head.name);
  });

  it('answers one question with one answer, and a list with a list', async () => {
    const question = { head: '3', relation: '1' };
    expect(await model.rank(question, { k: 2 })).toEqual((await model.rank([question], { k: 2 }))[0]);
    const edge = { ...question, tail: '5' };
    expect(await model.score(edge)).toBe((await model.score([edge]))[0]);
    expect(await model.neighbors('0', { k: 2 })).toEqual((await model.neighbors(['0'], { k: 2 }))[0]);
    expect(await model.embed(0)).toEqual((await model.embed([0]))[0]);
    const options = { k: 2, relation: '1' };
    expect(await model.recommend('3', options)).toEqual((await model.recommend(['3'], options))[0]);
    expect(await model.rank([])).toEqual([]);
    expect(await model.score([])).toEqual(new Float32Array(0));
  });

  it('gives NaN for an unknown name if it may skip it', async () => {
    const edges = [
      { head: '3', relation: '1', tail: '5' },
      { head: '3', relation: '1', tail: 'stranger' },
      { head: '3', relation: 'likes', tail: '5' },
      { head: '4', relation: '0', tail: '5' },
    ];
    const scores = await model.score(edges, { unknown: 'skip' });
    expect([...scores].map(Number.isNaN)).toEqual([false, true, true, false]);
    expect([scores[0], scores[3]]).toEqual([...(await model.score([edges[0], edges[3]]))]);
    await expect(model.score(edges)).rejects.toThrow('for tail, got "stranger"');
    // Skipping is for unknown names: a missing relation is an incomplete question.
    await expect(model.score([{ head: '3', tail: '5' }], { unknown: 'skip' })).rejects.toThrow(
      'expected a relation',
    );
  });

  it('recommends what the relation points at, without what is there already', async () => {
    const found = await model.recommend('3', { relation: '1', k: 20 });
    const ranked = await model.rank({ head: '3', relation: '1' }, { k: 20 });
    expect(found).toEqual(ranked);
    const all = await model.recommend('3', { relation: '1', k: 20, exclude: 'none' });
    expect(all[0]).toMatchObject({ name: '5', known: true });
    await expect(model.recommend('3')).rejects.toThrow('There are 2, for example 0, 1.');
  });

  it('finds similar nodes by their rows', async () => {
    const [near] = await model.neighbors(['0'], { k: 3 });
    expect(near).toHaveLength(3);
    const [own, other] = await model.embed(['0', near[0].name]);
    const dot = (a: Float32Array, b: Float32Array) => a.reduce((sum, x, i) => sum + x * b[i], 0);
    expect(dot(own, other) / Math.sqrt(dot(own, own) * dot(other, other))).toBeCloseTo(near[0].score, 5);
  });

  it('refuses by name what it cannot answer', async () => {
    await expect(openModel(7 as unknown as string)).rejects.toThrow('for path, got 7');
    await expect(model.classify(['0'])).rejects.toThrow(
      'classify: expected a model that can classify nodes, got one of links. It answers score, rank, recommend, neighbors, embed, explain.',
    );
    await expect(model.append([])).rejects.toThrow('append: expected a model that can append events');
    await expect(model.rank([{ head: '99', relation: '0' }])).rejects.toThrow(
      'expected an entity of the graph for head, got "99"',
    );
    await expect(model.rank([{ head: '1' }])).rejects.toThrow('There are 2, for example 0, 1.');
    await expect(model.rank([{ relation: '0' }])).rejects.toThrow(
      'either head or tail in a question, got neither',
    );
    await expect(model.rank([], { top: 3 } as object)).rejects.toThrow(/top/);
  });

  it.each<[string, (model: Predictor) => Promise<unknown>, string]>([
    [
      'no question',
      (model) => model.rank(undefined as never),
      'rank: expected an object for question, got undefined. Pass an object or a list of them, such as [{ head: "a", relation: "r" }].',
    ],
    ['a text as a question', (model) => model.rank(['3'] as never), 'an object for questions[0], got "3"'],
    [
      'a list as a name',
      (model) => model.rank([{ head: ['3'], relation: '1' }] as never),
      'the name of a node or relation for questions[0].head',
    ],
    ['a wrong count', (model) => model.rank([], { k: 'x' } as never), 'rank: expected a whole number'],
    [
      'a text as an edge',
      (model) => model.score('3' as never),
      'score: expected an object for edge, got "3"',
    ],
    [
      'another unit',
      (model) => model.score([], { unit: 'percent' } as never),
      'score: expected score or probability for unit, got "percent"',
    ],
    [
      'another reaction to unknown names',
      (model) => model.score([], { unknown: 'ignore' } as never),
      'score: expected error or skip for unknown, got "ignore"',
    ],
    [
      'a wrong exclusion',
      (model) => model.recommend('0', { exclude: 'known' } as never),
      'recommend: expected seen or none for exclude, got "known"',
    ],
    [
      'a time without events',
      (model) => model.recommend('0', { relation: '0', time: 5 }),
      'recommend: expected no time for time, got 5',
    ],
    [
      'an edge without an end',
      (model) => model.score([{ head: '3' }] as never),
      'for edges[0].tail, got undef',
    ],
    [
      'an object as a name',
      (model) => model.neighbors({ name: '0' } as never),
      'neighbors: expected the name of a node or relation for name, got Object. Pass a name, or a list',
    ],
    [
      'null',
      (model) => model.embed([null] as never),
      'embed: expected the name of a node or relation for names[0]',
    ],
  ])('says what it expected in place of %s', async (_what, ask, message) => {
    await expect(ask(model)).rejects.toThrow(message);
  });
});

describe('nodes', () => {
  it('classifies, with probabilities', async () => {
    const labels = Int32Array.from({ length: 30 }, (_, i) => i % 3);
    const values = Float32Array.from({ length: 90 }, (_, i) => Number(i % 3 === labels[Math.floor(i / 3)]));
    const ids = (from: number, to: number) => Int32Array.from({ length: to - from }, (_, i) => from + i);
    const dataset = writeDataset(folder(), {
      ...{ numNodes: 30, numClasses: 3, labels, train: ringRows(30, 0), features: { width: 3, values } },
      nodes: { train: ids(0, 15), validation: ids(15, 20), test: ids(20, 30) },
    });
    const config = tinyConfig(dataset, {
      model: {
        learning_task: 'NODE_CLASSIFICATION',
        encoder: {
          layers: [
            [{ type: 'FEATURE', output_dim: 3 }],
            [{ type: 'GNN', output_dim: 3, options: { type: 'GRAPH_SAGE', aggregator: 'MEAN' } }],
          ],
          train_neighbor_sampling: [{ type: 'ALL' }],
        },
        decoder: null,
        loss: { type: 'CROSS_ENTROPY' },
      },
      storage: { model_dir: folder() },
      training: { num_epochs: 30 },
    });
    await run(config);
    const model = await open(config.storage.model_dir as string);
    expect(model.answers).toEqual(['classify', 'neighbors', 'embed', 'explain']);
    const found = await model.classify(['22', '4']);
    expect(found.map((one) => [one.name, one.class])).toEqual([
      ['22', '1'],
      ['4', '1'],
    ]);
    for (const { probabilities } of found) {
      expect(probabilities.reduce((sum, p) => sum + p)).toBeCloseTo(1, 5);
      expect(probabilities[1]).toBe(Math.max(...probabilities));
    }
    expect(await model.classify('22')).toEqual(found[0]);
    await expect(model.score([])).rejects.toThrow('It answers classify, neighbors, embed, explain.');
  });
});

describe('events', () => {
  it('scores, ranks and takes events in', async () => {
    const at = folder();
    writeFileSync(`${at}.csv`, jodieText(200));
    const file = writeTemporalConfig(`${at}.yaml`, 'tgn', `${at}.csv`, at);
    const { directory } = await temporalRun(file, ['train.epoch=1']);
    const model = await open(directory);
    expect(model.answers).toEqual(['score', 'rank', 'recommend', 'explain', 'append']);
    const [ranked] = await model.rank([{ head: '0' }], { k: 3 });
    expect(ranked).toHaveLength(3);
    const [score] = await model.score([{ head: '0', tail: ranked[0].name }]);
    expect(score).toBeCloseTo(ranked[0].score, 5);
    await expect(model.score([{ head: 'x', tail: '0' }])).rejects.toThrow(
      'expected a source of the stream for head, got "x"',
    );
    await expect(model.rank([{ tail: '0' }])).rejects.toThrow('head only for a model of events');
    await expect(model.rank('0' as never)).rejects.toThrow('rank: expected an object for question, got "0"');
    const tails = [ranked[0].name, 'x'];
    const scores = await model.score(
      tails.map((tail) => ({ head: '0', tail })),
      { unknown: 'skip' },
    );
    expect([...scores]).toEqual([score, Number.NaN]);
    await expect(model.score({ head: '0', tail: '0' }, { unit: 'probability' })).rejects.toThrow(
      'score: expected a calibrated model for unit',
    );
    await expect(model.append({ head: '0' } as never)).rejects.toThrow('append: expected a list for events');
    await expect(model.append([{ head: '0', tail: '0' }] as never)).rejects.toThrow(
      'append: expected a number or a Date for events[0].time, got undefined',
    );
  });

  it('recommends destinations; those that the source has met only if asked', async () => {
    const model = opened.at(-1) as Predictor;
    const all = await model.recommend('0', { k: 100 });
    expect(all).toEqual(await model.rank({ head: '0' }, { k: 100 }));
    const unseen = await model.recommend('0', { k: 100, exclude: 'seen' });
    expect(unseen.length).toBeGreaterThan(0);
    expect(unseen.length).toBeLessThan(all.length);
    expect(all).toEqual(expect.arrayContaining(unseen));
    // An event adds its destination to what was met.
    await model.append([{ head: '0', tail: unseen[0].name, time: 1e6, features: [0, 0] }]);
    const later = await model.recommend('0', { k: 100, exclude: 'seen' });
    expect(later.map(({ name }) => name)).not.toContain(unseen[0].name);
    await expect(model.recommend('0', { relation: 'likes' })).rejects.toThrow('no relation for relation');
  });
});
