/// <reference lib="esnext.disposable" preserve="true" />
/**
 * Ctrl+C: the first asks to finish and save, the second ends the process at once. SIGTERM counts as the first, and so
 * does SIGHUP, of a terminal that was closed; that may come twice, and more of it change nothing. Under a
 * launcher so does SIGUSR2: that one reaches workers as it is, others make launchers end them.
 */
import { launchedBy } from '../../util/launched-by.js';
import { checkOptionNames } from '../../util/option-names.js';

export type StopSignal = 'SIGINT' | 'SIGTERM';

export interface InterruptOptions {
  /** Called once, at the first signal. */
  readonly onRequest?: (signal: StopSignal) => void;
  /** How the process ends at the second. Default: `process.exit`. */
  readonly exit?: (code: number) => void;
}

/** The usual exit code of a process that a signal ended. */
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

  /** Whether somebody asked to stop. */
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
