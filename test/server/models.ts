/** Small trained runs of each kind, made once per process, and servers over them. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fitEvents, fitLinks, fitNodes } from 'skein/predict';
import {
  type ModelSourceOptions,
  modelSource,
  type RunningServer,
  type ServeOptions,
  serve,
} from '#internal/server/index.js';

export type Kind = 'links' | 'nodes' | 'events';

let folder: string | null = null;
const made = new Map<Kind, Promise<string>>();

/** Returns a directory that the end of the process deletes. */
export function scratch(): string {
  if (folder === null) {
    const created = mkdtempSync(join(tmpdir(), 'skein-server-'));
    folder = created;
    process.once('exit', () => rmSync(created, { recursive: true, force: true }));
  }
  return folder;
}

const people = Array.from({ length: 24 }, (_, i) => `p${i}`);

/** Trains into `directory`: 24 people in 3 teams who know each other; customers in 2 segments; a stream of 120 events. */
async function trainInto(kind: Kind, directory: string, seed = 1): Promise<void> {
  const model = await fit(kind, directory, seed);
  await model.close();
}

function fit(kind: Kind, directory: string, seed: number): Promise<{ close(): Promise<void> }> {
  if (kind === 'links') {
    const rows = people.flatMap((name, i) => [
      [name, 'works in', `team${i % 3}`] as const,
      [name, 'knows', people[(i + 3) % 24]] as const,
      [name, 'knows', people[(i + 6) % 24]] as const,
    ]);
    return fitLinks(rows, { directory, seed, epochs: 4 });
  }
  if (kind === 'nodes') {
    const nodes = people.map((id, i) => ({
      ...{ id, age: 20 + (i % 2) * 30, plan: ['free', 'team'][i % 2] },
      segment: ['casual', 'business'][i % 2],
    }));
    const edges = people.map((name, i) => [name, people[(i + 2) % 24]] as const);
    return fitNodes({ nodes, edges }, { label: 'segment', directory, seed, epochs: 4 });
  }
  const rows = Array.from(
    { length: 120 },
    (_, i) => [`u${i % 6}`, `i${(i * 5) % 8}`, 1_700_000_000 + 60 * i] as const,
  );
  return fitEvents(rows, { directory, seed, epochs: 1 });
}

/** The time of the last event of the stream. */
export const lastTime = 1_700_000_000 + 60 * 119;

/** Returns the directory of a run of this kind, as `fitLinks` and its siblings make it. */
export function runOf(kind: Kind): Promise<string> {
  const known = made.get(kind);
  if (known !== undefined) return known;
  const directory = join(scratch(), kind);
  const run = trainInto(kind, directory).then(() => directory);
  made.set(kind, run);
  return run;
}

/** An answer of a server. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every form
  readonly body: any;
}

export interface TestServer extends RunningServer {
  /** Posts a body, or gets without one. */
  ask(path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
}

const running: RunningServer[] = [];

/** Serves runs by name on a free port. */
export async function start(
  runs: Readonly<Record<string, string>>,
  options: Partial<ServeOptions> = {},
  open: Partial<ModelSourceOptions> = {},
): Promise<TestServer> {
  const models = Object.entries(runs).map(([name, path]) =>
    modelSource({ name, path }, { command: 'serve', ...open }),
  );
  return startModels({ models, ...options });
}

/** Serves given models on a free port. */
export async function startModels(options: ServeOptions): Promise<TestServer> {
  const server = await serve({ port: 0, reloadEvery: 0, version: '0.0.0', ...options });
  running.push(server);
  const ask = async (path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> => {
    const answer = await fetch(`${server.url}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await answer.text();
    const isJson = answer.headers.get('content-type')?.includes('json') === true;
    return { status: answer.status, headers: answer.headers, body: isJson ? JSON.parse(text) : text };
  };
  return { ...server, ask };
}

/** Serves one run of a kind under the name of the kind. */
export async function startKind(kind: Kind, options: Partial<ServeOptions> = {}): Promise<TestServer> {
  return start({ [kind]: await runOf(kind) }, options);
}

/** Closes every server that tests started. */
export async function closeAll(): Promise<void> {
  for (const server of running.splice(0)) await server.close();
}
