/**
 * `serve`: trained models behind HTTP. It listens on the loopback address by default; on any other a token is required. It
 * listens before models are opened, so that supervisors see a process that lives but is not ready. Closing stops intake, lets requests finish, then closes streams and models.
 */
import { setMaxListeners } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { getRequestListener, RequestError } from '@hono/node-server';
import { StateError } from '../util/errors.js';
import { runAll } from '../util/run-all.js';
import { type RunList, type ServerState, serverApp } from './app.js';
import { answerConnectionErrors, errorResponse, requireHost, wrongAddress } from './connection-errors.js';
import { hostNames, reachableHost } from './host-names.js';
import { internalError } from './http-error.js';
import { findModel } from './info-routes.js';
import type { ServeLimits } from './limits.js';
import { Sessions } from './page/sessions.js';
import { BodyBudget } from './read-json.js';
import type { QueueOptions } from './request-queue.js';
import { LazyModels } from './runs/lazy-models.js';
import type { CatalogRun } from './runs/run-catalog.js';
import { RunReader } from './runs/run-summary.js';
import { checkServeOptions, type ServeOptions } from './serve-options.js';
import { type ModelSource, ServedModel } from './served-model.js';
import { ServerMetrics } from './server-metrics.js';

export interface RunningServer {
  readonly url: string;
  readonly models: readonly ServedModel[];
  /** Returns an address that opens the page once, for a server with a token; without one the address of the page. */
  pageLink(): string;
  close(): Promise<void>;
}

export async function serve(options: ServeOptions): Promise<RunningServer> {
  const { host, port, token, reloadEvery, onError, basePath, runs, limits } = checkServeOptions(options);
  const models: ServedModel[] = [];
  const metrics = new ServerMetrics(
    () => models,
    () => state.inFlight,
  );
  const stopping = new AbortController();
  const lazy = options.openRun === undefined ? null : lazyModels(runs, options.openRun, metrics, onError);
  const reader = new RunReader();
  const shared = { models, limits, metrics, runs, reader, version: options.version ?? '' };
  const state = newState(shared, lazy, stopping.signal);
  const hosts: string[] = [];
  const sessions = token === null ? undefined : new Sessions(basePath);
  const makeApp = () => serverApp({ ...options, state, hosts, token, sessions });
  // Routes are described by what the models answer, so they are made again when all are open.
  let app = makeApp();
  const server = await listen((request, env) => app.fetch(request, env), {
    ...{ host, port, limits, onError },
    onAnswer: (status) => metrics.answered({ route: 'other', model: '', status, seconds: 0 }),
  }).catch((error: unknown) => {
    metrics.close();
    throw error;
  });
  const address = server.address();
  const actual = typeof address === 'object' && address !== null ? address.port : port;
  hosts.push(...hostNames(host, actual));
  const url = urlOf(host, actual);
  const closeModels = (): Promise<void> => {
    metrics.close();
    return runAll(models.map((model) => () => model.close()));
  };
  try {
    options.onListen?.(url);
    for (const source of options.models) {
      const onCall: QueueOptions['onCall'] = (call) => metrics.called(source.name, call);
      models.push(await ServedModel.open(source, { onCall, onError }));
    }
    app = makeApp();
    state.isOpening = false;
  } catch (error) {
    // The models that are open have answered nothing yet, so there is nothing to wait for.
    await runAll([() => drain(server, 0), closeModels]).catch(onError);
    throw error;
  }
  // Long records take a second to parse, about as long as it takes to open the page.
  reader.prepare(runs.list(), stopping.signal).catch(onError);
  const stopReloads = watchModels(models, reloadEvery, options, metrics);
  const close = async (): Promise<void> => {
    state.isStopping = true;
    stopping.abort();
    stopReloads();
    await drain(server, limits.drainTimeout);
    await runAll([closeModels, async () => lazy?.close()]);
  };
  let closing: Promise<void> | null = null;
  return {
    ...{ url, models },
    pageLink: () => `${urlOf(reachableHost(host), actual)}${basePath}${sessions?.newLink() ?? '/'}`,
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}

const urlOf = (host: string, port: number): string =>
  `http://${host.includes(':') ? `[${host}]` : host}:${port}`;

/** Makes the state of a server whose models are still to be opened. */
function newState(
  shared: Pick<ServerState, 'models' | 'limits' | 'metrics' | 'runs' | 'reader' | 'version'>,
  lazy: LazyModels | null,
  stopping: AbortSignal,
): ServerState {
  // Each open page waits for the end.
  setMaxListeners(0, stopping);
  const state: ServerState = {
    ...{ ...shared, budget: new BodyBudget(shared.limits.maxBodies) },
    ...{ isOpening: true, isStopping: false, inFlight: 0 },
    model: async ({ req, env }) => {
      const name = req.param('name');
      if (lazy === null || name === undefined || shared.models.some((model) => model.name === name))
        return findModel(state, name);
      const { model, release } = await lazy.take(name);
      if (env?.outgoing === undefined || env.outgoing.destroyed) release();
      else env.outgoing.once('close', release);
      return model;
    },
    onStop: (stop) => {
      if (stopping.aborted) stop();
      else stopping.addEventListener('abort', stop, { once: true });
      return () => stopping.removeEventListener('abort', stop);
    },
  };
  return state;
}

function lazyModels(
  runs: RunList,
  openRun: (run: CatalogRun) => ModelSource,
  metrics: ServerMetrics,
  onError: (error: unknown) => void,
): LazyModels {
  return new LazyModels({
    onError,
    onCall: (name) => (call) => metrics.called(name, call),
    find: (name) => {
      const run = runs.find(name);
      return run === undefined ? undefined : openRun(run);
    },
  });
}

interface ListenOptions {
  readonly host: string;
  readonly port: number;
  readonly limits: ServeLimits;
  /** Told about answers to requests that did not reach a route. */
  readonly onAnswer: (status: number) => void;
  readonly onError: (error: unknown) => void;
}

function listen(
  fetch: Parameters<typeof getRequestListener>[0],
  { host, port, limits, onAnswer, onError }: ListenOptions,
): Promise<Server> {
  const listener = getRequestListener(fetch, {
    overrideGlobalObjects: false,
    errorHandler: (error) => {
      const isClients = error instanceof RequestError;
      if (!isClients) onError(error);
      onAnswer(isClients ? 400 : 500);
      return errorResponse(isClients ? wrongAddress() : internalError());
    },
  }) as RequestListener;
  const server = createServer(
    {
      headersTimeout: limits.headersTimeout,
      requestTimeout: limits.bodyTimeout,
      // Slow senders are looked for this often.
      connectionsCheckingInterval: Math.min(1000, limits.headersTimeout),
      keepAliveTimeout: 65_000,
      maxHeaderSize: 16_384,
      // Checked by `requireHost`, whose answer has a body.
      requireHostHeader: false,
    },
    requireHost(listener, { onAnswer }),
  );
  answerConnectionErrors(server, { onAnswer });
  server.maxConnections = limits.maxConnections;
  // Ends connections whose client does not read its answer. Waiting for an answer is silent too, so that has its time as well.
  server.setTimeout(limits.idleTimeout + limits.answerTimeout);
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(new StateError(whyNotListening(host, port, error.code ?? error.message))),
    );
    server.listen(port, host, () => resolve(server));
  });
}

/** Codes of errors about the address, not the port. */
const wrongHost = new Set(['ENOTFOUND', 'EAI_AGAIN', 'EADDRNOTAVAIL', 'EAFNOSUPPORT', 'EINVAL']);

function whyNotListening(host: string, port: number, code: string): string {
  return wrongHost.has(code)
    ? `serve: expected an address or a name of this machine for --host, got ${host} (${code}). Leave --host out for 127.0.0.1, or pass 0.0.0.0 for all addresses.`
    : `serve: expected a free port, got ${host}:${port} (${code}). Choose another with --port.`;
}

/** Looks for newer models from time to time; returns a function that stops it. */
function watchModels(
  models: readonly ServedModel[],
  milliseconds: number,
  { onReload, onError }: ServeOptions,
  metrics: ServerMetrics,
): () => void {
  let isLooking = false;
  const look = async (): Promise<void> => {
    if (isLooking) return;
    isLooking = true;
    for (const model of models)
      try {
        if (!(await model.reloadIfChanged())) continue;
        metrics.reloaded(model.name);
        onReload?.({ model: model.name, version: model.description.version });
      } catch (error) {
        // The model that is open continues to answer.
        onError?.(error);
      }
    isLooking = false;
  };
  const timer = milliseconds === 0 ? undefined : setInterval(look, milliseconds).unref();
  return () => clearInterval(timer);
}

/** Stops intake and waits until requests have their answers, but not for ever. */
function drain(server: Server, milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    const end = setTimeout(() => server.closeAllConnections(), milliseconds);
    // Connections that become idle meanwhile are closed as well.
    const idle = setInterval(() => server.closeIdleConnections(), 50);
    server.close(() => {
      clearTimeout(end);
      clearInterval(idle);
      resolve();
    });
    server.closeIdleConnections();
  });
}
