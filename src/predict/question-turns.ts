/**
 * Questions that take several turns of the event loop, and changes of the state that they read, take turns: no change happens
 * within a question, and a change that waits goes before questions that begin later, so that neither waits for ever.
 */
export class QuestionTurns {
  /** Questions that have begun and are not answered. */
  #questions = 0;
  /** Called when the last of them is answered. */
  #allAnswered: (() => void) | null = null;
  /** Resolves when the change that waits for these questions is made; null while none waits. */
  #change: Promise<void> | null = null;

  /** Whether a question is between its parts. */
  get isAsking(): boolean {
    return this.#questions > 0;
  }

  async ask<T>(question: () => Promise<T>): Promise<T> {
    while (this.#change !== null) await this.#change;
    this.#questions++;
    try {
      return await question();
    } finally {
      this.#questions--;
      if (this.#questions === 0) this.#allAnswered?.();
    }
  }

  /** Returns the result of `work`, which changes the state when the questions that have begun are answered. */
  async change<T>(work: () => T): Promise<T> {
    while (this.#change !== null) await this.#change;
    if (this.#questions === 0) return work();
    let done = (): void => undefined;
    this.#change = new Promise((resolve) => {
      done = resolve;
    });
    try {
      await new Promise<void>((resolve) => {
        this.#allAnswered = resolve;
      });
      return work();
    } finally {
      this.#allAnswered = null;
      this.#change = null;
      done();
    }
  }
}
