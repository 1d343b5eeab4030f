/**
 * `serve`: trained models behind HTTP. It listens on the loopback address by default; on any other a token is required. It
 * listens before models are opened, so that supervisors see a process that lives but is not ready. Closing stops intake, lets requests finish, then closes streams and models.
 */
import { createServer, type RequestListener, type Server } from 'node:http';
import { getRequestListener, RequestError } from '@hono/node-server';
import { checkInteger, checkNumber, expected, StateError, ValueError } from '../util/errors.js';
import { checkOptionNames } from '../util/option-names.js';
import { runAll } from '../util/run-all.js';
import { type RequestRecord, type ServerState, serverApp } from './app.js';
import { answerConnectionErrors, errorResponse, requireHost, wrongAddress } from './connection-errors.js';
import { hostNames, isLoopback } from './host-names.js';
import { internalError } from './http-error.js';
import { resolveLimits, type ServeLimits } from './limits.js';
import { BodyBudget } from './read-json.js';
import type { QueueOptions } from './request-queue.js';
import { type ModelSource, ServedModel } from './served-model.js';
import { ServerMetrics } from './server-metrics.js';

export interface ServeOptions {
  readonly models: readonly ModelSource[];
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Default 8080; 0: any free port. */
  readonly port?: number;
  /** Required unless the host is a loopback address. */
  readonly token?: string | null;
  /** Origins whose web pages may ask. Default: none. */
  readonly corsOrigins?: readonly string[];
  readonly limits?: Partial<ServeLimits>;
  /** Milliseconds between looks for newer models, at most a day; 0: never. Default 5,000. */
  readonly reloadEvery?: number;
  /** Version of the package, for descriptions. */
  readonly version?: string;
  /** Told the address before models are opened, which takes long if streams are replayed. Only health and metrics are answered then. */
  readonly onListen?: (url: string) => void;
  readonly onRequest?: (request: RequestRecord) => void;
  readonly onReload?: (reload: { readonly model: string; readonly version: number }) => void;
  /** Told about errors that are not a client's fault. */
  readonly onError?: (error: unknown) => void;
}

export interface RunningServer {
  readonly url: string;
  readonly models: readonly ServedModel[];
  close(): Promise<void>;
}

export async function serve(options: ServeOptions): Promise<RunningServer> {
  checkOptionNames('serve', options, {
    ...{ models: true, host: true, port: true, token: true, corsOrigins: true, limits: true },
    ...{ reloadEvery: true, version: true, onListen: true },
    ...{ onRequest: true, onReload: true, onError: true },
  });
  const { host = '127.0.0.1', port = 8080, token = null, reloadEvery = 5000, onError = () => {} } = options;
  const limits = resolveLimits(options.limits);
  checkInteger('serve', 'port', port, 0, 65_535);
  // Timers of more than 2^31 ms would fire at once.
  checkNumber('serve', 'reloadEvery', reloadEvery, 0, 86_400_000);
  for (const origin of options.corsOrigins ?? []) checkOrigin(origin);
  if (token === null && !isLoopback(host))
    throw new ValueError(
      `serve: expected a token for a host that other machines reach, got ${host} without one. Pass --token-file or set SKEIN_TOKEN.`,
    );
  if (token !== null && token.length < 16)
    throw new ValueError('serve: expected a token of at least 16 characters, got a shorter one.');
  const models: ServedModel[] = [];
  const metrics = new ServerMetrics(
    () => models,
    () => state.inFlight,
  );
  const state: ServerState = {
    ...{ models, limits, metrics, budget: new BodyBudget(limits.maxBodies), version: options.version ?? '' },
    ...{ isOpening: true, isStopping: false, inFlight: 0 },
  };
  const hosts: string[] = [];
  const makeApp = () => serverApp({ ...options, state, hosts, token });
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
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${actual}`;
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
  const stopReloads = watchModels(models, reloadEvery, options, metrics);
  const close = async (): Promise<void> => {
    state.isStopping = true;
    stopReloads();
    await drain(server, limits.drainTimeout);
    await closeModels();
  };
  let closing: Promise<void> | null = null;
  return {
    ...{ url, models },
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}

/** Throws unless a text is an origin as browsers send it: another spelling would never be equal to one. */
function checkOrigin(origin: unknown): void {
  if (
    typeof origin === 'string' &&
    /^[a-z][a-z0-9+.-]*:\/\/[^/?#@\s*]+$/.test(origin) &&
    URL.canParse(origin)
  ) {
    if (!/^https?:/.test(origin) || new URL(origin).origin === origin) return;
  }
  throw new ValueError(expected('serve', 'an origin such as https://example.org', 'corsOrigins', origin));
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
      reject(
        new StateError(
          `serve: expected a free port, got ${host}:${port} (${error.code}). Choose another with --port.`,
        ),
      ),
    );
    server.listen(port, host, () => resolve(server));
  });
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
