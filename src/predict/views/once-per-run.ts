/** Keeps what is computed from the dataset of a run, which does not change while the run is open. */
import type { OpenedGraphRun } from '../../train/index.js';

/** Returns a function that builds a value once for each run. */
export function oncePerRun<T>(
  build: (run: OpenedGraphRun) => Promise<T>,
): (run: OpenedGraphRun) => Promise<T> {
  const values = new WeakMap<OpenedGraphRun, Promise<T>>();
  return (run) => {
    const known = values.get(run);
    if (known !== undefined) return known;
    const value = build(run);
    values.set(run, value);
    // A file that could not be read is read again by the next call.
    value.catch(() => values.delete(run));
    return value;
  };
}
