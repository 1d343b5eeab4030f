/**
 * The output of a command. Text goes to stdout; with `--json`, stdout has one JSON object per line and the text goes to
 * stderr. Events: config, prepare, epoch, eval, checkpoint, done, error; others as needed.
 *
 * Progress goes to stderr: on a terminal as one line that is redrawn (status-line.ts), otherwise as plain lines.
 */
import { checkOptionNames } from '../../util/option-names.js';
import { clock, duration, shortCount } from './durations.js';
import { StatusLine } from './status-line.js';
import { canRedraw, hasColors, paint, type TextSink } from './terminal.js';

export interface OutputOptions {
  readonly json?: boolean;
  readonly stdout?: TextSink;
  readonly stderr?: TextSink;
}

/** Replaces NaN and infinity, which JSON lacks, by null, and typed arrays by lists. */
function plain(_key: string, value: unknown): unknown {
  if (typeof value === 'number' && !Number.isFinite(value)) return null;
  if (typeof value === 'bigint') return Number(value);
  if (ArrayBuffer.isView(value) && !(value instanceof DataView))
    return Array.from(value as unknown as ArrayLike<number>);
  return value;
}

/** Returns one line of NDJSON, with its line break. */
export function jsonLine(fields: Readonly<Record<string, unknown>>): string {
  return `${JSON.stringify(fields, plain)}\n`;
}

/** Returns whether progress within an epoch is shown: always on a terminal, elsewhere only without `--json`. */
export function showsProgress({ json, status }: Output): boolean {
  return status.isShown || !json;
}

/** A stage of work, shown until it ends or the next one begins. */
export interface Stage {
  /** Reports progress; `total` is 0 if unknown. */
  update(done: number, total: number): void;
  end(): void;
}

export class Output {
  readonly json: boolean;
  /** The line that shows progress on a terminal. */
  readonly status: StatusLine;
  /** Receives progress and warnings. */
  readonly stderr: TextSink;
  readonly #stdout: TextSink;
  readonly #started = performance.now();

  constructor(options: OutputOptions = {}) {
    checkOptionNames('Output', options, { json: true, stdout: true, stderr: true });
    const { json = false, stdout = process.stdout, stderr = process.stderr } = options;
    this.json = json;
    this.#stdout = stdout;
    this.stderr = stderr;
    this.status = StatusLine.of(stderr);
  }

  /** Returns an output that prints nothing, as used by all workers but the first. */
  static silent(json = false): Output {
    const nowhere: TextSink = { write: () => true };
    return new Output({ json, stdout: nowhere, stderr: nowhere });
  }

  /** Prints a line of text. */
  text(line = ''): void {
    this.#write(this.json ? this.stderr : this.#stdout, `${line}\n`);
  }

  /** Whether text is read on a terminal, which can show every line; files and pipes are kept short. */
  get isTerminal(): boolean {
    return canRedraw(this.json ? this.stderr : this.#stdout);
  }

  /** Prints a line about the command rather than its result: progress, warnings. */
  note(line: string): void {
    this.#write(this.stderr, `${line}\n`);
  }

  warn(message: string): void {
    this.note(`${paint('warning:', 'yellow', hasColors(this.stderr))} ${message}`);
  }

  /** Prints an event; only with `--json`. */
  event(event: string, fields: Readonly<Record<string, unknown>> = {}): void {
    if (this.json) this.#write(this.#stdout, jsonLine({ event, ...fields }));
  }

  /**
   * Begins a stage: a line that is redrawn on a terminal, otherwise one plain line. `plain: false` omits the plain line,
   * for stages that are followed by a result.
   */
  stage(label: string, { plain = true }: { readonly plain?: boolean } = {}): Stage {
    const started = performance.now();
    if (this.status.isShown) this.status.show({ label: `${label} …`, fraction: null }, true);
    else if (plain) this.note(`${label} …`);
    return {
      update: (done, total) => {
        const seconds = (performance.now() - started) / 1000;
        const details = total > 0 ? [`${clock((seconds * (total - done)) / done)} left`] : [shortCount(done)];
        this.status.show({ label, fraction: total > 0 ? done / total : null, details });
      },
      end: () => this.status.clear(),
    };
  }

  /** Prints the elapsed time, as the last line of a long command. */
  doneIn(): void {
    this.note(`Done in ${this.elapsed()}.`);
  }

  /** Returns the elapsed time of the command: `1 min 12 s`. */
  elapsed(): string {
    return duration(this.seconds);
  }

  /** Seconds since the command began. */
  get seconds(): number {
    return (performance.now() - this.#started) / 1000;
  }

  #write(stream: TextSink, text: string): void {
    this.status.clear();
    stream.write(text);
  }
}
