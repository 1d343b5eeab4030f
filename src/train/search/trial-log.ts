/**
 * The log of a search, trials.jsonl: one line per event. All other state of a search follows from it and from the run
 * directories of the trials, so that a killed search resumes.
 */
import { appendFileSync, existsSync } from 'node:fs';
import { storageError } from '../../storage/atomic-file.js';
import { dropTornLine, readRecords } from '../run/metrics-file.js';
import { jsonLine } from '../run/output.js';
import type { TrialValues } from './space.js';

/** The setting of a round: how long a trial is trained, with how many columns, and on which core. */
export type TrialSetting = Pick<DoneTrial, 'epochs' | 'rank' | 'core'>;

/** The result of a trial after a round. */
export interface DoneTrial {
  readonly event: 'done';
  readonly trial: number;
  readonly round: number;
  readonly epochs: number;
  readonly rank: number | null;
  /** The core of the graph that was trained on; null: all of it. */
  readonly core: number | null;
  /** The best validation value so far, and its epoch. */
  readonly value: number;
  readonly epoch: number;
  /** Seconds of this round. */
  readonly seconds: number;
}

export type TrialEvent =
  | { readonly event: 'planned'; readonly trial: number; readonly values: TrialValues }
  | {
      readonly event: 'started';
      readonly trial: number;
      readonly round: number;
      readonly epochs: number;
      readonly rank: number | null;
      readonly core: number | null;
    }
  | DoneTrial
  | { readonly event: 'failed'; readonly trial: number; readonly round: number; readonly reason: string };

export const logFile = 'trials.jsonl';

export class TrialLog {
  readonly #path: string;
  readonly #events: TrialEvent[];

  /** Reads the log at `path`; a line that a killed process left incomplete is dropped. */
  constructor(path: string) {
    this.#path = path;
    dropTornLine(path);
    this.#events = existsSync(path) ? (readRecords(path) as unknown as TrialEvent[]) : [];
  }

  add(event: TrialEvent): void {
    try {
      appendFileSync(this.#path, jsonLine({ ...event }));
    } catch (error) {
      throw storageError('write', this.#path, error);
    }
    this.#events.push(event);
  }

  isPlanned(trial: number): boolean {
    return this.#events.some((one) => one.event === 'planned' && one.trial === trial);
  }

  /** Returns the reason why a trial failed; undefined if it did not. */
  failure(trial: number): string | undefined {
    const found = this.#events.find((one) => one.event === 'failed' && one.trial === trial);
    return found?.event === 'failed' ? found.reason : undefined;
  }

  /** Returns the result of a trial in a setting after at least these epochs, the fewest; undefined if there is none. */
  result(trial: number, { epochs, rank, core }: TrialSetting): DoneTrial | undefined {
    return this.#events
      .filter((one): one is DoneTrial => one.event === 'done' && one.trial === trial)
      .filter((one) => one.rank === rank && one.core === core && one.epochs >= epochs)
      .sort((a, b) => a.epochs - b.epochs)[0];
  }
}
