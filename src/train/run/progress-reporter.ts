/**
 * Progress of one epoch after the other: a bar with rate and time left on a terminal, else `logsPerEpoch` plain lines. On
 * stderr only, so that results on stdout stay clean.
 */
import { SingleBar } from 'cli-progress';
import { checkInteger } from '../../util/errors.js';
import type { TextSink } from './output.js';
import { type MetricValues, Reporter } from './reporter.js';

export interface ProgressReporterOptions {
  /** What is counted: edges, nodes. */
  readonly itemName?: string;
  /** Lines in each epoch when there is no terminal; 0: neither lines nor bar. Default 10. */
  readonly logsPerEpoch?: number;
  /** Default stderr. */
  readonly stream?: TextSink & { readonly isTTY?: boolean };
  /** Called with every plain line too, for example to put it into the log. */
  readonly onLine?: (line: string) => void;
  /** Milliseconds; for tests. */
  readonly now?: () => number;
}

export interface ProgressState {
  readonly epoch: number;
  readonly done: number;
  readonly total: number;
  readonly seconds: number;
  readonly perSecond: number;
  /** Mean over items, NaN when none was given. */
  readonly loss: number;
}

export class ProgressReporter extends Reporter {
  readonly itemName: string;
  readonly logsPerEpoch: number;
  readonly #stream: TextSink & { readonly isTTY?: boolean };
  readonly #onLine: ((line: string) => void) | undefined;
  readonly #now: () => number;
  #bar: SingleBar | null = null;
  #epoch = 0;
  #total = 0;
  #done = 0;
  /** Done before this process went on with the epoch: not to the credit of its rate. */
  #earlier = 0;
  #lossSum = 0;
  #lossItems = 0;
  #started = 0;
  #nextReport = 1;

  constructor(options: ProgressReporterOptions = {}) {
    super();
    this.itemName = options.itemName ?? 'edges';
    this.logsPerEpoch = checkInteger('ProgressReporter', 'logsPerEpoch', options.logsPerEpoch ?? 10);
    this.#stream = options.stream ?? process.stderr;
    this.#onLine = options.onLine;
    this.#now = options.now ?? (() => performance.now());
  }

  /** Starts an epoch of `total` items; `done` of them, when it goes on where another run stopped. */
  start(epoch: number, total: number, done = 0): void {
    this.stop();
    this.#epoch = epoch;
    this.#total = total;
    this.#done = this.#earlier = done;
    this.#lossSum = this.#lossItems = 0;
    this.#started = this.#now();
    this.#nextReport = Math.floor((done * this.logsPerEpoch) / Math.max(total, 1)) + 1;
    if (this.logsPerEpoch === 0 || this.#stream.isTTY !== true) return;
    const format = `epoch {epoch} {bar} {percentage}% | {value}/{total} ${this.itemName} | {rate}/s | {left} left{loss}`;
    this.#bar = new SingleBar({
      stream: this.#stream as NodeJS.WriteStream,
      format,
      barsize: 24,
      hideCursor: true,
      fps: 8,
    });
    this.#bar.start(total, done, this.#payload());
  }

  /** Adds finished items, and the sum of their losses. */
  addResult(items: number, loss?: number): void {
    this.#done += items;
    if (loss !== undefined) {
      this.#lossSum += loss;
      this.#lossItems += items;
    }
    if (this.#bar !== null) {
      this.#bar.update(this.#done, this.#payload());
      return;
    }
    // Several reports may fall due at once when batches are large; one line says it all.
    const due = Math.floor((this.#done * this.logsPerEpoch) / Math.max(this.#total, 1));
    if (this.logsPerEpoch === 0 || due < this.#nextReport) return;
    this.#nextReport = due + 1;
    this.#write(this.report());
  }

  state(): ProgressState {
    const seconds = Math.max(this.#now() - this.#started, 0) / 1000;
    return {
      epoch: this.#epoch,
      done: this.#done,
      total: this.#total,
      seconds,
      perSecond: seconds > 0 ? (this.#done - this.#earlier) / seconds : 0,
      loss: this.#lossSum / this.#lossItems,
    };
  }

  /** Items so far in this epoch. */
  override get size(): number {
    return this.#done;
  }

  override results(): MetricValues {
    const { seconds, perSecond, loss } = this.state();
    return { loss, seconds, [`${this.itemName}_per_second`]: perSecond };
  }

  /** The line of this moment. */
  override report(): string {
    const { epoch, done, total } = this.state();
    const { rate, left, loss } = this.#payload();
    const share = total === 0 ? 100 : (100 * done) / total;
    return `epoch ${epoch}: ${whole(done)}/${whole(total)} ${this.itemName} (${share.toFixed(0)} %), ${rate} ${this.itemName}/s, ${left} left${loss}`;
  }

  /** Takes the bar off the terminal; call it before printing anything else, and at the end. */
  stop(): void {
    this.#bar?.stop();
    this.#bar = null;
  }

  override clear(): void {
    this.stop();
    this.#total = this.#done = this.#earlier = this.#lossSum = this.#lossItems = 0;
  }

  #payload(): { epoch: number; rate: string; left: string; loss: string } {
    const { epoch, done, total, perSecond, loss } = this.state();
    const left = perSecond > 0 ? clock((total - done) / perSecond) : '?';
    return {
      epoch,
      rate: shortCount(perSecond),
      left,
      loss: Number.isNaN(loss) ? '' : `, loss ${loss.toPrecision(4)}`,
    };
  }

  #write(line: string): void {
    this.#stream.write(`${line}\n`);
    this.#onLine?.(line);
  }
}

const whole = (value: number): string => Math.round(value).toLocaleString('en-GB');

/** 950, 12.3k, 4.56M. */
export function shortCount(value: number): string {
  if (value < 1000) return value.toFixed(0);
  const [scaled, unit] =
    value < 1e6 ? [value / 1e3, 'k'] : value < 1e9 ? [value / 1e6, 'M'] : [value / 1e9, 'G'];
  return `${scaled.toPrecision(3)}${unit}`;
}

/** 0:07, 12:34, 1:02:03. */
export function clock(seconds: number): string {
  if (!Number.isFinite(seconds)) return '?';
  const total = Math.max(0, Math.round(seconds));
  const [hours, minutes, rest] = [Math.floor(total / 3600), Math.floor(total / 60) % 60, total % 60];
  const two = (value: number): string => String(value).padStart(2, '0');
  return hours > 0 ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
}
