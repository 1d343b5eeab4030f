/** Routes about the server: index, health, metrics, models and the description of all routes. */
import { type OpenAPIHono, z } from '@hono/zod-openapi';
import type { ServerState } from './app.js';
import { HttpError, stillOpening } from './http-error.js';
import type { Route, ServerEnv } from './routes.js';

const status = z.object({ status: z.string() }).openapi('Status');

const modelInfo = z
  .object({
    name: z.string(),
    kind: z.enum(['links', 'nodes', 'events']),
    answers: z.array(z.string()),
    classes: z.array(z.string()),
    calibrated: z.boolean(),
    metrics: z.record(z.string(), z.record(z.string(), z.number().nullable())),
    version: z.int().openapi({ description: 'Grows when a newer model of the run is taken over' }),
    loaded: z.string(),
  })
  .openapi('Model');

export function infoRoutes(state: ServerState, app: () => OpenAPIHono<ServerEnv>): Route[] {
  const route = (given: Omit<Route, 'method'>): Route => ({ method: 'get', ...given });
  return [
    route({
      ...{ path: '/', tag: 'server', summary: 'What this server answers' },
      answer: z
        .object({
          name: z.string(),
          version: z.string(),
          models: z.array(z.string()),
          endpoints: z.array(z.string()),
        })
        .openapi('Index'),
      handle: (context) => context.json(index(state, app())),
    }),
    route({
      ...{ path: '/health', tag: 'server', summary: 'Whether the server answers', answer: status },
      handle: (context) => context.json({ status: state.isStopping ? 'stopping' : 'ok' }),
    }),
    route({
      ...{ path: '/health/live', tag: 'server', summary: 'Whether the process runs', answer: status },
      handle: (context) => context.json({ status: 'live' }),
    }),
    route({
      ...{ path: '/health/ready', tag: 'server', summary: 'Whether the models are open', answer: status },
      handle: (context) => {
        checkReady(state, state.models);
        return context.json({ status: 'ready' });
      },
    }),
    route({
      ...{ path: '/metrics', tag: 'server', summary: 'Metrics for Prometheus', answer: null },
      handle: async (context) =>
        context.text(await state.metrics.text(), 200, { 'content-type': state.metrics.registry.contentType }),
    }),
    route({
      ...{ path: '/openapi.json', tag: 'server', summary: 'This description', answer: z.looseObject({}) },
      handle: (context) => context.json(describeApi(state, app())),
    }),
    route({
      ...{
        path: '/models',
        tag: 'models',
        summary: 'The models',
        answer: z.object({ models: z.array(modelInfo) }).openapi('Models'),
      },
      handle: (context) => context.json({ models: state.models.map(({ description }) => description) }),
    }),
    route({
      ...{ path: '/models/{name}', tag: 'models', summary: 'One model', answer: modelInfo },
      handle: (context) => context.json(findModel(state, context.req.param('name')).description),
    }),
  ];
}

/** Throws unless the server takes requests, its models are open and the streams of the models work. */
export function checkReady({ isOpening, isStopping }: ServerState, models: ServerState['models']): void {
  if (isStopping) throw new HttpError(503, 'stopping', 'expected a running server, got one that stops.');
  if (isOpening) throw stillOpening();
  const stopped = models.find(({ stream }) => (stream?.failure ?? null) !== null);
  if (stopped !== undefined)
    throw new HttpError(
      503,
      'internal',
      `expected streams that work, got ${stopped.name}, which has stopped.`,
    );
}

function index(state: ServerState, app: OpenAPIHono<ServerEnv>) {
  const { paths = {} } = describeApi(state, app);
  const endpoints = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods ?? {}).map((method) => `${method.toUpperCase()} ${path}`),
  );
  return { name: 'skein', version: state.version, models: state.models.map(({ name }) => name), endpoints };
}

function describeApi({ version }: ServerState, app: OpenAPIHono<ServerEnv>) {
  return app.getOpenAPI31Document({
    openapi: '3.1.0',
    info: {
      title: 'Skein',
      version,
      description: 'Answers of trained graph models, by the names of their data.',
    },
  });
}

/** Returns the model of a path; without a name, the only one. */
export function findModel({ models }: ServerState, name: string | undefined) {
  if (name === undefined && models.length === 1) return models[0];
  const found = models.find((model) => model.name === name);
  if (found !== undefined) return found;
  const names = models.map((model) => model.name).join(', ');
  throw new HttpError(
    404,
    'not_found',
    name === undefined
      ? `expected a path under /models/{name} for a server of several models, got none. Models: ${names}.`
      : `expected one of the models ${names}, got ${JSON.stringify(name.slice(0, 100))}.`,
  );
}
