/**
 * HTTP over predictors: questions and answers as JSON, by the names of the data. Bodies are checked before anything happens;
 * a rejected request changes nothing. Errors have one form: `{ "error": sentence, "code": word }`.
 */
import { OpenAPIHono } from '@hono/zod-openapi';
import { getPath } from 'hono/utils/url';
import { eventRoutes } from './event-routes.js';
import { guard, isHealth } from './guard.js';
import { fromPredictor, HttpError, internalError, stillOpening } from './http-error.js';
import { inferenceRoutes } from './inference-routes.js';
import { infoRoutes } from './info-routes.js';
import type { ServeLimits } from './limits.js';
import { modelRoutes } from './model-routes.js';
import { dataPolicy, openPage } from './page/page-routes.js';
import { sessionRoutes } from './page/session-routes.js';
import type { Sessions } from './page/sessions.js';
import type { BodyBudget } from './read-json.js';
import { addRoutes, type ServerContext, type ServerEnv } from './routes.js';
import type { CatalogRun } from './runs/run-catalog.js';
import { runRoutes } from './runs/run-routes.js';
import type { RunReader } from './runs/run-summary.js';
import type { ServedModel } from './served-model.js';
import type { ServerMetrics } from './server-metrics.js';

/** State that the parts of a server share. */
export interface ServerState {
  readonly models: readonly ServedModel[];
  /**
   * Returns the model that a path names; without a name, the only one. It may have to be opened, and stays open until the
   * request has its answer.
   */
  model(context: ServerContext): Promise<ServedModel>;
  /** The runs that the page shows. */
  readonly runs: RunList;
  readonly reader: RunReader;
  readonly limits: ServeLimits;
  readonly metrics: ServerMetrics;
  readonly budget: BodyBudget;
  readonly version: string;
  /** Whether models are still being opened. */
  isOpening: boolean;
  /** Whether the server takes no more requests. */
  isStopping: boolean;
  inFlight: number;
  /** Calls a function when the server stops: answers that have no end of their own end then. Returns what takes that back. */
  onStop(stop: () => void): () => void;
}

/** The runs that a page shows. */
export interface RunList {
  /** Folders that are searched. */
  readonly roots: readonly string[];
  list(): readonly CatalogRun[];
  find(name: string): CatalogRun | undefined;
}

export interface RequestRecord {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly ms: number;
  readonly model?: string;
}

export interface AppOptions {
  readonly state: ServerState;
  readonly hosts: readonly string[];
  readonly token?: string | null;
  readonly corsOrigins?: readonly string[];
  /** The path below which a proxy shows the server, such as `/skein`; '' for its root. */
  readonly basePath?: string;
  readonly sessions?: Sessions | undefined;
  /** Told about every answered request. */
  readonly onRequest?: (request: RequestRecord) => void;
  /** Told about errors that clients see as "internal error". */
  readonly onError?: (error: unknown) => void;
}

export function serverApp(options: AppOptions): OpenAPIHono<ServerEnv> {
  const { state, hosts, token = null, corsOrigins = [], basePath = '', sessions } = options;
  const app = new OpenAPIHono<ServerEnv>({ getPath: (request) => withoutBase(getPath(request), basePath) });
  app.onError((error, context) => {
    const known = fromPredictor(error);
    if (known === undefined) options.onError?.(error);
    const { status, headers, body } = known ?? internalError();
    for (const [name, value] of Object.entries(headers)) context.header(name, value);
    if (state.isStopping) context.header('connection', 'close');
    return context.json(body, status as 400);
  });
  app.use(async (context, next) => {
    const started = performance.now();
    context.set('route', 'other');
    context.set('model', '');
    await next();
    // Answers are data of this moment; only files of the page may be kept.
    if (!context.res.headers.has('cache-control')) context.header('cache-control', 'no-store');
    if (!context.res.headers.has('content-security-policy'))
      context.header('content-security-policy', dataPolicy);
    context.header('x-content-type-options', 'nosniff');
    const { method, path } = context.req;
    const { status } = context.res;
    const { route, model } = context.var;
    const seconds = (performance.now() - started) / 1000;
    state.metrics.answered({ route, model, status, seconds });
    options.onRequest?.({
      ...{ method, path: path.slice(0, 200), status, ms: Math.round(seconds * 1e5) / 100 },
      ...(model === '' ? {} : { model }),
    });
  });
  const page = openPage(basePath);
  app.use(guard({ hosts, token, corsOrigins, sessions, isPublic: page.isFile }));
  app.use(limitRequests(state));
  app.use(page.serve);
  addRoutes(app, [
    ...infoRoutes(state, () => app),
    ...(sessions === undefined ? [] : sessionRoutes(sessions)),
    ...runRoutes(state),
    ...modelRoutes(state),
    ...eventRoutes(state),
    ...inferenceRoutes(state),
  ]);
  return app;
}

/** Returns a path without the base; one outside of it is not a path of the server. */
function withoutBase(path: string, base: string): string {
  if (base === '' || path.startsWith(`${base}/`)) return path.slice(base.length);
  return path === base ? '/' : `/outside${path}`;
}

/** Bounds the requests in flight. Health and metrics are answered in any case. */
function limitRequests(state: ServerState) {
  return async ({ req }: { req: { path: string } }, next: () => Promise<void>): Promise<void> => {
    if (isHealth(req.path) || req.path === '/metrics') return next();
    if (state.isStopping)
      throw new HttpError(503, 'stopping', 'expected a running server, got one that stops. Ask another.', {
        headers: { 'retry-after': '5' },
      });
    if (state.isOpening) throw stillOpening();
    if (state.inFlight >= state.limits.maxInFlight)
      throw new HttpError(
        503,
        'busy',
        `expected at most ${state.limits.maxInFlight} requests at once. Try again.`,
        {
          headers: { 'retry-after': '1' },
        },
      );
    state.inFlight++;
    try {
      await next();
    } finally {
      state.inFlight--;
    }
  };
}
