/** Divides long work into slices, between which a program or a server does other work. */

/** Milliseconds of a slice. */
const slice = 10;

export class Pace {
  readonly #turn: () => Promise<unknown>;
  #since = performance.now();

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
}
