/** Starts workers of this folder under mpirun and reads the JSON lines they print. */
import { launch as launchFile } from '../launch.js';

export { hasMpi, withoutMpi } from '../launch.js';

export interface Line {
  readonly rank: number;
  readonly [field: string]: unknown;
}

export interface Job {
  readonly code: number | null;
  readonly lines: readonly Line[];
  readonly err: string;
}

/** @param worker a file of this folder. */
export async function launch(
  ranks: number,
  worker: string,
  args: readonly string[] = [],
  seconds = 170,
): Promise<Job> {
  const { code, out, err } = await launchFile(ranks, `test/dist/shards/${worker}`, args, { limit: seconds });
  const lines = out
    .split('\n')
    .filter((line) => line.startsWith('{') && line.endsWith('}'))
    .map((line) => JSON.parse(line) as Line);
  return { code, lines, err };
}
