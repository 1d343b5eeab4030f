/** The work of `skein ui`: serves the page for runs until a signal. */
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { isEveryAddress, isLoopback, reachableHost } from '../server/host-names.js';
import { modelSource, type RunningServer, serve } from '../server/index.js';
import { RunCatalog } from '../server/runs/run-catalog.js';
import { Output } from '../train/index.js';
import { SkeinError } from '../util/errors.js';
import type { PluginOptions } from './options/options.js';
import { readToken } from './read-token.js';
import { untilStopped } from './stop-signals.js';
import { version } from './version.js';

export interface UiCommand extends PluginOptions {
  readonly host: string;
  readonly port: number;
  readonly tokenFile?: string;
  readonly basePath: string;
  readonly json: boolean;
}

export async function uiCommand(paths: readonly string[], command: UiCommand): Promise<void> {
  await untilStopped((stopped, stop) => {
    // The page of a run that trains ends with the process that trains it.
    if (process.connected) process.once('disconnect', stop);
    return showUntil(stopped, paths, command);
  });
}

async function showUntil(
  stopped: Promise<void>,
  paths: readonly string[],
  command: UiCommand,
): Promise<void> {
  const { host, port, json, plugin: plugins, basePath, tokenFile } = command;
  const output = new Output({ json });
  // Other machines need a token; without a given one the link brings a random one.
  const given = readToken('ui', tokenFile);
  const token = given ?? (isLoopback(host) ? null : randomBytes(24).toString('hex'));
  const { server, runs } = await openPage(paths, { host, port, token, plugins, basePath, output });
  const count = runs.list().length;
  output.text(
    count === 0
      ? `No runs yet in ${runs.roots.join(', ')}. They appear when training begins.`
      : `${count} ${count === 1 ? 'run' : 'runs'} in ${runs.roots.join(', ')}`,
  );
  output.text(
    token === null
      ? `Open ${server.pageLink()}`
      : `Open ${server.pageLink()}\nThe link works once, within 15 minutes.`,
  );
  if (isEveryAddress(host))
    output.text(
      `On other machines, use the name of this machine (${hostname()}) instead of ${reachableHost(host)}.`,
    );
  output.event('listening', { url: server.url, link: server.pageLink(), runs: count });
  await stopped;
  await server.close();
  output.event('done', {});
}

export interface PageOptions {
  readonly port: number;
  readonly output: Output;
  readonly host?: string;
  readonly token?: string | null;
  readonly plugins?: readonly string[];
  readonly basePath?: string;
}

/** Serves the page for runs. @param paths runs, or folders with runs; none: the current folder */
export async function openPage(
  paths: readonly string[],
  { port, output, host = '127.0.0.1', token = null, plugins = [], basePath = '' }: PageOptions,
): Promise<{ readonly server: RunningServer; readonly runs: RunCatalog }> {
  const runs = new RunCatalog(paths.length === 0 ? ['.'] : paths);
  const onError = (error: unknown): void =>
    output.warn(error instanceof Error ? error.message : String(error));
  const server = await serve({
    models: [],
    ...{ host, port, token, version, onError, runs },
    basePath: basePath.replace(/\/$/, ''),
    openRun: (run) =>
      modelSource(run, { command: 'ui', plugins, onError, onWarning: (message) => output.warn(message) }),
    reloadEvery: 0,
  }).catch((error: unknown) => {
    if (error instanceof SkeinError) error.message = error.message.replace(/^serve:/, 'ui:');
    throw error;
  });
  return { server, runs };
}
