/**
 * HTTP over an `OnlineScorer`: events in, scores out, as JSON. Bodies are checked before anything is changed; a
 * rejected request changes nothing. Requests with a foreign Host header are rejected, so that a web page cannot reach a
 * server on this machine under another name (DNS rebinding).
 */
import { Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import type { EventNodes } from '../data/temporal/event-nodes.js';
import type { OnlineScorer } from '../temporal/index.js';
import { SkeinError } from '../util/errors.js';
import { BadRequest, parseEvents, parseRecommendRequest, parseScoreRequest } from './bodies.js';

export interface TemporalAppOptions {
  readonly scorer: OnlineScorer;
  /** Candidate destinations of `/recommend`. */
  readonly destinations: Int32Array;
  /** Names of nodes for clients, such as `run.stream.data.nodes`. Default: their numbers. */
  readonly nodes?: EventNodes;
  /** Accepted Host headers, with port. */
  readonly hosts: readonly string[];
  /** Maximum size of a request in bytes. Default 16 MiB. */
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
          { error: `expected a body of at most ${maxBody} bytes. Send fewer events per request.` },
          413,
        ),
    }),
  );
  app.onError((error, context) => {
    if (error instanceof BadRequest) return context.json({ error: error.message }, 400);
    if (error instanceof SkeinError) return context.json({ error: toClientMessage(error.message) }, 400);
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
    const { firstRow, count } = scorer.append(parseEvents(await parseJson(context.req.raw), rules));
    return context.json({ first_row: firstRow, accepted: count, waiting: scorer.numWaiting });
  });
  app.post('/score', async (context) => {
    const { src, dst, time } = parseScoreRequest(await parseJson(context.req.raw), rules);
    scorer.advance();
    const logits = scorer.score(src, dst, time);
    return context.json({ scores: Array.from(logits, toProbability), logits: Array.from(logits) });
  });
  app.post('/recommend', async (context) => {
    const { src, k, time } = parseRecommendRequest(await parseJson(context.req.raw), rules);
    scorer.advance();
    const logits = scorer.score([src], destinations, time);
    const order = Array.from(logits.keys()).sort((a, b) => logits[b] - logits[a] || a - b);
    return context.json({
      destinations: order
        .slice(0, k)
        .map((i) => ({ id: nameOf(destinations[i]), score: toProbability(logits[i]) })),
    });
  });
  return app;
}

async function parseJson(request: Request): Promise<unknown> {
  try {
    return await request.json();
  } catch {
    throw new BadRequest('body: expected JSON, got text that is not JSON.');
  }
}

/** Replacements of the library's advice for clients of the server. */
const clientAdvice: readonly (readonly [RegExp, string])[] = [
  [
    /Pass a larger numNodes, or growNodes: true\./,
    'Use nodes that the model was trained with; GET /status returns their number.',
  ],
  [
    /Sort the events, or pass sort: true, or outOfOrder: .*$/,
    'Send events in order of time, none before last_time of GET /status.',
  ],
  [/Later events are in the graph already; .*$/, 'Send no event before last_time of GET /status.'],
  [/^(TemporalGraph\.append|TemporalGraph|OnlineScorer): /, 'events: '],
];

const toClientMessage = (message: string): string =>
  clientAdvice.reduce((text, [advice, instead]) => text.replace(advice, instead), message);

const toProbability = (logit: number): number => 1 / (1 + Math.exp(-logit));
