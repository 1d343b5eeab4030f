/** Divides long work into slices, between which a program or a server does other work. */

/** Milliseconds of a slice. */
const slice = 10;
/** Cheap items, such as numbers that are read, that a loop handles between two looks at the clock. */
export const atOnce = 16_384;

export class Pace {
  readonly #turn: () => Promise<unknown>;
  #since = performance.now();
  #counted = 0;

  /** @param turn resolves when the next slice may begin; rejects to end the work. */
  constructor(turn: () => Promise<unknown>) {
    this.#turn = turn;
  }

  /** Waits for the next slice if this one has been long enough. */
  async step(): Promise<void> {
    if (performance.now() - this.#since < slice) return;
    await this.#turn();
    this.#since = performance.now();
  }

  /** Counts one item of a long loop, such as a path; waits like `step`, but looks at the clock for one of 64 items alone. */
  count(): Promise<void> | undefined {
    return (++this.#counted & 63) === 0 ? this.step() : undefined;
  }
}
