/** The result of one check of `skein doctor`, and child processes for probes that may hang or crash. */
import { spawn } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** `missing`: an optional component is not installed. `problem`: a component does not work, or a required one is missing. */
export type CheckState = 'ok' | 'missing' | 'problem';

export interface Check {
  readonly name: string;
  readonly state: CheckState;
  /** Description of the finding. */
  readonly found: string;
  /** Command or advice that fixes it. */
  readonly fix?: string;
  /** Whether Skein cannot work while this is a problem. */
  readonly needed?: boolean;
  readonly details?: Readonly<Record<string, unknown>>;
}

export interface Finished {
  /** null if a signal ended it or it could not be started. */
  readonly code: number | null;
  readonly signal: string | null;
  readonly timedOut: boolean;
  readonly out: string;
  readonly err: string;
}

/** Children start here, since the working directory may no longer exist. */
const packageRoot = fileURLToPath(new URL('../../..', import.meta.url));

/** Runs a program to its end or its time limit; never rejects. */
export function runLimited(
  program: string,
  args: readonly string[],
  seconds: number,
  env: Readonly<Record<string, string>> = {},
): Promise<Finished> {
  return new Promise((resolve) => {
    let [out, err, timedOut] = ['', '', false];
    const child = spawn(program, args, {
      cwd: packageRoot,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const timer = setTimeout(() => {
      timedOut = true;
      child.kill('SIGKILL');
      // A grandchild may hold the pipes open; do not wait for it.
      child.stdout.destroy();
      child.stderr.destroy();
    }, seconds * 1000);
    child.stdout.on('data', (text) => {
      out += text;
    });
    child.stderr.on('data', (text) => {
      err += text;
    });
    const end = (code: number | null, signal: string | null, message = ''): void => {
      clearTimeout(timer);
      resolve({ code, signal, timedOut, out, err: message === '' ? err : message });
    };
    child.on('error', (error) => end(null, null, error.message));
    child.on('close', (code, signal) => end(code, signal));
  });
}

/**
 * Runs a probe of probe-child.ts in a child process, so that a driver or an addon that crashes or hangs does not end the
 * doctor. Returns a failure as text.
 */
export async function runProbe(
  probe: string,
  seconds = 30,
  env: Readonly<Record<string, string>> = {},
): Promise<Record<string, unknown> | string> {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  const script = fileURLToPath(new URL(`./probe-child.${extension}`, import.meta.url));
  const done = await runLimited(process.execPath, [...process.execArgv, script, probe], seconds, env);
  if (done.timedOut) return `did not respond within ${seconds} s`;
  const line = done.out.split('\n').find((text) => text.startsWith('{'));
  if (line !== undefined) {
    const answer = JSON.parse(line) as Record<string, unknown>;
    return typeof answer['failure'] === 'string' ? answer['failure'] : answer;
  }
  if (done.signal !== null) return `ended with ${done.signal}`;
  const last = done.err.trimEnd().split('\n').at(-1) ?? '';
  return last === '' ? `ended with exit code ${done.code}` : last;
}

/** Returns the path of a program, found as a shell would find it; null if there is none. */
export function findProgram(name: string): string | null {
  const suffixes = process.platform === 'win32' ? ['.exe', '.cmd', '.bat'] : [''];
  const candidates = /[/\\]/.test(name)
    ? [name]
    : (process.env['PATH'] ?? '')
        .split(delimiter)
        .flatMap((folder) => suffixes.map((end) => join(folder || '.', name + end)));
  for (const path of candidates) {
    try {
      accessSync(path, constants.X_OK);
      if (statSync(path).isFile()) return path;
    } catch {
      // Not here.
    }
  }
  return null;
}
