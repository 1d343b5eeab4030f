/** The process that `preprocess` starts: receives one task, reports progress, sends the result and ends. */
import { SkeinError } from '../../util/errors.js';
import type { PrepareProgress } from './graph-source.js';
import { type PreprocessMessage, type PreprocessTask, peakRss, preprocessHere } from './preprocess.js';

const send = (message: PreprocessMessage): Promise<void> =>
  new Promise((done) => {
    process.send?.(message, undefined, undefined, () => done());
  });

/** Sends at most ten messages per second, and the last of each stage. */
let last = 0;
function report(progress: PrepareProgress): void {
  const now = performance.now();
  if (now - last < 100 && progress.done !== progress.total) return;
  last = now;
  void send({ progress });
}

process.once('message', async (task: PreprocessTask) => {
  // Ends with the parent process.
  process.once('disconnect', () => process.exit(1));
  try {
    const stats = await preprocessHere(task, report, (note) => void send({ note }));
    await send({ stats, peakRssBytes: peakRss() });
  } catch (caught) {
    const error = caught as Error;
    const details = error instanceof SkeinError ? { ...error.details } : {};
    await send({ error: { name: error.name, message: error.message, details, stack: error.stack ?? '' } });
  }
  process.removeAllListeners('disconnect');
  process.disconnect();
});
