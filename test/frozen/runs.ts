/** Runs the command line on every kind of run and returns the results in a form that does not depend on file formats. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { loadTensors } from 'skein/storage';
import { TableFiles } from '#internal/storage/table-files.js';
import type { TableManifest } from '#internal/storage/table-manifest.js';
import { launch } from '../dist/launch.js';
import { skein } from '../programs.js';

export interface Outcome {
  /** Mean loss of each epoch that was trained. */
  readonly losses: readonly number[];
  readonly validation: unknown;
  readonly test: unknown;
  /** Digest of every tensor of the model and of every column of its table. */
  readonly state: Readonly<Record<string, string>>;
}

interface Event {
  readonly event: string;
  readonly [key: string]: unknown;
}

/** Runs a command to its end and gives the JSON lines that it printed. */
export async function command(folder: string, workers: number, args: readonly string[]): Promise<Event[]> {
  const env = { ...process.env, SKEIN_THREADS: '1' };
  const { code, out, err } =
    workers === 1
      ? alone(folder, args, env)
      : await launch(workers, 'src/cli/main.ts', [...args, '--json'], { cwd: folder });
  if (code !== 0) throw new Error(`skein ${args.join(' ')}: exit code ${code}\n${err}`);
  return out
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Event);
}

function alone(cwd: string, args: readonly string[], env: NodeJS.ProcessEnv) {
  const done = spawnSync(process.execPath, [...skein, ...args, '--json'], { cwd, env, encoding: 'utf8' });
  return { code: done.status, out: done.stdout, err: done.stderr };
}

export async function outcome(directory: string, events: readonly Event[]): Promise<Outcome> {
  const done = events.find(({ event }) => event === 'done');
  return {
    losses: events.filter(({ event }) => event === 'epoch').map(({ loss }) => loss as number),
    validation: withoutTimes(done?.validation),
    test: withoutTimes(done?.test),
    state: await stateOf(directory),
  };
}

/** Figures of a result, without how long it took. */
function withoutTimes(metrics: unknown): unknown {
  if (typeof metrics !== 'object' || metrics === null) return metrics ?? null;
  return Object.fromEntries(Object.entries(metrics).filter(([name]) => !/second|per_/.test(name)));
}

async function stateOf(directory: string): Promise<Record<string, string>> {
  const { tensors, metadata } = await loadTensors(join(directory, 'model.safetensors'));
  const { extra } = JSON.parse(metadata['skein.checkpoint']) as {
    extra: { readonly state: { readonly table?: TableManifest | null } };
  };
  const { table = null } = extra.state;
  const found: Record<string, string> = {};
  for (const [name, { array }] of Object.entries(tensors)) found[name] = digest([array as Uint8Array]);
  if (table === null) return found;
  const files = await TableFiles.open(join(directory, 'table'), table);
  const parts = files.columns.map((): Uint8Array[] => []);
  for (let k = 0; k < files.layout.partitions; k++) {
    const rows = files.layout.rowsOf(k);
    const views = files.columns.map(
      ({ width, dtype }) => new Uint8Array(rows * width * (dtype === 'f32' ? 4 : 2)),
    );
    await files.readPartition(k, views);
    for (const [i, view] of views.entries()) parts[i].push(view);
  }
  for (const [i, { name }] of files.columns.entries()) found[`table.${name}`] = digest(parts[i]);
  return found;
}

function digest(views: readonly ArrayBufferView[]): string {
  const hash = createHash('sha256');
  for (const { buffer, byteOffset, byteLength } of views)
    hash.update(Buffer.from(buffer, byteOffset, byteLength));
  return hash.digest('hex').slice(0, 16);
}
