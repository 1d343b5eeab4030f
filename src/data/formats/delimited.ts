/**
 * Records of delimited text (.gz too), parsed from bytes as they arrive, in the memory of one chunk and without a string per
 * field unless requested. With commas, semicolons and bars as in RFC 4180: a quoted field may hold delimiters, line ends, and
 * "" for a quote. With tabs, blanks and other delimiters, quotes around a whole field are removed, and any other quote is
 * text (split-line.ts has the same rules for single lines). Blanks around an unquoted number are ignored. Lines end in \n or
 * \r\n, which may be mixed; a byte order mark, empty lines and lines of blanks are skipped.
 *
 * A record with a wrong number of fields, an unterminated quote and invalid UTF-8 are errors with file and line.
 */
import { isUtf8 } from 'node:buffer';
import { FormatError } from '../../util/errors.js';
import { parseNumber } from './parse-number.js';
import type { TextLayout } from './text-layout.js';
import { readChunks } from './text-lines.js';

/** Some consecutive records; valid until the next block. */
export class RecordBlock {
  rows = 0;
  /** Field f of row r is bytes bounds[2i] … bounds[2i + 1] − 1 of `buffer`, with i = r · width + f. */
  bounds = new Int32Array(0);
  /** The line of each row, from 1. */
  lines = new Float64Array(0);
  buffer: Buffer = Buffer.alloc(0);

  /** `width`: fields per record; 0 until the first record sets it. */
  constructor(public width: number) {}

  text(row: number, field: number): string {
    const at = 2 * (row * this.width + field);
    return this.buffer.toString('utf8', this.bounds[at], this.bounds[at + 1]);
  }

  fields(row: number): string[] {
    return Array.from({ length: this.width }, (_, field) => this.text(row, field));
  }
}

/** Yields all records of a file in blocks. */
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
const isBlank = (byte: number): boolean => byte === blank || byte === tab;
const byteOrderMark = 0xefbbbf;
/** Maximum bytes of a record: a file with longer ones is not a table, and must not fill the memory. */
const maxRecordBytes = 2 ** 26;

export class RecordParser {
  readonly #layout: TextLayout;
  readonly #delimiter: Buffer;
  readonly #comment: Buffer;
  readonly #blanks: boolean;
  readonly #tabs: boolean;
  /** Comments are skipped until this many records have been read. */
  readonly #commentRecords: number;
  #records = 0;
  readonly #block: RecordBlock;
  /** Bytes of an incomplete record. */
  #rest: Buffer = Buffer.alloc(0);
  /** Line of the next byte, from 1. */
  #line = 1;
  /** Whether the record has another field after the last one read. */
  #more = false;
  /** Original bytes of the fields of the record from which quotes were removed. */
  #changed: { readonly at: number; readonly bytes: Buffer }[] = [];

  /** With `width` 0 in the layout the first record sets the width. */
  constructor(layout: TextLayout, commentRecords = layout.commentsAnywhere ? Number.POSITIVE_INFINITY : 0) {
    this.#layout = layout;
    this.#delimiter = Buffer.from(layout.delimiter);
    this.#comment = Buffer.from(layout.comment);
    this.#commentRecords = commentRecords;
    this.#blanks = layout.delimiter === ' ';
    this.#tabs = layout.delimiter === '\t';
    this.#block = new RecordBlock(layout.width);
  }

  /** Returns the records that end in `chunk`, at most `most`; the remaining bytes are kept for the next chunk. */
  feed(chunk: Uint8Array, last: boolean, most = Number.POSITIVE_INFINITY): RecordBlock {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    const block = this.#block;
    block.buffer = buffer;
    block.rows = 0;
    // Bytes after the last line end belong to an incomplete record.
    const end = last ? buffer.length : buffer.lastIndexOf(newline) + 1;
    let at = 0;
    if (this.#line === 1 && end >= 3 && buffer.readUIntBE(0, 3) === byteOrderMark) at = 3;
    // Checked before quotes are removed, which leaves bytes behind that are not text.
    if (!isUtf8(buffer.subarray(at, end))) this.#rejectBytes(at, end);
    while (at < end && block.rows < most) {
      const next = this.#record(at, end, last);
      if (next < 0) break;
      at = next;
    }
    this.#rest = Buffer.from(buffer.subarray(at));
    if (this.#rest.length > maxRecordBytes)
      this.#fail(
        this.#line,
        `a record of at most ${maxRecordBytes} bytes`,
        `${this.#rest.length} and no end`,
      );
    return block;
  }

  #fail(line: number, what: string, got: string, advice = ' Correct the line.'): never {
    const { path } = this.#layout;
    throw new FormatError(`${path}:${line}: expected ${what}, got ${got}.${advice}`, { path, line });
  }

  /** Parses the record at `from`; returns the start of the next one, −1 if the record is incomplete. */
  #record(from: number, end: number, last: boolean): number {
    const { buffer } = this.#block;
    const line = this.#line;
    let stop = buffer.indexOf(newline, from);
    if (stop < 0) stop = end;
    if (this.#isSkipped(from, stop)) {
      this.#line++;
      return stop + 1;
    }
    if (this.#changed.length > 0) this.#changed = [];
    const start = this.#blanks ? this.#skipBlanks(from) : from;
    if (this.#block.width === 0 && !this.#measure(start, end)) return this.#incomplete(line, last);
    const { width } = this.#block;
    this.#reserve();
    let at = start;
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
    this.#records++;
    this.#line++;
    return at;
  }

  /** Counts the fields of the first record; returns whether it is complete. */
  #measure(from: number, end: number): boolean {
    const line = this.#line;
    let fields = 0;
    let at = from;
    do {
      at = this.#field(at, end, 0, line);
      if (at < 0) return false;
      fields++;
    } while (this.#more);
    this.#restore(line);
    this.#block.width = fields;
    return true;
  }

  /** Restores the bytes of a record from which quotes were removed. */
  #restore(line: number): void {
    this.#line = line;
    for (const { at, bytes } of this.#changed) this.#block.buffer.set(bytes, at);
    this.#changed = [];
  }

  /** Restores an incomplete record, to be parsed again with the following bytes. */
  #incomplete(line: number, last: boolean): -1 {
    if (last) this.#fail(line, 'a quote at the end of the field', 'none', ' Look for an unmatched quote.');
    this.#restore(line);
    return -1;
  }

  /** Returns whether a line is skipped: before the first record, blank, or a comment. */
  #isSkipped(from: number, stop: number): boolean {
    if (this.#line <= this.#layout.skip) return true;
    const { buffer } = this.#block;
    let at = from;
    while (buffer[at] === blank || (buffer[at] === tab && !this.#tabs)) at++;
    if (at >= stop || (buffer[at] === carriageReturn && at + 1 === stop)) return true;
    const { length } = this.#comment;
    return (
      length > 0 &&
      this.#records < this.#commentRecords &&
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

  /** Finds the bounds of the field at `from`; returns the start of the next field or record, −1 if incomplete. */
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
      const to = ends && at > from && buffer[at - 1] === carriageReturn ? at - 1 : at;
      bounds[place] = from;
      bounds[place + 1] = to;
      if (to > from && (isBlank(buffer[from]) || isBlank(buffer[to - 1]))) this.#trimNumber(from, to, place);
      else if (buffer[from] === quote) this.#wholeQuoted(from, to, place);
    }
    if (this.#blanks) return this.#afterBlanks(at, end);
    this.#more = at < end && buffer[at] !== newline;
    return this.#more ? at + this.#delimiter.length : at + 1;
  }

  /** Excludes the blanks around a number from its bounds. */
  #trimNumber(from: number, to: number, place: number): void {
    const { buffer, bounds } = this.#block;
    if (Number.isNaN(parseNumber(buffer, from, to))) return;
    let [start, end] = [from, to];
    while (isBlank(buffer[start])) start++;
    while (isBlank(buffer[end - 1])) end--;
    bounds[place] = start;
    bounds[place + 1] = end;
  }

  /** Removes the quotes around a whole field; leaves any other field unchanged. */
  #wholeQuoted(from: number, to: number, place: number): void {
    const { buffer, bounds } = this.#block;
    const last = to - 1;
    if (last === from || buffer[last] !== quote) return;
    let pairs = false;
    for (let at = from + 1; at < last; at++) {
      if (buffer[at] !== quote) continue;
      if (++at === last || buffer[at] !== quote) return;
      pairs = true;
    }
    bounds[place] = from + 1;
    bounds[place + 1] = pairs ? this.#undouble(from, last) : last;
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

  /** Returns the start of the next field after a run of blanks, or of the next record. */
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

  /** Removes the quotes of a field in place; returns the position after the closing one, −1 if there is none. */
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
    for (let at = buffer.indexOf(newline, from); at >= 0 && at < stop; at = buffer.indexOf(newline, at + 1))
      this.#line++;
    bounds[place] = from + 1;
    bounds[place + 1] = pairs ? this.#undouble(from, stop) : stop;
    return stop + 1;
  }

  /** Replaces "" by " in the text between the quotes at `from` and `stop`; returns the new end of the text. */
  #undouble(from: number, stop: number): number {
    const { buffer } = this.#block;
    this.#changed.push({ at: from, bytes: Buffer.from(buffer.subarray(from, stop)) });
    let to = from + 1;
    for (let at = from + 1; at < stop; at++) {
      buffer[to++] = buffer[at];
      if (buffer[at] === quote) at++;
    }
    return to;
  }

  #wrongCount(line: number, from: number, stop: number): never {
    const { buffer, width } = this.#block;
    const text = buffer.toString('utf8', from, stop);
    const { delimiter } = this.#layout;
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

  #rejectBytes(from: number, end: number): never {
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
