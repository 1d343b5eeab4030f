/**
 * HTTP over an `OnlineScorer`: events in, scores out, as JSON. Bodies are checked before anything is changed; a request that
 * is refused changes nothing. Requests with a foreign Host header are refused, so that a web page elsewhere cannot reach a
 * server on this machine by its own name for it.
 */
import { Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { z } from 'zod';
import type { OnlineScorer } from '../temporal/index.js';
import { SkeinError } from '../util/errors.js';

export interface TemporalAppOptions {
  readonly scorer: OnlineScorer;
  /** Destinations that `/recommend` chooses from. */
  readonly destinations: Int32Array;
  /** Hosts, with port, that requests may be addressed to. */
  readonly hosts: readonly string[];
  /** Bytes of a request. Default 16 MiB. */
  readonly maxBody?: number;
}

const ids = z.array(z.number().int().nonnegative());
const eventsBody = z.strictObject({
  src: ids,
  dst: ids,
  time: z.array(z.number()),
  types: ids.optional(),
  /** One list of numbers for each event. */
  features: z.array(z.array(z.number())).optional(),
});
const scoreBody = z.strictObject({
  src: z.union([z.number().int().nonnegative(), ids]),
  dst: ids.min(1).max(100_000),
  time: z.number().optional(),
});
const recommendBody = z.strictObject({
  src: z.number().int().nonnegative(),
  k: z.number().int().min(1).max(10_000).default(10),
  time: z.number().optional(),
});

export function temporalApp({ scorer, destinations, hosts, maxBody = 2 ** 24 }: TemporalAppOptions): Hono {
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
    if (error instanceof SkeinError || error instanceof BadRequest)
      return context.json({ error: error.message }, 400);
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
    const { features, ...columns } = await parse(context.req.raw, eventsBody);
    const { firstRow, count } = scorer.append({
      src: columns.src,
      dst: columns.dst,
      time: columns.time,
      ...(columns.types === undefined ? {} : { types: columns.types }),
      ...(features === undefined ? {} : { features: flat(features, scorer.graph.featureWidth) }),
    });
    return context.json({ first_row: firstRow, accepted: count, waiting: scorer.numWaiting });
  });
  app.post('/score', async (context) => {
    const { src, dst, time } = await parse(context.req.raw, scoreBody);
    scorer.advance();
    const logits = scorer.score(typeof src === 'number' ? [src] : src, dst, time);
    return context.json({ scores: Array.from(logits, probability), logits: Array.from(logits) });
  });
  app.post('/recommend', async (context) => {
    const { src, k, time } = await parse(context.req.raw, recommendBody);
    scorer.advance();
    const logits = scorer.score([src], destinations, time);
    const order = Array.from(logits.keys()).sort((a, b) => logits[b] - logits[a] || a - b);
    return context.json({
      destinations: order.slice(0, k).map((i) => ({ id: destinations[i], score: probability(logits[i]) })),
    });
  });
  return app;
}

class BadRequest extends Error {}

async function parse<T extends z.ZodType>(request: Request, schema: T): Promise<z.output<T>> {
  let body: unknown;
  try {
    body = await request.json();
  } catch {
    throw new BadRequest('expected a JSON object for the body, got something else.');
  }
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const [{ path, message }] = parsed.error.issues;
  throw new BadRequest(`${path.join('.') || 'body'}: ${message}.`);
}

function flat(rows: readonly (readonly number[])[], width: number): Float32Array {
  const out = new Float32Array(rows.length * width);
  for (const [i, row] of rows.entries()) {
    if (row.length !== width)
      throw new BadRequest(`features.${i}: expected ${width} numbers, got ${row.length}.`);
    out.set(row, i * width);
  }
  return out;
}

const probability = (logit: number): number => 1 / (1 + Math.exp(-logit));
