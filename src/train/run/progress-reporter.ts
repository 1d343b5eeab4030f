/**
 * Progress of epochs: a line with bar, rate and time left that is redrawn on a terminal, otherwise plain lines. On stderr
 * only, so that stdout has results alone.
 */
import { checkInteger } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { clock, shortCount } from './durations.js';
import { type MetricValues, Reporter } from './reporter.js';
import { StatusLine } from './status-line.js';
import type { TextSink } from './terminal.js';

/** Least time between plain lines: quick epochs would only fill the log. */
const plainEveryMs = 1000;

export interface ProgressReporterOptions {
  /** The name of the items: edges, nodes. */
  readonly itemName?: string;
  /** Lines per epoch, at most, without a terminal; 0: neither lines nor bar. Default 10. */
  readonly logsPerEpoch?: number;
  /** Whether to print a plain line at the end of an epoch; false if the caller prints one. Default true. */
  readonly endLine?: boolean;
  /** Default stderr. */
  readonly stream?: TextSink;
  /** The status line of the terminal. Default: that of the stream. */
  readonly status?: StatusLine;
  /** Called with every plain line, for example to log it. */
  readonly onLine?: (line: string) => void;
  /** A clock in milliseconds, for tests. */
  readonly now?: () => number;
}

export interface ProgressState {
  readonly epoch: number;
  readonly done: number;
  readonly total: number;
  readonly seconds: number;
  readonly perSecond: number;
  /** Mean over items; NaN without losses. */
  readonly loss: number;
}

export class ProgressReporter extends Reporter {
  readonly itemName: string;
  readonly logsPerEpoch: number;
  /** Total number of epochs, if known: the time left then covers all of them. */
  epochs: number | null = null;
  readonly #endLine: boolean;
  readonly #stream: TextSink;
  readonly #status: StatusLine;
  readonly #onLine: ((line: string) => void) | undefined;
  readonly #now: () => number;
  #epoch = 0;
  #total = 0;
  #done = 0;
  /** Items done before this process resumed the epoch; excluded from its rate. */
  #earlier = 0;
  #lossSum = 0;
  #lossItems = 0;
  #started = 0;
  #nextReport = 1;
  #lastLine = Number.NEGATIVE_INFINITY;
  /** Items in finished epochs and the start of the first one, from which the time left is computed. */
  #finished = 0;
  #firstStart: number | null = null;

  constructor(options: ProgressReporterOptions = {}) {
    super();
    checkOptionNames('ProgressReporter', options, {
      itemName: true,
      logsPerEpoch: true,
      endLine: true,
      stream: true,
      status: true,
      onLine: true,
      now: true,
    });
    this.itemName = options.itemName ?? 'edges';
    this.logsPerEpoch = checkInteger('ProgressReporter', 'logsPerEpoch', options.logsPerEpoch ?? 10);
    this.#endLine = options.endLine ?? true;
    this.#stream = options.stream ?? process.stderr;
    this.#status = options.status ?? StatusLine.of(this.#stream);
    this.#onLine = options.onLine;
    this.#now = options.now ?? (() => performance.now());
  }

  /** Starts an epoch of `total` items, of which `done` were trained before resuming. */
  start(epoch: number, total: number, done = 0): void {
    this.stop();
    this.#finished += this.#done - this.#earlier;
    this.#epoch = epoch;
    this.#total = total;
    this.#done = this.#earlier = done;
    this.#lossSum = this.#lossItems = 0;
    this.#started = this.#lastLine = this.#now();
    this.#firstStart ??= this.#started;
    this.#nextReport = Math.floor((done * this.logsPerEpoch) / Math.max(total, 1)) + 1;
    this.#draw(true);
  }

  /** Adds finished items, and the sum of their losses. */
  addResult(items: number, loss?: number): void {
    this.#done += items;
    if (loss !== undefined) {
      this.#lossSum += loss;
      this.#lossItems += items;
    }
    if (this.logsPerEpoch === 0) return;
    if (this.#status.isShown) {
      this.#draw();
      return;
    }
    const isEnd = this.#done >= this.#total;
    if (isEnd ? !this.#endLine : this.#now() - this.#lastLine < plainEveryMs) return;
    // With large batches several reports may be due together; one line suffices.
    const due = Math.floor((this.#done * this.logsPerEpoch) / Math.max(this.#total, 1));
    if (due < this.#nextReport) return;
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

  /** Returns the current line. */
  override report(): string {
    const { epoch, done, total, perSecond, loss } = this.state();
    const share = total === 0 ? 100 : (100 * done) / total;
    const cells = [
      `epoch ${epoch}: ${whole(done)}/${whole(total)} ${this.itemName} (${share.toFixed(0)} %)`,
      `${shortCount(perSecond)} ${this.itemName}/s`,
      `${clock(this.#secondsLeft())} left`,
    ];
    if (!Number.isNaN(loss)) cells.push(`loss ${loss.toPrecision(4)}`);
    return cells.join(', ');
  }

  /** Clears the line from the terminal; call it before printing anything else, and at the end. */
  stop(): void {
    this.#status.clear();
  }

  override clear(): void {
    this.stop();
    this.#total = this.#done = this.#earlier = this.#lossSum = this.#lossItems = this.#finished = 0;
    this.#firstStart = null;
  }

  #draw(force = false): void {
    if (this.logsPerEpoch === 0 || !this.#status.isShown) return;
    const { epoch, done, total, perSecond, loss } = this.state();
    const left = this.#secondsLeft();
    const details = [
      ...(perSecond > 0 ? [`${shortCount(perSecond)} ${this.itemName}/s`] : []),
      ...(Number.isNaN(loss) ? [] : [`loss ${loss.toPrecision(4)}`]),
      ...(Number.isFinite(left) ? [`${clock(left)} left`] : []),
    ];
    const label = this.epochs === null ? `epoch ${epoch}` : `epoch ${epoch}/${this.epochs}`;
    this.#status.show({ label, fraction: total === 0 ? 1 : done / total, details }, force);
  }

  /** Estimates the time left from the pace so far, including pauses between epochs (evaluation, checkpoints). */
  #secondsLeft(): number {
    const trained = this.#finished + this.#done - this.#earlier;
    const epochsLeft = Math.max(0, (this.epochs ?? this.#epoch) - this.#epoch);
    const items = this.#total - this.#done + epochsLeft * this.#total;
    const seconds = (this.#now() - (this.#firstStart ?? this.#now())) / 1000;
    return trained > 0 ? (items * seconds) / trained : Number.POSITIVE_INFINITY;
  }

  #write(line: string): void {
    this.#lastLine = this.#now();
    this.#stream.write(`${line}\n`);
    this.#onLine?.(line);
  }
}

const whole = (value: number): string => Math.round(value).toLocaleString('en-GB');
