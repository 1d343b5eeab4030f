/**
 * Starts test workers under mpirun and reads the JSON lines they print. A test that needs it says `describe.skipIf(!hasMpi)`.
 */
import type { ChildProcess } from 'node:child_process';
import { launch as launchFile } from './launch.js';

export { hasMpi, withoutMpi } from './launch.js';

export interface Line {
  readonly rank: number;
  readonly name?: string;
  readonly error?: string;
  readonly milliseconds?: number;
  readonly pid?: number;
}

export interface Job {
  readonly code: number | null;
  readonly lines: readonly Line[];
  readonly err: string;
  readonly seconds: number;
}

export interface LaunchOptions {
  /** Called with the lines so far whenever there are more. */
  onLines?(lines: readonly Line[], launcher: ChildProcess): void;
  /** Seconds after which the job is killed. Default 200. */
  readonly limit?: number;
  readonly env?: NodeJS.ProcessEnv;
}

/** `command` is a worker of this folder and its arguments. */
export async function launch(
  ranks: number,
  command: readonly string[],
  options: LaunchOptions = {},
): Promise<Job> {
  const [worker, ...args] = command;
  const { onLines, limit = 200, env = {} } = options;
  const { code, out, err, seconds } = await launchFile(ranks, `test/dist/${worker}`, args, {
    limit,
    env,
    ...(onLines === undefined ? {} : { onOutput: (text, child) => onLines(linesOf(text), child) }),
  });
  return { code, lines: linesOf(out), err, seconds };
}

function linesOf(out: string): Line[] {
  return out
    .split('\n')
    .filter((line) => line.startsWith('{') && line.endsWith('}'))
    .map((line) => JSON.parse(line) as Line);
}
