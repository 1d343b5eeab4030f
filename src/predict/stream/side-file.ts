/** Late events in a file of JSON lines, each once: lines carry the sequence number of their record in the log. */
import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readSync,
  writeFileSync,
} from 'node:fs';
import { withStorageErrors } from '../../storage/atomic-file.js';
import { describe, FormatError } from '../../util/errors.js';
import { namedEvent, type PlainEvent } from './log-entry.js';

const newline = 10;
const blockBytes = 2 ** 16;

export class SideFile {
  readonly #path: string;
  #file: number | null = null;
  /** Lines of this record that are in the file already, or of later ones. */
  #last = 0;
  #lines = 0;
  #current = 0;
  #currentLines = 0;

  constructor(path: string) {
    this.#path = path;
  }

  /** Reads the end of a file that is there already; throws if others have written to it. */
  open(): void {
    if (existsSync(this.#path)) withStorageErrors('read', this.#path, () => this.#readEnd());
  }

  add(event: PlainEvent, sequence: number, arrived: number): void {
    if (sequence !== this.#current) [this.#current, this.#currentLines] = [sequence, 0];
    this.#currentLines++;
    // The log is read again after a crash; these lines survived it.
    if (sequence < this.#last || (sequence === this.#last && this.#currentLines <= this.#lines)) return;
    withStorageErrors('write', this.#path, () => {
      this.#file ??= openSync(this.#path, 'a');
      // Unlike writeSync it writes the whole line, or throws.
      writeFileSync(this.#file, `${JSON.stringify({ sequence, arrived, ...namedEvent(event) })}\n`);
    });
  }

  /** Makes the lines durable: the log of their events may be removed afterwards. */
  sync(): void {
    if (this.#file !== null) fsyncSync(this.#file);
  }

  close(): void {
    if (this.#file === null) return;
    this.sync();
    closeSync(this.#file);
    this.#file = null;
  }

  /** Finds how many lines the last record has, from the end of the file, and cuts an incomplete line. */
  #readEnd(): void {
    const file = openSync(this.#path, 'r+');
    try {
      const { size } = fstatSync(file);
      let end: Buffer = Buffer.alloc(0);
      let hasLast = false;
      for (let at = size; at > 0 && !hasLast; ) {
        const length = Math.min(at, blockBytes);
        at -= length;
        const block = Buffer.alloc(length);
        readSync(file, block, 0, length, at);
        end = Buffer.concat([block, end]);
        hasLast = this.#countLast(end, at === 0);
      }
      const torn = size - (end.lastIndexOf(newline) + 1 + size - end.length);
      if (torn > 0) ftruncateSync(file, size - torn);
    } finally {
      closeSync(file);
    }
  }

  /** Counts the lines of the last record in the end of the file; returns whether they all are in it. */
  #countLast(end: Buffer, isWhole: boolean): boolean {
    this.#lines = 0;
    let to = end.lastIndexOf(newline);
    if (to < 0) return isWhole;
    while (to > 0) {
      const from = end.lastIndexOf(newline, to - 1) + 1;
      // The first line of the block may lack its beginning.
      if (from === 0 && !isWhole) return false;
      const sequence = this.#sequenceOf(end.toString('utf8', from, to));
      if (this.#lines === 0) this.#last = sequence;
      if (sequence !== this.#last) return true;
      this.#lines++;
      to = from - 1;
    }
    return isWhole;
  }

  #sequenceOf(line: string): number {
    try {
      const { sequence } = JSON.parse(line) as { readonly sequence?: unknown };
      if (Number.isSafeInteger(sequence)) return sequence as number;
    } catch (error) {
      if (!(error instanceof SyntaxError || error instanceof TypeError)) throw error;
    }
    throw new FormatError(
      `stream: expected lines of late events at the end of ${this.#path}, got ${describe(line.slice(0, 80))}. Only the stream may write to this file: remove the line, or move the file away.`,
      { path: this.#path },
    );
  }
}
