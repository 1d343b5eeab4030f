/**
 * HTTP over an `OnlineScorer`: events in, scores out, as JSON. Bodies are checked before anything is changed; a request that
 * is refused changes nothing. Requests with a foreign Host header are refused, so that a web page elsewhere cannot reach a
 * server on this machine by its own name for it.
 */
import { Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import type { EventNodes } from '../data/index.js';
import type { OnlineScorer } from '../temporal/index.js';
import { SkeinError } from '../util/errors.js';
import { BadRequest, eventsOf, questionOf, wishOf } from './bodies.js';

export interface TemporalAppOptions {
  readonly scorer: OnlineScorer;
  /** Destinations that `/recommend` chooses from. */
  readonly destinations: Int32Array;
  /** What clients call nodes, such as `run.stream.data.nodes`. Default: their numbers. */
  readonly nodes?: EventNodes;
  /** Hosts, with port, that requests may be addressed to. */
  readonly hosts: readonly string[];
  /** Bytes of a request. Default 16 MiB. */
  readonly maxBody?: number;
}

export function temporalApp({
  scorer,
  destinations,
  hosts,
  nodes,
  maxBody = 2 ** 24,
}: TemporalAppOptions): Hono {
  const rules = { nodes: nodes ?? null, featureWidth: scorer.graph.featureWidth };
  const nameOf = (id: number): string | number => {
    const name = nodes?.nameOf(id) ?? id;
    return typeof name === 'string' && nodes?.kind !== 'names' && /^\d+$/.test(name) ? Number(name) : name;
  };
  const app = new Hono();
  app.use(async (context, next) => {
    const host = (context.req.header('host') ?? '').toLowerCase();
    if (!hosts.includes(host))
      return context.json({ error: `expected a request to ${hosts.join(' or ')}, got Host ${host}.` }, 403);
    return next();
  });
  app.use(
    bodyLimit({
      maxSize: maxBody,
      onError: (context) =>
        context.json(
          { error: `expected a body of at most ${maxBody} bytes. Send fewer events at once.` },
          413,
        ),
    }),
  );
  app.onError((error, context) => {
    if (error instanceof BadRequest) return context.json({ error: error.message }, 400);
    if (error instanceof SkeinError) return context.json({ error: forClients(error.message) }, 400);
    return context.json({ error: 'internal error' }, 500);
  });
  app.notFound((context) =>
    context.json(
      {
        error: `expected GET /status, POST /events, /score or /recommend, got ${context.req.method} ${context.req.path}.`,
      },
      404,
    ),
  );
  const status = () => ({
    nodes: scorer.graph.numNodes,
    events: scorer.graph.numEvents,
    waiting: scorer.numWaiting,
    last_time: Number.isFinite(scorer.graph.lastTime) ? scorer.graph.lastTime : null,
    latency_ms: scorer.latency(),
  });
  app.get('/status', (context) => context.json(status()));
  app.post('/events', async (context) => {
    const { firstRow, count } = scorer.append(eventsOf(await json(context.req.raw), rules));
    return context.json({ first_row: firstRow, accepted: count, waiting: scorer.numWaiting });
  });
  app.post('/score', async (context) => {
    const { src, dst, time } = questionOf(await json(context.req.raw), rules);
    scorer.advance();
    const logits = scorer.score(src, dst, time);
    return context.json({ scores: Array.from(logits, probability), logits: Array.from(logits) });
  });
  app.post('/recommend', async (context) => {
    const { src, k, time } = wishOf(await json(context.req.raw), rules);
    scorer.advance();
    const logits = scorer.score([src], destinations, time);
    const order = Array.from(logits.keys()).sort((a, b) => logits[b] - logits[a] || a - b);
    return context.json({
      destinations: order
        .slice(0, k)
        .map((i) => ({ id: nameOf(destinations[i]), score: probability(logits[i]) })),
    });
  });
  return app;
}

async function json(request: Request): Promise<unknown> {
  try {
    return await request.json();
  } catch {
    throw new BadRequest('body: expected JSON, got something else.');
  }
}

/** What the library advises its callers, and what a client can do instead. */
const advices: readonly (readonly [RegExp, string])[] = [
  [
    /Give a larger numNodes, or growNodes: true\./,
    'Use nodes that the model was trained with; GET /status says how many there are.',
  ],
  [
    /Sort the events, give sort: true, or outOfOrder: .*$/,
    'Send events in order of time, none before last_time of GET /status.',
  ],
  [/Later events are part of the graph already; .*$/, 'Send no event before last_time of GET /status.'],
  [/^(TemporalGraph\.append|TemporalGraph|OnlineScorer): /, 'events: '],
];

const forClients = (message: string): string =>
  advices.reduce((text, [advice, instead]) => text.replace(advice, instead), message);

const probability = (logit: number): number => 1 / (1 + Math.exp(-logit));
