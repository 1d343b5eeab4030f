/** Options of `serve`, and what they may be. */
import { checkInteger, checkNumber, expected, ValueError } from '../util/errors.js';
import { checkOptionNames } from '../util/option-names.js';
import type { RequestRecord, RunList } from './app.js';
import { isLoopback } from './host-names.js';
import { resolveLimits, type ServeLimits } from './limits.js';
import type { CatalogRun } from './runs/run-catalog.js';
import type { ModelSource } from './served-model.js';

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
  /** The path below which a proxy shows the server, such as `/skein`. Default: its root. */
  readonly basePath?: string;
  /** Runs that the page shows. Default: none. */
  readonly runs?: RunList;
  /** Opens a run of `runs` at the first question about it; without it only `models` answer. */
  readonly openRun?: (run: CatalogRun) => ModelSource;
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

const noRuns: RunList = { roots: [], list: () => [], find: () => undefined };

/** Returns the options with their defaults; throws for wrong ones. */
export function checkServeOptions(options: ServeOptions) {
  checkOptionNames('serve', options, {
    ...{ models: true, host: true, port: true, token: true, corsOrigins: true, limits: true },
    ...{ reloadEvery: true, version: true, onListen: true, basePath: true, runs: true, openRun: true },
    ...{ onRequest: true, onReload: true, onError: true },
  });
  const { host = '127.0.0.1', port = 8080, token = null, reloadEvery = 5000, onError = () => {} } = options;
  const { basePath = '', runs = noRuns } = options;
  const limits = resolveLimits(options.limits);
  checkInteger('serve', 'port', port, 0, 65_535);
  // Timers of more than 2^31 ms would fire at once.
  checkNumber('serve', 'reloadEvery', reloadEvery, 0, 86_400_000);
  for (const origin of options.corsOrigins ?? []) checkOrigin(origin);
  checkBasePath(basePath);
  if (token === null && !isLoopback(host))
    throw new ValueError(
      `serve: expected a token for a host that other machines reach, got ${host} without one. Pass --token-file or set SKEIN_TOKEN.`,
    );
  if (token !== null && token.length < 16)
    throw new ValueError('serve: expected a token of at least 16 characters, got a shorter one.');
  return { host, port, token, reloadEvery, onError, basePath, runs, limits };
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

/** Throws unless a text is the beginning of paths. */
function checkBasePath(path: unknown): void {
  if (path === '' || (typeof path === 'string' && /^(\/[\w.~-]+)+$/.test(path) && !path.includes('/.')))
    return;
  throw new ValueError(
    expected('serve', 'a path such as /skein, without a slash at its end', 'basePath', path),
  );
}
