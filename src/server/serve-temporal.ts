/**
 * `serveTemporal`: a trained temporal model behind HTTP. It listens on the loopback address by default. While no
 * request waits, received events are applied to the node memory, so that scores are current without a delay.
 */
import { hostname, networkInterfaces } from 'node:os';
import { serve } from '@hono/node-server';
import { StateError } from '../util/errors.js';
import { type TemporalAppOptions, temporalApp } from './temporal-app.js';

export interface ServeOptions extends Omit<TemporalAppOptions, 'hosts'> {
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** 0: any free port. */
  readonly port?: number;
}

export interface RunningServer {
  readonly url: string;
  close(): Promise<void>;
}

export async function serveTemporal({
  host = '127.0.0.1',
  port = 8080,
  ...options
}: ServeOptions): Promise<RunningServer> {
  const { scorer } = options;
  const hosts: string[] = [];
  const app = temporalApp({ ...options, hosts });
  const server = await new Promise<ReturnType<typeof serve>>((resolve, reject) => {
    const made = serve({ fetch: app.fetch, hostname: host, port }, () => resolve(made));
    made.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        new StateError(
          `serve: expected a free port, got ${host}:${port} (${error.code}). Choose another with --port.`,
        ),
      ),
    );
  });
  const address = server.address();
  const actual = typeof address === 'object' && address !== null ? address.port : port;
  const shown = host.includes(':') ? `[${host}]` : host;
  hosts.push(...hostNames(host, actual));
  // One batch at a time, so that a request never waits for more than one.
  const idle = setInterval(() => {
    try {
      scorer.advance(200);
    } catch {
      // The next request meets the same error and reports it.
    }
  }, 5);
  idle.unref();
  return {
    url: `http://${shown}:${actual}`,
    close: () =>
      new Promise((resolve, reject) => {
        clearInterval(idle);
        server.close((error) => (error === undefined || error === null ? resolve() : reject(error)));
        if ('closeAllConnections' in server) server.closeAllConnections();
      }),
  };
}

/**
 * Returns the Host headers of this server: its address; if it listens on all addresses, those of the machine and its
 * name.
 */
function hostNames(host: string, port: number): string[] {
  const isAllInterfaces = host === '0.0.0.0' || host === '::';
  const own = isAllInterfaces
    ? [
        hostname(),
        ...Object.values(networkInterfaces()).flatMap((list) => list?.map(({ address }) => address) ?? []),
      ]
    : [host];
  const names = [...own, 'localhost', '127.0.0.1']
    .map((name) => name.toLowerCase())
    .map((name) => (name.includes(':') ? `[${name}]` : name));
  // The default port is omitted from a Host header.
  return [...new Set(names.flatMap((name) => (port === 80 ? [name, `${name}:80`] : [`${name}:${port}`])))];
}
