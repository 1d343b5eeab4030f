/**
 * Writes spans as a trace for Chrome (chrome://tracing) and Perfetto, block by block, so that a long run needs no memory and
 * a killed one leaves a readable file: the format allows the closing bracket to be missing.
 */
import { closeSync, openSync, writeSync } from 'node:fs';
import { StateError } from '../../util/errors.js';

export interface TraceSpan {
  readonly stage: string;
  /** Milliseconds, on the clock of `performance`. */
  readonly start: number;
  /** Milliseconds. */
  readonly duration: number;
  /** Row of the picture. Default: one per stage. */
  readonly lane?: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

const blockSize = 1 << 16;

export class TraceWriter {
  readonly path: string;
  #file: number | null;
  #pending = '';
  #first = true;
  readonly #lanes = new Map<string, number>();

  constructor(path: string) {
    this.path = path;
    this.#file = openSync(path, 'w');
    this.#pending = '[\n';
  }

  add({ stage, start, duration, lane = stage, details }: TraceSpan): void {
    const row = this.#lane(lane);
    // Microseconds; the clock resolves at most a thousandth of one.
    const micro = (milliseconds: number): number => Math.round(milliseconds * 1e6) / 1e3;
    this.#event({
      name: stage,
      ph: 'X',
      ts: micro(start),
      dur: micro(duration),
      pid: 1,
      tid: row,
      ...(details === undefined ? {} : { args: details }),
    });
  }

  close(): void {
    if (this.#file === null) return;
    this.#pending += '\n]\n';
    this.#flush();
    closeSync(this.#file);
    this.#file = null;
  }

  #lane(name: string): number {
    const known = this.#lanes.get(name);
    if (known !== undefined) return known;
    const row = this.#lanes.size + 1;
    this.#lanes.set(name, row);
    this.#event({ name: 'thread_name', ph: 'M', pid: 1, tid: row, args: { name } });
    return row;
  }

  #event(event: Readonly<Record<string, unknown>>): void {
    this.#pending += (this.#first ? '' : ',\n') + JSON.stringify(event);
    this.#first = false;
    if (this.#pending.length >= blockSize) this.#flush();
  }

  #flush(): void {
    if (this.#file === null)
      throw new StateError(`TraceWriter: expected an open trace, got ${this.path}, which is closed.`);
    writeSync(this.#file, this.#pending);
    this.#pending = '';
  }
}
