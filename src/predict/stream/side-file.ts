/** Late events in a file of JSON lines, each once: lines carry the sequence number of their record in the log. */
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, truncateSync, writeSync } from 'node:fs';
import { withStorageErrors } from '../../storage/atomic-file.js';
import { namedEvent, type PlainEvent } from './log-entry.js';

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
    if (existsSync(path)) withStorageErrors('read', path, () => this.#readEnd());
  }

  add(event: PlainEvent, sequence: number, arrived: number): void {
    if (sequence !== this.#current) [this.#current, this.#currentLines] = [sequence, 0];
    this.#currentLines++;
    // The log is read again after a crash; these lines survived it.
    if (sequence < this.#last || (sequence === this.#last && this.#currentLines <= this.#lines)) return;
    withStorageErrors('write', this.#path, () => {
      this.#file ??= openSync(this.#path, 'a');
      writeSync(this.#file, `${JSON.stringify({ sequence, arrived, ...namedEvent(event) })}\n`);
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

  #readEnd(): void {
    const text = readFileSync(this.#path, 'utf8');
    const complete = text.slice(0, text.lastIndexOf('\n') + 1);
    if (complete.length < text.length) truncateSync(this.#path, Buffer.byteLength(complete));
    const lines = complete.split('\n').slice(0, -1);
    for (let i = lines.length - 1; i >= 0; i--) {
      const { sequence } = JSON.parse(lines[i]) as { sequence: number };
      if (i === lines.length - 1) this.#last = sequence;
      if (sequence !== this.#last) break;
      this.#lines++;
    }
  }
}
