/** Child processes of a benchmark: those that measure one case and print the result, and busy neighbours. */
import { type ChildProcess, spawn } from 'node:child_process';
import type { Measured } from './one-case.js';

export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** Runs a process that prints one line of JSON; rejects with its failure. */
export function measureIn({ file, args, env }: Command): Promise<Measured> {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
    const output: string[] = [];
    const errors: string[] = [];
    child.stdout.on('data', (data) => output.push(`${data}`));
    child.stderr.on('data', (data) => errors.push(`${data}`));
    child.on('error', reject);
    child.on('close', (code, signal) => {
      if (code !== 0) return reject(new Error(errorLine(errors.join('')) || `ended with ${code ?? signal}`));
      try {
        return resolve(JSON.parse(output.join('')) as Measured);
      } catch {
        return reject(new Error(`printed no result: ${output.join('').slice(0, 200)}`));
      }
    });
  });
}

/** Returns the line of a stack trace with the error message: first in JavaScript, last in Python. */
function errorLine(text: string): string {
  const lines = text.trim().split('\n');
  return lines.findLast((line) => /^\w*(Error|Exception|Warning)\b/.test(line)) ?? lines[lines.length - 1];
}

/** Keeps one core busy. It checks for its parent twice a second, so that no loop outlives the benchmark. */
const busyLoop = `
for (let parent = Number(process.argv[1]); process.ppid === parent; ) {
  const start = Date.now();
  while (Date.now() - start < 500);
}`;

export interface Neighbours {
  readonly loops: readonly ChildProcess[];
  stop(): void;
}

/** Starts `count` single-threaded loops, which the system may run on any core. */
export function startNeighbours(count: number): Neighbours {
  const loops = Array.from({ length: count }, () =>
    spawn(process.execPath, ['-e', busyLoop, `${process.pid}`], { stdio: 'ignore' }),
  );
  return {
    loops,
    stop: () => {
      for (const loop of loops) loop.kill('SIGKILL');
    },
  };
}
