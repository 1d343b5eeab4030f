/** The program of a process that trains trials for a search with several jobs: a job in, its outcome out. */
import { runTrial, type TrialJob, type TrialOutcome } from './trial.js';

/** The answer to a job. */
export type TrialAnswer = TrialOutcome | { readonly kind: 'error'; readonly message: string };

process.on('message', (job: TrialJob) => {
  void answer(job).then((outcome) => process.send?.(outcome));
});

// The parent ended without ending this process, for example killed: a trial must not train on and hold its lock.
process.on('disconnect', () => process.exit());

async function answer(job: TrialJob): Promise<TrialAnswer> {
  try {
    return await runTrial(job);
  } catch (error) {
    return { kind: 'error', message: error instanceof Error ? error.message : String(error) };
  }
}
