/**
 * What a command prints. People read text on stdout; with `--json` stdout carries one JSON object a line and the text goes
 * to stderr, so that both can be had. Events: config, prepare, epoch, eval, checkpoint, done, error; others as needed.
 */

/** A stream that takes text. */
export interface TextSink {
  write(text: string): unknown;
}

export interface OutputOptions {
  readonly json?: boolean;
  readonly stdout?: TextSink;
  readonly stderr?: TextSink;
}

/** JSON has no NaN and no infinity: they become null, and typed arrays lists. */
function plain(_key: string, value: unknown): unknown {
  if (typeof value === 'number' && !Number.isFinite(value)) return null;
  if (typeof value === 'bigint') return Number(value);
  if (ArrayBuffer.isView(value) && !(value instanceof DataView))
    return Array.from(value as unknown as ArrayLike<number>);
  return value;
}

/** One line of NDJSON, with its line break. */
export function jsonLine(fields: Readonly<Record<string, unknown>>): string {
  return `${JSON.stringify(fields, plain)}\n`;
}

export class Output {
  readonly json: boolean;
  readonly #stdout: TextSink;
  readonly #stderr: TextSink;

  constructor({ json = false, stdout = process.stdout, stderr = process.stderr }: OutputOptions = {}) {
    this.json = json;
    this.#stdout = stdout;
    this.#stderr = stderr;
  }

  /** Says nothing: what all workers but the first have. */
  static silent(json = false): Output {
    const nowhere: TextSink = { write: () => true };
    return new Output({ json, stdout: nowhere, stderr: nowhere });
  }

  /** A line for people. */
  text(line = ''): void {
    (this.json ? this.#stderr : this.#stdout).write(`${line}\n`);
  }

  /** A line that is about the run rather than its result: progress, warnings. */
  note(line: string): void {
    this.#stderr.write(`${line}\n`);
  }

  warn(message: string): void {
    this.note(`warning: ${message}`);
  }

  /** A line for programs; only with `--json`. */
  event(event: string, fields: Readonly<Record<string, unknown>> = {}): void {
    if (this.json) this.#stdout.write(jsonLine({ event, ...fields }));
  }
}
