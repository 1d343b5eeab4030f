/**
 * Runs the work of a command on all workers. An error that all ranks know of is reported once, by rank 0, and all ranks
 * end in order. An error of a single rank ends the job: every rank prints it as the reason.
 */
import type { WorkerGroup } from '../dist/index.js';
import { jsonLine } from '../train/run/output.js';

export async function runOnWorkers(
  group: WorkerGroup,
  json: boolean,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await group.run(work, (error) => {
      if (!group.isRoot || !json) return;
      const message = error instanceof Error ? error.message : String(error);
      process.stdout.write(jsonLine({ event: 'error', message }));
    });
  } catch (error) {
    if (group.size > 1) group.comm.close();
    // The launcher takes the exit code of rank 0.
    if (group.isRoot) throw error;
  }
}
