/** Helpers of the project's scripts: the checkout's root, running a program, and one line with a duration per step. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** Absolute path of the checkout, without a slash at the end. */
export const root = fileURLToPath(new URL('..', import.meta.url)).replace(/[\\/]$/, '');

/** An unsuitable machine or a failed program, described in one sentence; callers print it without a stack trace. */
export class StepError extends Error {
  constructor(message, exitCode = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** Duration since `start` (from `performance.now()`), such as `1.2 s`. */
export function since(start) {
  return `${((performance.now() - start) / 1000).toFixed(1)} s`;
}

/**
 * Runs a program in the checkout. `show` passes its output through; otherwise its output is returned in `output` (and
 * standard output alone in `stdout`), unless `stdio` redirects it.
 * A program that cannot be started has code 127.
 */
export function run(
  command,
  args,
  { show = false, env = {}, cwd = root, stdio = show ? 'inherit' : ['ignore', 'pipe', 'pipe'] } = {},
) {
  const options = { cwd, encoding: 'utf8', stdio, env: { ...process.env, ...env }, maxBuffer: 1 << 28 };
  const done = spawnSync(command, args, options);
  const output = done.error ? done.error.message : `${done.stdout ?? ''}${done.stderr ?? ''}`;
  return {
    code: done.status ?? (done.error ? 127 : 1),
    signal: done.signal,
    output,
    stdout: done.stdout ?? '',
  };
}

/** Returns the last lines of a program's output, indented for the message of a failure. */
export function tail(output, lines = 20) {
  return output
    .trimEnd()
    .split('\n')
    .slice(-lines)
    .map((line) => `    ${line}`)
    .join('\n');
}

/** Runs a script's main function; a StepError becomes one message on stderr and its exit code. */
export async function main(name, body) {
  try {
    await body();
  } catch (error) {
    if (!(error instanceof StepError)) throw error;
    console.error(`${name}: ${error.message}`);
    process.exitCode = error.exitCode;
  }
}
