/**
 * Time per stage of training, and spans for a trace. Stages are few and nest at most once, so sums per stage suffice.
 */
export interface StageSpan {
  readonly stage: string;
  /** Milliseconds, on the clock of `performance`. */
  readonly start: number;
  readonly duration: number;
}

export class StageTimings {
  readonly #seconds = new Map<string, number>();
  readonly #onSpan: ((span: StageSpan) => void) | null;

  constructor(onSpan: ((span: StageSpan) => void) | null = null) {
    this.#onSpan = onSpan;
  }

  time<T>(stage: string, work: () => T): T {
    const start = performance.now();
    try {
      return work();
    } finally {
      this.#add(stage, start);
    }
  }

  async timeAsync<T>(stage: string, work: () => Promise<T>): Promise<T> {
    const start = performance.now();
    try {
      return await work();
    } finally {
      this.#add(stage, start);
    }
  }

  /** Returns seconds per stage since the last call. */
  take(): Record<string, number> {
    const taken = Object.fromEntries(this.#seconds);
    this.#seconds.clear();
    return taken;
  }

  #add(stage: string, start: number): void {
    const duration = performance.now() - start;
    this.#seconds.set(stage, (this.#seconds.get(stage) ?? 0) + duration / 1000);
    this.#onSpan?.({ stage, start, duration });
  }
}

/** Measures nothing. */
export const noTimings: Pick<StageTimings, 'time' | 'timeAsync'> = {
  time: (_stage, work) => work(),
  timeAsync: (_stage, work) => work(),
};
