/**
 * Ctrl+C: the first asks to finish and save, the second ends the process at once. SIGTERM counts as the first.
 */

export interface InterruptOptions {
  /** Called once, at the first signal. */
  readonly onRequest?: (signal: NodeJS.Signals) => void;
  /** How the process ends at the second. Default: `process.exit`. */
  readonly exit?: (code: number) => void;
}

/** The usual exit code of a process that a signal ended. */
const exitCodes: Readonly<Partial<Record<NodeJS.Signals, number>>> = { SIGINT: 130, SIGTERM: 143 };

export class Interrupt implements Disposable {
  #signal: NodeJS.Signals | null = null;
  readonly #onRequest: ((signal: NodeJS.Signals) => void) | undefined;
  readonly #exit: (code: number) => void;
  readonly #listener = (signal: NodeJS.Signals): void => {
    if (this.#signal !== null) {
      this.#exit(exitCodes[signal] ?? 1);
      return;
    }
    this.#signal = signal;
    this.#onRequest?.(signal);
  };

  constructor({ onRequest, exit = process.exit }: InterruptOptions = {}) {
    this.#onRequest = onRequest;
    this.#exit = exit;
    process.on('SIGINT', this.#listener);
    process.on('SIGTERM', this.#listener);
  }

  /** Whether somebody asked to stop. */
  get requested(): boolean {
    return this.#signal !== null;
  }

  [Symbol.dispose](): void {
    process.off('SIGINT', this.#listener);
    process.off('SIGTERM', this.#listener);
  }
}
