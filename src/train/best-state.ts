/** The best state of a model so far, and when to stop waiting for a better one. */
import type { Module } from '../nn/index.js';
import { type Tensor, unscoped } from '../tensor/index.js';

/** Higher is better, element by element: the second decides where the first are equal. */
export type Score = readonly number[];

export class BestState {
  readonly #model: Module;
  readonly #patience: number;
  #state: Record<string, Tensor> | null = null;
  #score: Score | null = null;
  #epoch = 0;

  /** @param patience epochs without a better score after which `observe` asks to stop; Infinity never does. */
  constructor(model: Module, patience: number) {
    this.#model = model;
    this.#patience = patience;
  }

  get epoch(): number {
    return this.#epoch;
  }

  /** Remembers the model if the score is the best so far; false when it is time to stop. */
  observe(epoch: number, score: Score): boolean {
    if (this.#score === null || isBetter(score, this.#score)) {
      this.#score = score;
      this.#epoch = epoch;
      this.#keepState();
    }
    return epoch - this.#epoch < this.#patience;
  }

  #keepState(): void {
    const current = this.#model.stateDict();
    const state = this.#state;
    if (state === null)
      this.#state = unscoped(() =>
        Object.fromEntries(Object.entries(current).map(([name, t]) => [name, t.clone()])),
      );
    for (const [name, t] of Object.entries(current)) {
      state?.[name].assign(t);
      // A handle of ours on the model's memory, which would hold it on a device for good.
      t.dispose();
    }
  }

  /** Gives the model its best state back. */
  restore(): void {
    if (this.#state !== null) this.#model.loadStateDict(this.#state);
  }

  /** Gives the memory of the state back. */
  release(): void {
    for (const t of Object.values(this.#state ?? {})) t.dispose();
    this.#state = null;
  }
}

function isBetter(a: Score, b: Score): boolean {
  for (const [i, value] of a.entries()) {
    if (value > b[i]) return true;
    if (!(value === b[i])) return false;
  }
  return false;
}
