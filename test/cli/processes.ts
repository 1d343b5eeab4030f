/** Commands as processes: through a shell, on a terminal of a given width, with files that they can train on. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { skein as main } from '../programs.js';

/** The command line that starts Skein, for a shell. */
export const skein = `'${process.execPath}' '${main[0]}'`;

export interface Result {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** A line of bash, with pipefail off. */
export function shell(line: string, cwd: string, env: NodeJS.ProcessEnv = {}): Result {
  const done = spawnSync('bash', ['-c', line], {
    cwd,
    encoding: 'utf8',
    timeout: 240_000,
    env: { ...process.env, SKEIN_THREADS: '1', FORCE_COLOR: undefined, NO_COLOR: undefined, ...env },
  });
  return { code: done.status, out: done.stdout, err: done.stderr };
}

export const hasScript = spawnSync('script', ['--version']).status === 0;

/** A line of bash on a terminal; `out` is all that was written to it. */
export function onTerminal(line: string, cwd: string, columns: number, env: NodeJS.ProcessEnv = {}): Result {
  const sized = `stty columns ${columns} rows 24; ${line}`;
  return shell(`script -qec "$LINE" /dev/null`, cwd, {
    TERM: 'xterm-256color',
    LANG: 'C.UTF-8',
    ...env,
    LINE: sized,
  });
}

/** A folder that is removed after the tests. */
export function workFolder(): string {
  const path = mkdtempSync(join(tmpdir(), 'skein-cli-'));
  afterAll(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** facts.tsv, prepared as facts/, and facts.yaml, which trains a small table on it: many edges, so that an epoch takes a moment. */
export function prepareFacts(folder: string, edges = 4000): void {
  mkdirSync(folder, { recursive: true });
  // Any numbers, but the same each time.
  const lines = Array.from(
    { length: edges },
    (_, i) => `n${(i * 7919) % 997}\tr${i % 3}\tn${(i * 104_729) % 991}`,
  );
  writeFileSync(join(folder, 'facts.tsv'), `${lines.join('\n')}\n`);
  const { code, err } = shell(
    `${skein} preprocess --edges facts.tsv --output-directory facts --dataset-split 0.9 0.05 0.05 && ${skein} config facts --training.form=NEGATIVES '--model.encoder.layers[0][0].output_dim=50' > facts.yaml`,
    folder,
  );
  if (code !== 0) throw new Error(err);
}
