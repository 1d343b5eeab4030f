/** The work of `skein serve`: opens runs, serves them until a signal, then lets requests finish. */
import { join } from 'node:path';
import type { NewNodesRule, StreamOptions, StreamSource } from '../predict/index.js';
import { runPath } from '../predict/open-model.js';
import { DurableStream } from '../predict/stream/durable-stream.js';
import type { RunList } from '../server/app.js';
import { modelSource, parseRunPaths, type RunningServer, type RunPath, serve } from '../server/index.js';
import { isRunDirectory } from '../train/find-run.js';
import { Output } from '../train/index.js';
import { checkNumber, ValueError } from '../util/errors.js';
import { runAll } from '../util/run-all.js';
import type { PluginOptions } from './options/options.js';
import { readToken } from './read-token.js';
import { untilStopSignal } from './stop-signals.js';
import { parseSourceFields, parseStreamSource } from './stream-source.js';
import { version } from './version.js';

export interface ServeCommand extends PluginOptions {
  readonly host: string;
  readonly port: number;
  readonly tokenFile?: string;
  readonly corsOrigin: readonly string[];
  readonly reload: number;
  readonly basePath: string;
  readonly state?: string;
  readonly lateness?: number;
  readonly late?: 'drop' | 'side' | 'apply';
  readonly maxFuture?: number;
  readonly newNodes?: NewNodesRule;
  readonly source?: string;
  readonly sourceFields?: string;
  readonly json: boolean;
}

export async function serveCommand(given: readonly string[], command: ServeCommand): Promise<void> {
  let stop = (_: NodeJS.Signals): void => {};
  const stopped = new Promise<NodeJS.Signals>((resolve) => {
    stop = resolve;
  });
  const stopsInOrder = (signal: NodeJS.Signals): boolean => {
    stop(signal);
    return true;
  };
  await untilStopSignal(stopsInOrder, () => serveUntil(stopped, given, command));
}

async function serveUntil(
  stopped: Promise<NodeJS.Signals>,
  given: readonly string[],
  command: ServeCommand,
): Promise<void> {
  const { host, port, reload, json, plugin: plugins, corsOrigin: corsOrigins, basePath } = command;
  const output = new Output({ json });
  const runs = parseRunPaths('serve', given);
  const token = readToken('serve', command.tokenFile);
  checkNumber('serve', '--reload', reload, 0, 86_400);
  const fields = parseSourceFields(command.sourceFields ?? '');
  const startSource = command.source === undefined ? null : parseStreamSource(command.source, fields);
  const onError = (error: unknown): void => {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    output.warn(text);
    output.event('failure', { message: error instanceof Error ? error.message : text });
  };
  const onWarning = (message: string): void => output.warn(message);
  const opening = output.stage(`opening ${given.join(', ')}`, { plain: false });
  // Models of some seconds are open before anyone asks; only longer waits are worth a line.
  let slow: NodeJS.Timeout | undefined;
  const server = await serve({
    models: runs.map((run) =>
      modelSource(run, {
        ...{ command: 'serve', plugins, onWarning, onError },
        ...streamOptions(command, runs.length === 1 ? '' : run.name),
      }),
    ),
    ...{ host, port, token, corsOrigins, version, onError, reloadEvery: reload * 1000 },
    ...{ basePath: basePath.replace(/\/$/, ''), runs: servedRuns(runs) },
    ...(json ? { onRequest: (request) => output.event('request', { ...request }) } : {}),
    onListen: (url) => {
      output.event('opening', { url });
      slow = setTimeout(
        () => output.text(`Opening ${given.join(', ')}: ${url}/health/live answers, questions have to wait`),
        3000,
      );
    },
    onReload: ({ model, version: number }) => {
      output.text(`${model}: took over a newer model (version ${number})`);
      output.event('reload', { model, version: number });
    },
  }).finally(() => clearTimeout(slow));
  opening.end();
  if (command.state !== undefined) await checkStreams(server);
  const stream = startSource === null ? null : await onlyStream(server);
  for (const { name, predictor } of server.models)
    output.text(`${name}: a model of ${predictor.kind}, answers ${predictor.answers.join(', ')}`);
  output.text(`Listening on ${server.url}${basePath}${token === null ? '' : ', with a token'}`);
  output.text(
    `Page: ${server.pageLink()}${token === null ? '' : ' (the link works once, within 15 minutes)'}`,
  );
  output.event('listening', { url: server.url, models: server.models.map(({ description }) => description) });
  const source = startSource === null || stream === null ? null : startSource(stream);
  if (source !== null) reportEnd(source, output);
  // A source that fails ends the server, so that its supervisor starts it again behind the last event of the log.
  const failed = source?.done.then(() => new Promise<never>(() => {}));
  const [signal, failure] = await Promise.race([
    stopped.then((name) => [name, null] as const),
    (failed ?? new Promise<never>(() => {})).catch((error: unknown) => ['source', error] as const),
  ]);
  output.text('Stopping: no new requests are taken, running ones finish.');
  output.event('stopping', { signal });
  await runAll([async () => (failure === null ? source?.stop() : undefined), () => server.close()]);
  if (failure !== null) throw failure;
  output.event('done', {});
}

/** Returns the served runs as those of the page; a packed model is unpacked elsewhere and has no curves to show. */
function servedRuns(runs: readonly RunPath[]): RunList {
  const shown = runs
    .map(({ name, path }) => ({ name, path: runPath(path) }))
    .filter(({ path }) => isRunDirectory(path));
  return { roots: [], list: () => shown, find: (name) => shown.find((run) => run.name === name) };
}

/** Returns the stream that takes events of `--source`; closes the server if it has none or several. */
async function onlyStream({ models, close }: RunningServer): Promise<DurableStream> {
  const streams = models.map(({ predictor }) => predictor).filter((one) => one instanceof DurableStream);
  if (streams.length === 1) return streams[0];
  await close();
  throw new ValueError(
    `serve: expected one model of events with --source, got ${streams.length}. Serve each stream with a process of its own.`,
  );
}

/** Throws if `--state` would be ignored because no model has events; closes the server before. */
async function checkStreams({ models, close }: RunningServer): Promise<void> {
  if (models.some(({ predictor }) => predictor instanceof DurableStream)) return;
  await close();
  throw new ValueError(
    `serve: expected a model of events with --state, got models of ${[...new Set(models.map(({ predictor }) => predictor.kind))].join(' and ')}. Leave --state out.`,
  );
}

function reportEnd({ name, done }: StreamSource, output: Output): void {
  output.text(`Events from ${name}`);
  output.event('source', { name });
  done.then(
    () => output.event('source_end', { name }),
    // The caller waits for `done` as well, and fails with its error.
    () => undefined,
  );
}

/** Returns how events are kept. Several runs have a folder each inside `--state`. */
function streamOptions(
  { state, lateness, late, maxFuture, newNodes, source }: ServeCommand,
  folder: string,
): { readonly stream?: StreamOptions } {
  const given = Object.entries({ lateness, late, maxFuture, newNodes }).filter(
    ([, value]) => value !== undefined,
  );
  if (state === undefined) {
    if (given.length === 0 && source === undefined) return {};
    const option = (given[0]?.[0] ?? 'source').replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    throw new ValueError(
      `serve: expected --state with --${option}, got none. Without it events are kept in memory only.`,
    );
  }
  return { stream: { state: join(state, folder), ...Object.fromEntries(given) } };
}
