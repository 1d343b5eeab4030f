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
    expect(model.answers).toEqual(['score', 'rank', 'neighbors', 'embed']);
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
      'classify: expected a model that can classify nodes, got one of links. It answers score, rank, neighbors, embed.',
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
      'no list of questions',
      (model) => model.rank({ head: '3' } as never),
      'rank: expected a list for questions, got Object. Pass a list, such as [{ head: "a", relation: "r" }].',
    ],
    ['no questions', (model) => model.rank(undefined as never), 'a list for questions, got undefined'],
    ['a text as a question', (model) => model.rank(['3'] as never), 'an object for questions[0], got "3"'],
    [
      'a list as a name',
      (model) => model.rank([{ head: ['3'], relation: '1' }] as never),
      'the name of a node or relation for questions[0].head',
    ],
    ['a wrong count', (model) => model.rank([], { k: 'x' } as never), 'rank: expected a whole number'],
    ['no list of edges', (model) => model.score('3' as never), 'score: expected a list for edges, got "3"'],
    [
      'an edge without an end',
      (model) => model.score([{ head: '3' }] as never),
      'for edges[0].tail, got undef',
    ],
    [
      'a name alone',
      (model) => model.neighbors('0' as never),
      'neighbors: expected a list for names, got "0"',
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
    expect(model.answers).toEqual(['classify', 'neighbors', 'embed']);
    const found = await model.classify(['22', '4']);
    expect(found.map((one) => [one.name, one.class])).toEqual([
      ['22', '1'],
      ['4', '1'],
    ]);
    for (const { probabilities } of found) {
      expect(probabilities.reduce((sum, p) => sum + p)).toBeCloseTo(1, 5);
      expect(probabilities[1]).toBe(Math.max(...probabilities));
    }
    await expect(model.score([])).rejects.toThrow('It answers classify, neighbors, embed.');
  });
});

describe('events', () => {
  it('scores, ranks and takes events in', async () => {
    const at = folder();
    writeFileSync(`${at}.csv`, jodieText(200));
    const file = writeTemporalConfig(`${at}.yaml`, 'tgn', `${at}.csv`, at);
    const { directory } = await temporalRun(file, ['train.epoch=1']);
    const model = await open(directory);
    expect(model.answers).toEqual(['score', 'rank', 'append']);
    const [ranked] = await model.rank([{ head: '0' }], { k: 3 });
    expect(ranked).toHaveLength(3);
    const [score] = await model.score([{ head: '0', tail: ranked[0].name }]);
    expect(score).toBeCloseTo(ranked[0].score, 5);
    await expect(model.score([{ head: 'x', tail: '0' }])).rejects.toThrow(
      "expected a source by its name in the stream's file",
    );
    await expect(model.rank([{ tail: '0' }])).rejects.toThrow('head only for a model of events');
    await expect(model.rank('0' as never)).rejects.toThrow('rank: expected a list for questions, got "0"');
    await expect(model.append({ head: '0' } as never)).rejects.toThrow('append: expected a list for events');
    await expect(model.append([{ head: '0', tail: '0' }] as never)).rejects.toThrow(
      'append: expected a number or a Date for events[0].time, got undefined',
    );
  });
});
