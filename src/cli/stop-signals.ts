/** What a command does when it is told to stop: by Ctrl+C, by the system, or because its terminal was closed. */
import { removeUnfinished } from '../data/prepare/unfinished-files.js';

const stopSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Runs `work`; `stop` hears of the signals that ask to end. */
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

/** Runs what writes files under temporary names: none of these stays when it fails or is told to stop. */
export function withoutLeftovers<T>(work: () => Promise<T>): Promise<T> {
  const stop = (signal: NodeJS.Signals): void => {
    removeUnfinished();
    // Ends as it would have without us, so that a shell sees the signal.
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  };
  return onStopSignals(stop, work).finally(removeUnfinished);
}
