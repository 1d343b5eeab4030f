/**
 * The question for the reasons of an answer. It costs far more than the answer: its sizes are bounded, and it is answered in slices,
 * so that other requests do not wait for its end.
 */
import { z } from '@hono/zod-openapi';
import type { EdgeName, ExplainOptions, Explanation } from '../predict/index.js';
import { choice, edge, name, object, toTime } from './body-schemas.js';
import { HttpError } from './http-error.js';
import type { ModelSession } from './served-model.js';

/** The most of everything that an explanation may ask for. */
const most = { k: 100, steps: 500, length: 3, events: 100, maxEdges: 50_000 };

function upTo(limit: number) {
  const error = `a whole number from 1 to ${limit.toLocaleString('en')}`;
  return z.int({ error }).min(1, { error }).max(limit, { error }).optional();
}

const body = object({
  node: name.optional().openapi({ description: 'A node whose class is explained' }),
  edge: edge.optional().openapi({ description: 'An edge or event whose score is explained' }),
  k: upTo(most.k).openapi({ description: 'Maximum number of reasons of each kind (default 10)' }),
  method: choice(['mask', 'gradient'])
    .optional()
    .openapi({ description: 'Models with graph layers: learn masks (default), or take one gradient' }),
  steps: upTo(most.steps).openapi({ description: 'Steps in which masks are learned (default 100)' }),
  class: z.string({ error: 'the name of a class' }).max(1000, { error: 'the name of a class' }).optional(),
  length: upTo(most.length).openapi({ description: 'Links: maximum number of edges of a path (default 2)' }),
  events: upTo(most.events).openapi({
    description: 'Events: past events that are left out in turn (default 40)',
  }),
});

const named = { head: z.string(), relation: z.string().optional(), tail: z.string() };
const weighted = z.object({ ...named, weight: z.number() }).openapi('WeightedEdge');
const fidelity = z
  .object({
    unit: z.enum(['probability', 'score']),
    plus: z.number(),
    minus: z.number(),
    sparsity: z.number(),
  })
  .openapi('Fidelity', {
    description: 'What the answer loses without the reasons (plus), and with them alone (minus)',
  });

const answer = z
  .union([
    z.object({
      kind: z.literal('node'),
      ...{ node: z.string(), class: z.string(), probability: z.number(), method: z.string() },
      edges: z.array(weighted),
      features: z.array(z.object({ name: z.string(), weight: z.number() })),
      fidelity,
    }),
    z.object({
      kind: z.literal('link'),
      ...{ ...named, score: z.number(), probability: z.number().optional(), method: z.string() },
      facts: z.array(weighted),
      paths: z.array(
        z.object({
          edges: z.array(z.object(named)),
          ...{ support: z.number(), pairs: z.number(), confidence: z.number() },
        }),
      ),
      words: z.array(z.object({ word: z.string(), column: z.string(), weight: z.number() })).optional(),
      fidelity,
    }),
    z.object({
      kind: z.literal('event'),
      ...{ head: z.string(), tail: z.string(), time: z.number(), score: z.number(), method: z.string() },
      events: z.array(z.object({ head: z.string(), tail: z.string(), time: z.number(), weight: z.number() })),
      fidelity,
    }),
  ])
  .openapi('Explanation', { description: 'Reasons of one answer, the most important first' });

export const explainOperation = {
  name: 'explain',
  summary: 'Explain the class of a node, or the score of an edge or event, by what it depends on',
  body,
  answer,
  example: { edge: { head: 'ana', relation: 'works in', tail: 'team0' }, k: 5 },
  async run(session: ModelSession, { node, edge: given, ...options }: z.output<typeof body>) {
    if ((node === undefined) === (given === undefined))
      throw new HttpError(
        400,
        'invalid',
        `body: expected either node or edge, got ${node === undefined ? 'neither' : 'both'}.`,
      );
    const used = Object.fromEntries(
      Object.entries(options).filter(([, value]) => value !== undefined),
    ) as ExplainOptions;
    const isGraph = session.predictor.kind !== 'events';
    return session.inTurns('explain', (model, turn): Promise<Explanation> => {
      const all = { ...used, turn, ...(isGraph ? { maxEdges: most.maxEdges } : {}) };
      if (node !== undefined) return model.explain(node, all);
      const { time, ...ends } = given as z.output<typeof edge>;
      return model.explain(
        { ...ends, ...(time === undefined ? {} : { time: toTime(time) }) } as EdgeName,
        all,
      );
    });
  },
} as const;
