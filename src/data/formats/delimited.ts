/**
 * Records of delimited text (.gz too), parsed from bytes as they arrive: no string per field unless one is asked for, and
 * memory of one chunk. As RFC 4180 where fields may be quoted: a quoted field holds delimiters, line ends, and "" for a
 * quote. Lines end in \n or \r\n, also in turn; a byte order mark and empty lines are skipped.
 *
 * A record with another number of fields, a quote without an end and text that is no UTF-8 are errors with file and line.
 */
import { isUtf8 } from 'node:buffer';
import { FormatError } from '../../util/errors.js';
import type { TextLayout } from './text-layout.js';
import { readChunks } from './text-lines.js';

/** Some consecutive records. Gone with the next block. */
export class RecordBlock {
  rows = 0;
  /** Field f of row r is bytes bounds[2i] … bounds[2i + 1] − 1 of `buffer`, with i = r · width + f. */
  bounds = new Int32Array(0);
  /** The line of each row, from 1. */
  lines = new Float64Array(0);
  buffer: Buffer = Buffer.alloc(0);

  constructor(readonly width: number) {}

  text(row: number, field: number): string {
    const at = 2 * (row * this.width + field);
    return this.buffer.toString('utf8', this.bounds[at], this.bounds[at + 1]);
  }

  fields(row: number): string[] {
    return Array.from({ length: this.width }, (_, field) => this.text(row, field));
  }
}

/** All records of a file, in blocks. */
export async function* readRecords(layout: TextLayout): AsyncGenerator<RecordBlock> {
  const parser = new RecordParser(layout);
  for await (const chunk of readChunks(layout.path)) {
    const block = parser.feed(chunk, false);
    if (block.rows > 0) yield block;
  }
  const block = parser.feed(new Uint8Array(0), true);
  if (block.rows > 0) yield block;
}

const [newline, carriageReturn, quote, blank, tab] = [10, 13, 34, 32, 9];
const byteOrderMark = 0xefbbbf;
/** Bytes that a record may have: more is no text but a bomb. */
const longestRecord = 2 ** 26;

export class RecordParser {
  readonly #layout: TextLayout;
  readonly #delimiter: Buffer;
  readonly #comment: Buffer;
  readonly #blanks: boolean;
  readonly #block: RecordBlock;
  /** The start of a record whose end has not come. */
  #rest: Buffer = Buffer.alloc(0);
  /** The line that the next byte belongs to, from 1. */
  #line = 1;
  /** Whether another field of the record follows the one that was read last. */
  #more = false;
  /** Fields of the record from which quotes were taken, as they were. */
  #changed: { readonly at: number; readonly bytes: Buffer }[] = [];

  constructor(layout: TextLayout) {
    this.#layout = layout;
    this.#delimiter = Buffer.from(layout.delimiter);
    this.#comment = Buffer.from(layout.commentsAnywhere ? layout.comment : '');
    this.#blanks = layout.delimiter === ' ';
    this.#block = new RecordBlock(layout.width);
  }

  feed(chunk: Uint8Array, last: boolean): RecordBlock {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    const block = this.#block;
    block.buffer = buffer;
    block.rows = 0;
    // Bytes behind the last end of a line are of a record that is not complete.
    const end = last ? buffer.length : buffer.lastIndexOf(newline) + 1;
    let at = 0;
    if (this.#line === 1 && end >= 3 && buffer.readUIntBE(0, 3) === byteOrderMark) at = 3;
    // Before quotes are taken out: what they leave behind is no text.
    if (!isUtf8(buffer.subarray(at, end))) this.#refuseBytes(at, end);
    while (at < end) {
      const next = this.#record(at, end, last);
      if (next < 0) break;
      at = next;
    }
    this.#rest = Buffer.from(buffer.subarray(at));
    if (this.#rest.length > longestRecord)
      this.#fail(this.#line, `a record of at most ${longestRecord} bytes`, `${this.#rest.length} and no end`);
    return block;
  }

  #fail(line: number, what: string, got: string, advice = ''): never {
    const { path } = this.#layout;
    throw new FormatError(`${path}:${line}: expected ${what}, got ${got}.${advice}`, { path, line });
  }

  /** Takes in the record at `from`; returns where the next one starts, −1 when its end is not there yet. */
  #record(from: number, end: number, last: boolean): number {
    const { buffer } = this.#block;
    const line = this.#line;
    let stop = buffer.indexOf(newline, from);
    if (stop < 0) stop = end;
    if (this.#skipped(from, stop)) {
      this.#line++;
      return stop + 1;
    }
    const { width } = this.#block;
    this.#reserve();
    if (this.#changed.length > 0) this.#changed = [];
    let at = this.#blanks ? this.#skipBlanks(from) : from;
    let place = 2 * this.#block.rows * width;
    let fields = 0;
    do {
      if (fields === width) this.#wrongCount(line, from, stop);
      at = this.#field(at, end, place, line);
      if (at < 0) return this.#incomplete(line, last);
      place += 2;
      fields++;
    } while (this.#more);
    if (fields !== width) this.#fail(line, `${width} columns`, `${fields}`);
    this.#block.lines[this.#block.rows++] = line;
    this.#line++;
    return at;
  }

  /** Leaves a record as it was, to be parsed again with the bytes that follow. */
  #incomplete(line: number, last: boolean): -1 {
    if (last)
      this.#fail(line, 'a quote at the end of the field', 'none', ' Look for a quote that stands alone.');
    this.#line = line;
    for (const { at, bytes } of this.#changed) this.#block.buffer.set(bytes, at);
    return -1;
  }

  /** Lines before the first record, empty ones and comments. */
  #skipped(from: number, stop: number): boolean {
    if (this.#line <= this.#layout.skip) return true;
    const { buffer } = this.#block;
    let at = from;
    if (this.#blanks) at = this.#skipBlanks(from);
    if (at >= stop || (buffer[at] === carriageReturn && at + 1 === stop)) return true;
    const { length } = this.#comment;
    return (
      length > 0 &&
      buffer[from] === this.#comment[0] &&
      this.#comment.equals(buffer.subarray(from, from + length))
    );
  }

  #skipBlanks(from: number): number {
    const { buffer } = this.#block;
    let at = from;
    while (buffer[at] === blank || buffer[at] === tab) at++;
    return at;
  }

  /** Finds the bounds of the field at `from`; returns where the next field or record starts, −1 without an end. */
  #field(from: number, end: number, place: number, line: number): number {
    const { buffer, bounds } = this.#block;
    let at = from;
    if (this.#layout.quoted && buffer[from] === quote) {
      at = this.#quotedField(from, end, place);
      if (at < 0) return -1;
      if (buffer[at] === carriageReturn && (at + 1 === end || buffer[at + 1] === newline)) at++;
      if (at < end && buffer[at] !== newline && !this.#isDelimiter(at)) {
        const got = JSON.stringify(buffer.toString('utf8', at, Math.min(end, at + 20)));
        this.#fail(line, 'the end of the field after its quote', got);
      }
    } else {
      at = this.#fieldEnd(from, end);
      const ends = at === end || buffer[at] === newline;
      bounds[place] = from;
      bounds[place + 1] = ends && at > from && buffer[at - 1] === carriageReturn ? at - 1 : at;
    }
    if (this.#blanks) return this.#afterBlanks(at, end);
    this.#more = at < end && buffer[at] !== newline;
    return this.#more ? at + this.#delimiter.length : at + 1;
  }

  #fieldEnd(from: number, end: number): number {
    const { buffer } = this.#block;
    const [first] = this.#delimiter;
    let at = from;
    if (this.#blanks)
      while (at < end && buffer[at] !== newline && buffer[at] !== blank && buffer[at] !== tab) at++;
    else while (at < end && buffer[at] !== newline && !(buffer[at] === first && this.#isDelimiter(at))) at++;
    return at;
  }

  /** The start of the next field behind a run of blanks, or of the next record. */
  #afterBlanks(from: number, end: number): number {
    const { buffer } = this.#block;
    let at = this.#skipBlanks(from);
    if (buffer[at] === carriageReturn && (at + 1 >= end || buffer[at + 1] === newline)) at++;
    this.#more = at < end && buffer[at] !== newline;
    return this.#more ? at : at + 1;
  }

  #isDelimiter(at: number): boolean {
    const mark = this.#delimiter;
    const { buffer } = this.#block;
    for (let i = 0; i < mark.length; i++) if (buffer[at + i] !== mark[i]) return false;
    return true;
  }

  /** Takes the quotes out of a field in place; returns the place behind the last one, −1 when there is none. */
  #quotedField(from: number, end: number, place: number): number {
    const { buffer, bounds } = this.#block;
    let stop = from + 1;
    let pairs = false;
    for (;;) {
      stop = buffer.indexOf(quote, stop);
      if (stop < 0 || stop >= end) return -1;
      if (stop + 1 >= end || buffer[stop + 1] !== quote) break;
      pairs = true;
      stop += 2;
    }
    if (pairs) this.#changed.push({ at: from, bytes: Buffer.from(buffer.subarray(from, stop)) });
    let to = from + 1;
    for (let at = from + 1; at < stop; at++) {
      if (buffer[at] === newline) this.#line++;
      if (!pairs) continue;
      buffer[to++] = buffer[at];
      if (buffer[at] === quote) at++;
    }
    bounds[place] = from + 1;
    bounds[place + 1] = pairs ? to : stop;
    return stop + 1;
  }

  #wrongCount(line: number, from: number, stop: number): never {
    const { buffer } = this.#block;
    const text = buffer.toString('utf8', from, stop);
    const { delimiter, width } = this.#layout;
    const count = this.#blanks
      ? text.trim().split(/[ \t]+/).length
      : text.replaceAll(/"(?:[^"]|"")*"/g, '').split(delimiter).length;
    return this.#fail(line, `${width} columns`, `${count > width ? count : `more than ${width}`}`);
  }

  #reserve(): void {
    const block = this.#block;
    if (block.rows < block.lines.length) return;
    const rows = Math.max(1024, 2 * block.lines.length);
    const bounds = new Int32Array(2 * rows * block.width);
    bounds.set(block.bounds);
    const lines = new Float64Array(rows);
    lines.set(block.lines);
    block.bounds = bounds;
    block.lines = lines;
  }

  #refuseBytes(from: number, end: number): never {
    const { buffer } = this.#block;
    let line = this.#line;
    for (let at = from; at < end; line++) {
      let stop = buffer.indexOf(newline, at);
      if (stop < 0) stop = end;
      if (!isUtf8(buffer.subarray(at, stop))) break;
      at = stop + 1;
    }
    return this.#fail(line, 'text in UTF-8', 'other bytes', ' Save the file as UTF-8.');
  }
}
