/// <reference lib="esnext.disposable" preserve="true" />
/**
 * Handling of Ctrl+C: the first one requests a checkpoint and a stop, the second ends the process immediately. SIGTERM counts
 * as a first one. So does SIGHUP from a closed terminal, which may arrive repeatedly without further effect, and, under a
 * launcher, SIGUSR2, the only signal that launchers pass on without ending the workers.
 */
import { launchedBy } from '../../util/launched-by.js';
import { checkOptionNames } from '../../util/option-names.js';

export type StopSignal = 'SIGINT' | 'SIGTERM';

export interface InterruptOptions {
  /** Called once, at the first signal. */
  readonly onRequest?: (signal: StopSignal) => void;
  /** Ends the process at the second signal. Default: `process.exit`. */
  readonly exit?: (code: number) => void;
}

/** The conventional exit code of a process ended by a signal. */
const exitCodes: Readonly<Record<StopSignal, number>> = { SIGINT: 130, SIGTERM: 143 };

export class Interrupt implements Disposable {
  #signal: StopSignal | null = null;
  readonly #onRequest: ((signal: StopSignal) => void) | undefined;
  readonly #exit: (code: number) => void;
  readonly #listener = (given: string): void => {
    const signal: StopSignal = ['SIGTERM', 'SIGHUP'].includes(given) ? 'SIGTERM' : 'SIGINT';
    if (this.#signal !== null) {
      if (given === 'SIGHUP') return;
      this.#exit(exitCodes[signal]);
      return;
    }
    this.#signal = signal;
    this.#onRequest?.(signal);
  };

  constructor(options: InterruptOptions = {}) {
    checkOptionNames('Interrupt', options, { onRequest: true, exit: true });
    const { onRequest, exit = process.exit } = options;
    this.#onRequest = onRequest;
    this.#exit = exit;
    process.on('SIGINT', this.#listener);
    process.on('SIGTERM', this.#listener);
    process.on('SIGHUP', this.#listener);
    if (launchedBy() !== null) process.on('SIGUSR2', this.#listener);
  }

  /** Whether a stop was requested. */
  get requested(): boolean {
    return this.#signal !== null;
  }

  [Symbol.dispose](): void {
    process.off('SIGINT', this.#listener);
    process.off('SIGTERM', this.#listener);
    process.off('SIGHUP', this.#listener);
    process.off('SIGUSR2', this.#listener);
  }
}
