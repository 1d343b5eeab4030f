/** Nodes that a model was not trained with: classified and linked from their features and edges. */
import { fitNodes, type NodePredictor, openModel, type Predictor } from 'skein/predict';
import { openRun } from 'skein/train';
import { Random } from 'skein/util';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { encodeNewNodes } from '#internal/predict/encode-new-nodes.js';
import { run, scratch, tinyConfig, writeDataset } from './tiny.js';

const folder = scratch();

describe('classify', () => {
  const kinds = ['baker', 'smith', 'pilot'];
  const nodes = Array.from({ length: 90 }, (_, i) => ({
    ...{ id: `p${i}`, age: 20 + 20 * (i % 3) + (i % 7), town: ['Lyon', 'Graz', 'Bari'][i % 3] },
    job: i < 80 ? kinds[i % 3] : null,
  }));
  const edges = nodes.map((_, i): [string, string] => [`p${i}`, `p${(i + 3) % 90}`]);
  let model: NodePredictor;
  beforeAll(async () => {
    model = await fitNodes({ nodes, edges }, { label: 'job', epochs: 40 });
  });
  afterAll(() => model.close());

  it('takes new nodes with their features and edges', async () => {
    const found = await model.classify({
      nodes: [
        { id: 'new1', age: 23, town: 'Lyon' },
        { id: 'new2', age: 62, town: null },
      ],
      edges: [['new1', 'p3'], { source: 'p5', target: 'new2' }, ['new2', 'p8']],
    });
    expect(found.map((one) => [one.name, one.class])).toEqual([
      ['new1', 'baker'],
      ['new2', 'pilot'],
    ]);
    for (const { probabilities } of found) {
      expect(probabilities).toHaveLength(3);
      expect(probabilities.reduce((sum, p) => sum + p)).toBeCloseTo(1, 5);
    }
    // The model is as before.
    expect(await model.classify('p4')).toMatchObject({ name: 'p4', class: 'smith' });
    expect(await model.classify({ nodes: [] })).toEqual([]);
  });

  it('takes a row without its class, and an unseen category as a missing one', async () => {
    const [unseen, missing] = await model.classify({
      nodes: [
        { id: 'new1', age: 23, town: 'Oslo', job: null },
        { id: 'new2', age: 23, town: null, job: null },
      ],
    });
    expect(unseen.probabilities).toEqual(missing.probabilities);
  });

  it.each<[string, object, string]>([
    ['no list', { nodes: 'new' }, 'classify: expected a list for nodes, got "new"'],
    [
      'no name',
      { nodes: [{ age: 4, town: 'Lyon' }] },
      'expected the fields id, age, town for nodes[0], got none for id. id is the name of the node.',
    ],
    [
      'a name under another field',
      { nodes: [{ user_id: 'a', town: 'Lyon' }] },
      'expected the fields id, age, town for nodes[0], got "user_id" as well and none for id, age. Rename it to id, the name of a node.',
    ],
    [
      'a known name',
      { nodes: [{ id: 'p4', age: 4, town: 'Lyon' }] },
      'the name of a new node for nodes[0].id, got "p4". The graph has it already.',
    ],
    [
      'a name twice',
      {
        nodes: [
          { id: 'a', age: 4, town: 'Lyon' },
          { id: 'a', age: 4, town: 'Lyon' },
        ],
      },
      'different names for nodes[1].id',
    ],
    [
      'a missing field',
      { nodes: [{ id: 'a', town: 'Lyon' }] },
      'classify: expected the fields id, age, town for nodes[0], got none for age. Write null for a value that is unknown.',
    ],
    [
      'a field that another node has',
      {
        nodes: [
          { id: 'a', age: 30, town: 'Lyon' },
          { id: 'b', age: 30 },
        ],
      },
      'expected the fields id, age, town for nodes[1], got none for town.',
    ],
    [
      'an unknown field',
      { nodes: [{ id: 'a', age: 4, town: 'Lyon', towm: 'Graz' }] },
      'classify: expected the fields id, age, town for nodes[0], got "towm" as well. Did you mean town?',
    ],
    [
      'a class',
      { nodes: [{ id: 'a', age: 4, town: 'Lyon', job: 'baker' }] },
      'expected the fields id, age, town for nodes[0], got "job" as well. Leave it out.',
    ],
    ['an unknown key', { nodes: [], edge: [] }, 'got edge'],
    [
      'text for a number',
      { nodes: [{ id: 'a', age: 'old', town: 'Lyon' }] },
      'a number for nodes[0].age, got "old"',
    ],
    [
      'an unknown end',
      { nodes: [{ id: 'a', age: 4, town: 'Lyon' }], edges: [['a', 'nowhere']] },
      'a node of the graph or a new one for edges[0], got "nowhere"',
    ],
    ['half an edge', { nodes: [], edges: [['a']] }, 'an object or [source, target] for edges[0]'],
  ])('refuses %s', async (_what, given, message) => {
    await expect(model.classify(given as never)).rejects.toThrow(message);
  });
});

describe('score', () => {
  const [numNodes, groups, width] = [40, 4, 4];
  /** Nodes of a group have the same feature and point at each other. */
  const random = new Random(5);
  const rows = Array.from({ length: 300 }, () => {
    const group = random.nextInt(groups);
    const pick = () => group + groups * random.nextInt(numNodes / groups);
    return [pick(), 0, pick()];
  });
  const part = (from: number, to: number) => Int32Array.from(rows.slice(from, to).flat());
  const values = Float32Array.from({ length: numNodes * width }, (_, i) =>
    Number(i % width === Math.floor(i / width) % groups),
  );
  const dataset = writeDataset(folder(), {
    ...{ numNodes, numRelations: 1, features: { width, values } },
    ...{ train: part(0, 220), validation: part(220, 260), test: part(260, 300) },
  });
  const configOf = (input: object) =>
    tinyConfig(dataset, {
      model: {
        encoder: {
          layers: [
            [input],
            [{ type: 'GNN', output_dim: 8, options: { type: 'GRAPH_SAGE', aggregator: 'MEAN' } }],
          ],
          train_neighbor_sampling: [{ type: 'ALL' }],
        },
        decoder: { type: 'DISTMULT' },
      },
      storage: { model_dir: folder() },
      training: { num_epochs: 30, batch_size: 50 },
    });
  let model: Predictor;
  let directory: string;
  beforeAll(async () => {
    ({ directory } = await run(configOf({ type: 'FEATURE', output_dim: width })));
    model = await openModel(directory);
  });
  afterAll(() => model.close());

  /** A node with the features and the edges of another. */
  function twinOf(node: number, name: string) {
    return {
      nodes: [{ id: name, features: [...values.subarray(node * width, (node + 1) * width)] }],
      edges: rows
        .slice(0, 220)
        .flatMap(([src, , dst]) => [
          ...(src === node ? [{ source: name, target: dst === node ? name : dst }] : []),
          ...(dst === node && src !== node ? [{ source: src, target: name }] : []),
        ]),
    };
  }

  it('gives a new node the scores of one with the same features and edges', async () => {
    const newNodes = twinOf(6, 'twin');
    const tails = Array.from({ length: numNodes }, (_, tail) => tail).filter((tail) => tail !== 6);
    const known = await model.score(tails.map((tail) => ({ head: 6, tail })));
    const found = await model.score(
      tails.map((tail) => ({ head: 'twin', tail })),
      { newNodes },
    );
    for (const [i, score] of found.entries()) expect(score).toBeCloseTo(known[i], 4);
    // Nodes of its own group are more likely.
    const mean = (scores: Float32Array, own: boolean) => {
      const chosen = scores.filter((_, i) => (tails[i] % groups === 2) === own);
      return chosen.reduce((sum, x) => sum + x, 0) / chosen.length;
    };
    expect(mean(found, true)).toBeGreaterThan(mean(found, false));
    const heads = await model.score({ head: 3, tail: 'twin' }, { newNodes });
    expect(heads).toBeCloseTo(await model.score({ head: 3, tail: 6 }), 4);
    expect(await model.score({ head: 'twin', tail: 2 }, { newNodes, unit: 'probability' })).toBeGreaterThan(
      0.5,
    );
  });

  it('reads the edges once per run, and of the features only the rows that it needs', async () => {
    const opened = await openRun(directory, { over: 'graph' });
    const { features } = opened.storage;
    if (features === null) throw new Error('no features');
    const edges = vi.spyOn(opened.dataset, 'readEdges');
    const [gather, range] = [vi.spyOn(features, 'gather'), vi.spyOn(features, 'range')];
    const added = { features: values.slice(0, width), edges: Int32Array.from([numNodes, 0, 4]) };
    const first = await encodeNewNodes(opened, { ...added, names: ['x'] });
    const second = await encodeNewNodes(opened, { ...added, names: ['y'] });
    expect(second.rows).toEqual(first.rows);
    expect(edges).toHaveBeenCalledTimes(1);
    expect(range).not.toHaveBeenCalled();
    expect(gather.mock.calls.map(([ids]) => [...ids])).toEqual([[4], [4]]);
    await opened.close();
  });

  it('needs features, and an encoder that computes rows from them', async () => {
    const newNodes = { nodes: [{ id: 'x', features: [1, 2] }] };
    await expect(model.score({ head: 'x', tail: 1 }, { newNodes })).rejects.toThrow(
      'score: expected 4 finite numbers for newNodes.nodes[0].features',
    );
    const colored = { nodes: [{ id: 'x', features: [1, 2, 3, 4], color: 'red' }] };
    await expect(model.score({ head: 'x', tail: 1 }, { newNodes: colored })).rejects.toThrow(
      'score: expected the fields id, features for newNodes.nodes[0], got "color" as well. Leave it out.',
    );
    const { directory } = await run(configOf({ type: 'EMBEDDING', output_dim: width }));
    const trained = await openModel(directory);
    await expect(trained.score({ head: 'x', tail: 1 }, { newNodes: twinOf(6, 'x') })).rejects.toThrow(
      'score: expected an encoder of features only for newNodes.nodes, got one with trained embeddings of width 4.',
    );
    await trained.close();
  });
});
