/**
 * In which order rows go round. In round r a worker receives from worker rank − r and sends to worker rank + r; a round is
 * cut into steps of at most `windowRows` rows, so that little memory is in flight however many rows two workers share.
 *
 * A step is known by its round and its piece on both sides, and all workers go through steps in this order; so a worker that
 * waits for a message waits for one whose sender is not behind it.
 */
import type { RowLink } from './row-link.js';

/** Rows start … end − 1 of those that travel between this worker and another. */
export interface RowsOf {
  readonly worker: number;
  readonly start: number;
  readonly end: number;
}

export interface Step {
  /** The first of its round. */
  readonly first: boolean;
  readonly recv: RowsOf | null;
  readonly send: RowsOf | null;
}

export function makeSteps(link: RowLink, windowRows: number): Step[] {
  const { comm, indicesRequiredFromMe, sizesExpectedFromOthers } = link;
  const steps: Step[] = [];
  for (let round = 1; round < comm.size; round++) {
    const from = (comm.rank - round + comm.size) % comm.size;
    const to = (comm.rank + round) % comm.size;
    const [received, sent] = [sizesExpectedFromOthers[from], indicesRequiredFromMe[to].length];
    for (let start = 0; start < Math.max(received, sent); start += windowRows) {
      const rows = (worker: number, count: number): RowsOf | null =>
        start < count ? { worker, start, end: Math.min(count, start + windowRows) } : null;
      steps.push({ first: start === 0, recv: rows(from, received), send: rows(to, sent) });
    }
  }
  return steps;
}
