/** What `skein doctor` finds out about one thing, and how probes are kept from hanging or taking the program with them. */
import { spawn } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** `missing`: something optional is not there. `problem`: it is there, or should be, and does not work. */
export type CheckState = 'ok' | 'missing' | 'problem';

export interface Check {
  readonly name: string;
  readonly state: CheckState;
  /** What was found, in words. */
  readonly found: string;
  /** The command, or the words, that mend it. */
  readonly fix?: string;
  /** Whether Skein cannot work while this is a problem. */
  readonly needed?: boolean;
  readonly details?: Readonly<Record<string, unknown>>;
}

export interface Finished {
  /** null: a signal ended it, or it could not be started. */
  readonly code: number | null;
  readonly signal: string | null;
  readonly timedOut: boolean;
  readonly out: string;
  readonly err: string;
}

/** Children start here: the working directory may be gone. */
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
      // A grandchild may hold the pipes open; nobody waits for it.
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
 * What a probe of probe-child.ts answers, asked in a process of its own: a driver or an addon that crashes or hangs must
 * not end the doctor. A failure is told as text.
 */
export async function askChild(
  probe: string,
  seconds = 30,
  env: Readonly<Record<string, string>> = {},
): Promise<Record<string, unknown> | string> {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  const script = fileURLToPath(new URL(`./probe-child.${extension}`, import.meta.url));
  const done = await runLimited(process.execPath, [...process.execArgv, script, probe], seconds, env);
  if (done.timedOut) return `gave no answer within ${seconds} s`;
  const line = done.out.split('\n').find((text) => text.startsWith('{'));
  if (line !== undefined) {
    const answer = JSON.parse(line) as Record<string, unknown>;
    return typeof answer['failure'] === 'string' ? answer['failure'] : answer;
  }
  if (done.signal !== null) return `ended with ${done.signal}`;
  const last = done.err.trimEnd().split('\n').at(-1) ?? '';
  return last === '' ? `ended with exit code ${done.code}` : last;
}

/** The path of a program, found as a shell would find it; null when there is none. */
export function findProgram(name: string): string | null {
  const suffixes = process.platform === 'win32' ? ['.exe', '.cmd', '.bat'] : [''];
  const places = /[/\\]/.test(name)
    ? [name]
    : (process.env['PATH'] ?? '')
        .split(delimiter)
        .flatMap((folder) => suffixes.map((end) => join(folder || '.', name + end)));
  for (const path of places) {
    try {
      accessSync(path, constants.X_OK);
      if (statSync(path).isFile()) return path;
    } catch {
      // Not here.
    }
  }
  return null;
}
