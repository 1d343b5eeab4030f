/** Reasons of links: a planted rule, masks of encoders with graph layers, words, fidelity, and wrong questions. */
import { fitLinks, type LinkPredictor } from 'skein/predict';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { measureRule, ruleFacts } from '../../examples/shared/planted-reasons.js';

it('finds the path of a planted rule, and its facts', async () => {
  const { paths, facts } = await measureRule({ count: 20 });
  expect(paths.found).toBeGreaterThanOrEqual(0.8);
  expect(facts.found).toBeGreaterThanOrEqual(0.8);
  expect(facts.found).toBeGreaterThan(facts.control as number);
  expect(Math.abs(facts.sanity)).toBeLessThan(0.3);
  expect(facts.plus).toBeGreaterThan(0);
}, 120_000);

describe.each([
  ['trained rows', [[{ type: 'EMBEDDING', output_dim: 16 }]], 'influence'],
  [
    'graph layers',
    [
      [{ type: 'EMBEDDING', output_dim: 16 }],
      [
        {
          ...{ type: 'GNN', options: { type: 'GRAPH_SAGE', aggregator: 'MEAN' }, output_dim: 16 },
          bias: true,
        },
      ],
    ],
    'mask',
  ],
])('a model with %s', (_, layers, method) => {
  const facts = ruleFacts(2, 60, 6, 3);
  const edge = { head: 'person3', relation: 'citizen of', tail: '' };
  let model: LinkPredictor;
  beforeAll(async () => {
    edge.tail = facts.find(
      ([head, relation]) => head === edge.head && relation === edge.relation,
    )?.[2] as string;
    const config = {
      'model.encoder.layers': layers as never,
      ...(method === 'mask'
        ? {
            'training.form': 'NEGATIVES',
            'model.encoder.train_neighbor_sampling': [{ type: 'ALL' }],
            'model.encoder.eval_neighbor_sampling': [{ type: 'ALL' }],
          }
        : {}),
    };
    model = await fitLinks(facts, { epochs: 5, config });
  }, 60_000);
  afterAll(() => model.close());

  it('names facts of the training graph with weights, in order, and repeats itself', async () => {
    const one = await model.explain(edge, { k: 4, steps: 20, randomize: true });
    expect(one).toMatchObject({ kind: 'link', ...edge, method });
    expect(one.score).toBeCloseTo(await model.score(edge), 4);
    expect(one.facts).toHaveLength(4);
    const known = new Set(facts.map((fact) => fact.join(' ')));
    for (const { head, relation, tail } of one.facts) expect(known).toContain(`${head} ${relation} ${tail}`);
    const weights = one.facts.map(({ weight }) => weight);
    expect(weights).toEqual([...weights].sort((a, b) => b - a));
    expect(one.fidelity).toMatchObject({
      unit: 'score',
      plus: expect.any(Number),
      minus: expect.any(Number),
    });
    expect(one.fidelity.sparsity).toBeGreaterThan(0);
    expect(one.sanity?.compared).toBeGreaterThan(3);
    expect(await model.explain(edge, { k: 4, steps: 20, randomize: true })).toEqual(one);
  });

  it('loses nothing with all facts', async () => {
    const { fidelity } = await model.explain(edge, { k: 100_000, steps: 5 });
    expect(fidelity.sparsity).toBe(0);
    expect(fidelity.minus).toBeCloseTo(0, 4);
  });

  it('takes one gradient instead of steps', async () => {
    const one = await model.explain(edge, { method: 'gradient' });
    expect(one.method).toBe(method === 'mask' ? 'gradient' : method);
  });

  it('supports an edge by paths that other pairs confirm, and never by itself', async () => {
    const { paths } = await model.explain(edge, { steps: 1, length: 2 });
    for (const { edges, support, pairs, confidence } of paths) {
      expect(edges.some((one) => JSON.stringify(one) === JSON.stringify(edge))).toBe(false);
      expect(support).toBeLessThanOrEqual(pairs);
      expect(confidence).toBeCloseTo(support / (pairs + 5), 12);
    }
    expect(paths.some(({ edges }) => edges.length === 2)).toBe(true);
  });
});

it('refuses wrong questions and options', async () => {
  const model = await fitLinks(ruleFacts(2, 60, 6, 3), { epochs: 1 });
  const edge = { head: 'person3', relation: 'citizen of', tail: 'country1' };
  const refused = (question: unknown, options?: object) =>
    expect(model.explain(question as never, options as never)).rejects;
  await refused('person3').toThrow(/expected an edge, such as .*This is a model of links/);
  await refused([edge]).toThrow(/one question for question, got "?a list/);
  await refused({ ...edge, head: 'persn3' }).toThrow(/Did you mean person3/);
  await refused({ ...edge, time: 3 }).toThrow(/expected no time/);
  await refused(edge, { class: 'a' }).toThrow(/expected no option for class/);
  await refused(edge, { events: 3 }).toThrow(/It is one of models of events/);
  await refused(edge, { steps: 0 }).toThrow(/at least 1|from 1 to/);
  await refused(edge, { length: 5 }).toThrow(/length/);
  await refused(edge, { kk: 1 }).toThrow(/Did you mean k/);
  await refused(edge, { turn: () => Promise.reject(new Error('stopped')) }).toThrow('stopped');
  await model.close();
}, 60_000);
