/** Routes of event streams: `POST /events`, `POST /nodes`, `GET /status` and the quarantine, and the same below `/models/{name}`. */
import { z } from '@hono/zod-openapi';
import type { StreamEvent, StreamNode } from '../predict/index.js';
import type { ServerState } from './app.js';
import { event, eventId, list, object, streamNode, toTime } from './body-schemas.js';
import { HttpError, invalid } from './http-error.js';
import type { LiveStream, QuarantineAccess } from './live-stream.js';
import { answerBody } from './model-routes.js';
import type { Route, ServerContext } from './routes.js';

const appended = z
  .object({ accepted: z.int(), outcomes: z.array(z.string()), newNodes: z.int() })
  .openapi('Appended', {
    description: 'One outcome per event: accepted, waiting, duplicate, late or quarantined',
  });

const added = z.object({ newNodes: z.int() }).openapi('AddedNodes');

const mostListed = 10_000;
const atMost = `a whole number from 1 to ${mostListed}`;
const aKey = 'the key of the last event of the page before';

const example = { events: [{ id: 'e-1', head: 'u3', tail: 'u7', time: 1700020000 }] };

/** Which part of a list is wanted. */
const page = z.object({
  limit: z.coerce
    .number({ error: atMost })
    .pipe(z.int({ error: atMost }).min(1, { error: atMost }).max(mostListed, { error: atMost }))
    .optional(),
  after: z.coerce
    .number({ error: aKey })
    .pipe(z.int({ error: aKey }).min(0, { error: aKey }))
    .optional(),
});

/** A route that is described if a model uses it. */
type StreamRoute = Route & { readonly isUsed: boolean };

export function eventRoutes(state: ServerState): Route[] {
  const streams = state.models.flatMap(({ stream }) => (stream === null ? [] : [stream]));
  const hasQuarantine = streams.some(({ quarantine }) => quarantine !== null);
  const events = object({ events: list(event, 'events', state.limits.maxEvents) });
  const key = z.int({ error: 'the key of an event' }).min(0, { error: 'the key of an event' });
  const keys = object({ keys: list(key, 'keys', state.limits.maxEvents) });
  const done = z.looseObject({});
  const withKeys =
    (work: (quarantine: QuarantineAccess, given: number[]) => Promise<unknown>) => (context: ServerContext) =>
      answerBody(state, context, keys, async (model, { keys: given }) => ({
        result: await work(quarantineOf(streamOf(model.stream, model.name), model.name), given),
      }));
  const ofStream = (read: (stream: LiveStream, name: string) => object) => async (context: ServerContext) => {
    const model = await state.model(context);
    context.set('model', model.name);
    return context.json(read(streamOf(model.stream, model.name), model.name));
  };
  const routes: StreamRoute[] = [
    {
      ...{ method: 'post', path: '/events', tag: 'streams', summary: 'Append events to the stream' },
      ...{ body: events, answer: appended, example, isUsed: streams.length > 0 },
      handle: (context) =>
        answerBody(state, context, events, (model, body) =>
          append(context, streamOf(model.stream, model.name), body.events),
        ),
    },
    nodeRoute(state, hasQuarantine),
    {
      ...{ method: 'get', path: '/status', tag: 'streams', summary: 'Numbers of the stream', answer: done },
      isUsed: streams.length > 0,
      handle: ofStream((stream) => stream.status()),
    },
    {
      ...{
        method: 'get',
        path: '/quarantine',
        tag: 'streams',
        summary: 'Events that were set apart, the oldest first',
        query: page,
        answer: done,
      },
      isUsed: hasQuarantine,
      handle: async (context) => {
        const model = await state.model(context);
        context.set('model', model.name);
        const options = page.parse(context.req.query());
        return context.json({
          events: quarantineOf(streamOf(model.stream, model.name), model.name).list(options),
        });
      },
    },
    {
      ...{
        method: 'post',
        path: '/quarantine/release',
        tag: 'streams',
        summary: 'Apply events that were set apart',
      },
      ...{ body: keys, answer: done, example: { keys: [0] }, isUsed: hasQuarantine },
      handle: withKeys((quarantine, given) => quarantine.release(given)),
    },
    {
      ...{
        method: 'post',
        path: '/quarantine/delete',
        tag: 'streams',
        summary: 'Forget events that were set apart',
      },
      ...{ body: keys, answer: done, example: { keys: [0] }, isUsed: hasQuarantine },
      handle: withKeys((quarantine, given) => quarantine.remove(given)),
    },
  ];
  return routes.flatMap(({ isUsed, ...route }) => [
    { ...route, isHidden: !isUsed || state.models.length > 1 },
    { ...route, path: `/models/{name}${route.path}`, isHidden: !isUsed },
  ]);
}

function nodeRoute(state: ServerState, isUsed: boolean): StreamRoute {
  const body = object({ nodes: list(streamNode, 'nodes', state.limits.maxEvents) });
  return {
    ...{ method: 'post', path: '/nodes', tag: 'streams', summary: 'Add nodes before their first event' },
    ...{ body, answer: added, example: { nodes: [{ name: 'u9', side: 'head' }] }, isUsed },
    handle: (context) =>
      answerBody(state, context, body, (model, { nodes }) => {
        const { addNodes } = streamOf(model.stream, model.name);
        if (addNodes !== null) return addNodes(nodes as StreamNode[]);
        throw new HttpError(
          409,
          'unsupported',
          `nodes: expected a stream with --state, got ${model.name} without.`,
        );
      }),
  };
}

async function append(
  { req }: ServerContext,
  stream: LiveStream,
  given: readonly z.output<typeof event>[],
): Promise<z.output<typeof appended>> {
  const requestId = req.header('idempotency-key');
  if (requestId !== undefined && !eventId.safeParse(requestId).success)
    throw invalid('Idempotency-Key', 'a text of 1 to 128 characters', `one of ${requestId.length}`);
  const events = given.map((one) => ({ ...one, time: toTime(one.time) })) as StreamEvent[];
  const { outcomes, newNodes } = await stream.append(events, requestId === undefined ? {} : { requestId });
  const accepted = outcomes.filter((outcome) => outcome === 'accepted' || outcome === 'waiting').length;
  return { accepted, outcomes: [...outcomes], newNodes };
}

function streamOf(stream: LiveStream | null, name: string): LiveStream {
  if (stream !== null) return stream;
  throw new HttpError(
    409,
    'unsupported',
    `events: expected a model of events, got ${name}, which takes none.`,
  );
}

function quarantineOf({ quarantine }: LiveStream, name: string): QuarantineAccess {
  if (quarantine !== null) return quarantine;
  throw new HttpError(409, 'unsupported', `quarantine: expected a stream with --state, got ${name} without.`);
}
