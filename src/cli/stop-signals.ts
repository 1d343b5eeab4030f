/** Handles requests to stop: Ctrl+C, SIGTERM, and the hang-up of the terminal. */
import { removeUnfinished } from '../data/prepare/unfinished-files.js';

const stopSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Runs `work` and calls `stop` on each signal that requests an end. */
export async function onStopSignals<T>(
  stop: (signal: NodeJS.Signals) => void,
  work: () => Promise<T>,
): Promise<T> {
  for (const signal of stopSignals) process.on(signal, stop);
  try {
    return await work();
  } finally {
    for (const signal of stopSignals) process.off(signal, stop);
  }
}

/** Runs work that writes files under temporary names, and removes unfinished ones if it fails or is stopped. */
export function removingUnfinished<T>(work: () => Promise<T>): Promise<T> {
  const stop = (signal: NodeJS.Signals): void => {
    removeUnfinished();
    // Ends by the signal itself, so that a shell sees it.
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  };
  return onStopSignals(stop, work).finally(removeUnfinished);
}
