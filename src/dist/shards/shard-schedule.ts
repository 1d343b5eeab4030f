/**
 * The order in which rows are exchanged. In round r a worker receives from worker rank − r and sends to worker rank +
 * r; a round is split into steps of at most `windowRows` rows, which bounds the memory in flight.
 *
 * A step is identified by its round and its chunk on both sides, and all workers process steps in this order; so a
 * worker that waits for a message waits for one whose sender is not behind it.
 */
import type { RowLink } from './row-link.js';

/** Rows start … end − 1 of those exchanged between this worker and another. */
export interface RowSpan {
  readonly worker: number;
  readonly start: number;
  readonly end: number;
}

export interface Step {
  /** Whether this is the first step of its round. */
  readonly first: boolean;
  readonly recv: RowSpan | null;
  readonly send: RowSpan | null;
}

export function makeSteps(link: RowLink, windowRows: number): Step[] {
  const { comm, indicesRequiredFromMe, sizesExpectedFromOthers } = link;
  const steps: Step[] = [];
  for (let round = 1; round < comm.size; round++) {
    const from = (comm.rank - round + comm.size) % comm.size;
    const to = (comm.rank + round) % comm.size;
    const [received, sent] = [sizesExpectedFromOthers[from], indicesRequiredFromMe[to].length];
    for (let start = 0; start < Math.max(received, sent); start += windowRows) {
      const rows = (worker: number, count: number): RowSpan | null =>
        start < count ? { worker, start, end: Math.min(count, start + windowRows) } : null;
      steps.push({ first: start === 0, recv: rows(from, received), send: rows(to, sent) });
    }
  }
  return steps;
}
