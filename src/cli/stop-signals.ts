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

/**
 * Runs work that writes files under temporary names or opens packed models, and removes unfinished files and temporary
 * folders if it fails or is stopped.
 */
export function removingUnfinished<T>(work: () => Promise<T>): Promise<T> {
  return onStopSignals(endBySignal, work).finally(removeUnfinished);
}

/**
 * Runs a server until it ends: the first SIGINT or SIGTERM calls `stop`. A second one, and SIGHUP, end the process at once,
 * without its temporary folders; so does a signal for which `stop` returns false.
 */
export function untilStopSignal<T>(
  stop: (signal: NodeJS.Signals) => boolean,
  work: () => Promise<T>,
): Promise<T> {
  let isStopping = false;
  const handle = (signal: NodeJS.Signals): void => {
    if (signal === 'SIGHUP' || isStopping || !stop(signal)) endBySignal(signal);
    isStopping = true;
  };
  return onStopSignals(handle, work).finally(removeUnfinished);
}

/**
 * Runs work that ends when `stopped` resolves: at the first SIGINT or SIGTERM, or when the work calls `stop`. Later signals end
 * the process, as `untilStopSignal` says.
 */
export function untilStopped<T>(work: (stopped: Promise<void>, stop: () => void) => Promise<T>): Promise<T> {
  let stop = (): void => {};
  const stopped = new Promise<void>((resolve) => {
    stop = resolve;
  });
  const stopsInOrder = (): boolean => {
    stop();
    return true;
  };
  return untilStopSignal(stopsInOrder, () => work(stopped, stop));
}

function endBySignal(signal: NodeJS.Signals): void {
  removeUnfinished();
  // Ends by the signal itself, so that a shell sees it.
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
}
