/**
 * How a command of several workers ends. An error that all ranks know of is told once, by rank 0, and all end in order. One
 * rank's own error ends the job: that rank and all others print it as the reason.
 */
import type { WorkerGroup } from '../dist/index.js';
import { jsonLine } from '../train/run/output.js';

export async function endTogether(
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
