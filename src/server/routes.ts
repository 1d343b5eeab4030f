/** Routes with their descriptions: what the server answers and what `/openapi.json` says is one list. */
import type { HttpBindings } from '@hono/node-server';
import { type OpenAPIHono, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { errorBody } from './body-schemas.js';
import { checkQuery } from './check-query.js';
import { HttpError } from './http-error.js';

export interface ServerEnv {
  Bindings: Partial<HttpBindings>;
  Variables: { route: string; model: string };
}

export type ServerContext = Context<ServerEnv>;

export interface Route {
  readonly method: 'get' | 'post';
  /** With parameters in braces. */
  readonly path: string;
  readonly summary: string;
  readonly tag: string;
  readonly body?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly example?: unknown;
  /** The body of status 200; null for text. */
  readonly answer: z.ZodType | null;
  /** Left out of the description. */
  readonly isHidden?: boolean;
  handle(context: ServerContext): Promise<Response> | Response;
}

const parameter = /\{(\w+)\}/g;

export function addRoutes(app: OpenAPIHono<ServerEnv>, routes: readonly Route[]): void {
  for (const route of routes) {
    if (route.isHidden !== true) describe(app, route);
    app.on(route.method.toUpperCase(), route.path.replace(parameter, ':$1'), (context) => {
      context.set('route', route.path);
      // Probes and scrapers of the server itself may add parameters of their own.
      if (route.tag !== 'server') checkQuery(context, route.query);
      return route.handle(context);
    });
  }
  app.notFound((context) => {
    throw unknownRoute(routes, context.req.method, context.req.path);
  });
}

function describe(app: OpenAPIHono<ServerEnv>, route: Route): void {
  const { method, path, summary, tag, body, answer, example, query } = route;
  const parameters = Object.fromEntries([...path.matchAll(parameter)].map(([, name]) => [name, z.string()]));
  const json = (schema: z.ZodType, shown?: unknown) => ({
    content: { 'application/json': { schema, ...(shown === undefined ? {} : { example: shown }) } },
  });
  app.openAPIRegistry.registerPath({
    ...{ method, path, summary, tags: [tag] },
    request: {
      ...(Object.keys(parameters).length === 0 ? {} : { params: z.object(parameters) }),
      ...(query === undefined ? {} : { query }),
      ...(body === undefined ? {} : { body: { required: true, ...json(body, example) } }),
    },
    responses: {
      200: {
        description: 'The answer',
        ...(answer === null ? { content: { 'text/plain': { schema: z.string() } } } : json(answer)),
      },
      '4XX': { description: 'A request that cannot be answered', ...json(errorBody) },
      500: { description: 'A defect of the server', ...json(errorBody) },
      503: {
        description: 'Too many requests at once, or the server opens models or stops',
        ...json(errorBody),
      },
    },
  });
}

/** Returns the error for a path without a route, or one whose methods are others. */
function unknownRoute(routes: readonly Route[], method: string, path: string): HttpError {
  const methods = routes
    .filter((route) =>
      new RegExp(`^${route.path.replace(/\./g, '\\.').replace(parameter, '[^/]+')}$`).test(path),
    )
    .map((route) => route.method.toUpperCase());
  const shown = `${method} ${path.slice(0, 100)}`;
  if (methods.length === 0)
    return new HttpError(404, 'not_found', `expected a path of GET /, which lists them, got ${shown}.`);
  const allow = methods.includes('GET') ? [...methods, 'HEAD'].join(', ') : methods.join(', ');
  return new HttpError(
    405,
    'method_not_allowed',
    `expected ${methods.join(' or ')} for this path, got ${shown}.`,
    {
      headers: { allow },
    },
  );
}
