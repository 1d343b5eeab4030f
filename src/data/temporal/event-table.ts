/**
 * Event files as text, one event per line, parsed from bytes as they arrive: no string per field, one typed array per
 * column. Fields are separated by one character, or by any run of blanks and tabs; .gz files are decompressed.
 *
 * A line with a wrong number of fields, an invalid id, a time, label or feature that is not finite, and a time earlier than
 * that of the preceding line are errors with file and line.
 */
import { stat } from 'node:fs/promises';
import { FormatError } from '../../util/errors.js';
import { isoSeconds } from '../formats/iso-time.js';
import { type NumberEnd, parseDecimal, scanNumber } from '../formats/parse-number.js';
import { bareField } from '../formats/split-line.js';
import { readChunks } from '../formats/text-lines.js';
import { EventColumns } from './event-columns.js';

/** The role of a column; `split` is 0 training, 1 validation, 2 test. */
export type ColumnRole = 'src' | 'dst' | 'time' | 'label' | 'id' | 'split' | 'type' | 'feature' | 'skip';

export type Delimiter = 'comma' | 'tab' | 'semicolon' | 'bar' | 'blank';

export interface TableLayout {
  readonly path: string;
  readonly delimiter: Delimiter;
  /** Roles of the columns, in their order. */
  readonly roles: readonly ColumnRole[];
  /** Whether further columns are features; the first line sets their number. */
  readonly features?: boolean;
  /** Lines before the first event. */
  readonly skip: number;
  /** Whether times may go back; otherwise that is an error. */
  readonly unsorted: boolean;
  /** Set for arbitrary delimited text: quotes, text ids, dates as times. */
  readonly free?: FreeFormat;
}

export interface FreeFormat {
  /** Names of the columns, for messages. */
  readonly names: readonly string[];
  /** Whether ids are text; if false, a text id throws `TextIdsFound`. */
  readonly hasTextIds: boolean;
  /** Whether sources and destinations have separate ids. */
  readonly sided: boolean;
}

/** Signals that a file must be read again with text ids. */
export class TextIdsFound extends Error {}

export interface ReadProgress {
  readonly path: string;
  readonly lines: number;
  /** Bytes of text read. */
  readonly bytes: number;
  /** null if the file is compressed. */
  readonly totalBytes: number | null;
}

export type OnReadProgress = (progress: ReadProgress) => void;

/** Reads all events of a file. */
export async function readEventTable(
  layout: TableLayout,
  onProgress: OnReadProgress = () => {},
): Promise<EventColumns> {
  const parser = new LineParser(layout);
  const { path } = layout;
  let bytes = 0;
  let totalBytes: number | null = null;
  for await (const chunk of readChunks(path)) {
    if (bytes === 0 && !path.endsWith('.gz')) totalBytes = (await stat(path)).size;
    parser.feed(chunk);
    bytes += chunk.length;
    onProgress({ path, lines: parser.lines, bytes, totalBytes });
  }
  return parser.finish();
}

const [newline, blank, tab, carriageReturn, quote] = [10, 32, 9, 13, 34];
/** The byte of each delimiter; −1 never occurs. */
const marks: Readonly<Record<Delimiter, number>> = { comma: 44, tab, semicolon: 59, bar: 124, blank: -1 };
/** Maximum bytes of a line. */
const maxLineBytes = 2 ** 26;
/** Maximum node number, so that the number of nodes fits a signed 32-bit integer. */
const maxId = 2 ** 31 - 2;

const names: Readonly<Record<ColumnRole, string>> = {
  ...{ src: 'the source', dst: 'the destination', time: 'the time', label: 'the label' },
  ...{ id: 'the event id', split: 'the split', type: 'the type', feature: 'a feature', skip: 'a column' },
};

class LineParser {
  readonly #layout: TableLayout;
  readonly #columns: EventColumns;
  readonly #mark: number;
  readonly #blanks: boolean;
  /** Whether a quoted field may hold the delimiter (split-line.ts). */
  readonly #quotes: boolean;
  /** Whether times are dates; null before the first event. */
  #dates: boolean | null = null;
  /** Bytes of an incomplete line. */
  #rest: Buffer = Buffer.alloc(0);
  #buffer: Buffer = this.#rest;
  /** Start and end of the current field. */
  #from = 0;
  #to = 0;
  /** End of the current line. */
  #end = 0;
  readonly #scanned: NumberEnd = { at: 0 };
  lines = 0;

  constructor(layout: TableLayout) {
    this.#layout = layout;
    this.#columns = new EventColumns(layout.roles, layout.free?.sided);
    this.#mark = marks[layout.delimiter];
    this.#blanks = layout.delimiter === 'blank';
    this.#quotes = layout.free !== undefined && ['comma', 'semicolon', 'bar'].includes(layout.delimiter);
  }

  feed(chunk: Uint8Array): void {
    const last = chunk.lastIndexOf(newline);
    if (last < 0) {
      this.#rest = Buffer.concat([this.#rest, chunk]);
      if (this.#rest.length > maxLineBytes) {
        this.lines++;
        this.#fail(`a line of at most ${maxLineBytes} bytes`, 'a longer one');
      }
      return;
    }
    this.#buffer = Buffer.concat([this.#rest, chunk.subarray(0, last + 1)]);
    this.#rest = Buffer.from(chunk.subarray(last + 1));
    for (let at = 0; at < this.#buffer.length; ) {
      const end = this.#buffer.indexOf(newline, at);
      this.#line(at, end);
      at = end + 1;
    }
  }

  finish(): EventColumns {
    this.#buffer = this.#rest;
    if (this.#buffer.length > 0) this.#line(0, this.#buffer.length);
    this.#columns.finish();
    return this.#columns;
  }

  #fail(what: string, got: string): never {
    const { path } = this.#layout;
    const line = this.lines;
    throw new FormatError(`${path}:${line}: expected ${what}, got ${got}. Correct the line, or remove it.`, {
      path,
      line,
    });
  }

  #line(start: number, stop: number): void {
    this.lines++;
    if (this.lines <= this.#layout.skip) return;
    const buffer = this.#buffer;
    let end = stop;
    if (end > start && buffer[end - 1] === carriageReturn) end--;
    const bom = this.lines === 1 && buffer.toString('latin1', start, start + 3) === '\xef\xbb\xbf';
    let at = this.#skipBlanks(bom ? start + 3 : start, end);
    // Comments of SNAP and of Matrix Market.
    if (at === end || (this.#blanks && (buffer[at] === 35 || buffer[at] === 37))) return;
    const { roles } = this.#layout;
    this.#columns.startRow();
    this.#end = end;
    let fields = 0;
    let features = 0;
    for (; at <= end && fields < roles.length; fields++) {
      const role = roles[fields];
      if (role === 'feature') at = this.#feature(at, features++, fields);
      else at = this.#store(role, at);
    }
    if (this.#layout.features === true) this.#features(at, end, fields);
    else if (fields < roles.length || at <= end) this.#wrongCount(start, end, roles.length);
    else this.#columns.checkWidth(features);
    if (!this.#columns.isInOrder && !this.#layout.unsorted)
      this.#fail(
        'events in order of time (sort: true, or --dataset.sort=true, sorts them)',
        this.#columns.describeStepBack(),
      );
    this.#columns.endRow();
  }

  #wrongCount(start: number, end: number, wanted: number): never {
    let count = 0;
    for (let at = this.#skipBlanks(start, end); at <= end; count++) {
      this.#field(at);
      at = this.#next();
    }
    return this.#fail(`${wanted} columns`, `${count}`);
  }

  /** Stores a column of arbitrary text that has no role other than feature. */
  #feature(from: number, feature: number, column: number): number {
    this.#field(from);
    const value = this.#freeNumber();
    if (value - value !== 0) {
      const name = JSON.stringify(this.#layout.free?.names[column] ?? String(column));
      const advice = 'list the columns that are features as columns.features (--dataset.columns.features=…)';
      this.#fail(`a finite number for column ${name} (or ${advice})`, this.#text());
    }
    this.#columns.pushFeature(value, feature);
    return this.#next();
  }

  #features(start: number, end: number, fields: number): void {
    if (fields < this.#layout.roles.length)
      this.#fail(`at least ${this.#layout.roles.length} columns`, `${fields}`);
    const columns = this.#columns;
    let count = 0;
    for (let at = start; at <= end; count++) {
      const value = this.#number(at);
      if (value - value !== 0) this.#fail(`a finite number for feature ${count}`, this.#text());
      columns.pushFeature(value, count);
      at = this.#next();
    }
    const wanted = columns.featureWidth;
    if (!columns.checkWidth(count)) this.#fail(`${wanted} features`, `${count}`);
  }

  #skipBlanks(from: number, end: number): number {
    let at = from;
    if (this.#blanks) while (at < end && (this.#buffer[at] === blank || this.#buffer[at] === tab)) at++;
    return at;
  }

  /** Finds the end of the field at `from`. */
  #field(from: number): void {
    this.#from = from;
    this.#to = from;
    if (this.#quotes && this.#buffer[from] === quote) this.#skipQuoted();
    while (this.#to < this.#end && !this.#isDelimiter(this.#buffer[this.#to])) this.#to++;
  }

  /** Moves past the closing quote of a field; "" is a quote in the text. */
  #skipQuoted(): void {
    let at = this.#from + 1;
    while (at < this.#end && (this.#buffer[at] !== quote || this.#buffer[at + 1] === quote))
      at += this.#buffer[at] === quote ? 2 : 1;
    if (at >= this.#end) {
      this.#to = this.#end;
      this.#fail('a quote at the end of the field', this.#text());
    }
    this.#to = at + 1;
  }

  #isDelimiter(byte: number): boolean {
    return this.#blanks ? byte === blank || byte === tab : byte === this.#mark;
  }

  /** Returns the start of the next field; beyond the end of the line after the last one. */
  #next(): number {
    if (!this.#blanks) return this.#to + 1;
    const at = this.#skipBlanks(this.#to, this.#end);
    return at === this.#end ? at + 1 : at;
  }

  #text(): string {
    return JSON.stringify(this.#buffer.toString('utf8', this.#from, Math.min(this.#to, this.#from + 60)));
  }

  /** Stores the field at `from`; returns the start of the next one. */
  #store(role: Exclude<ColumnRole, 'feature'>, from: number): number {
    const columns = this.#columns;
    if (role === 'skip' || role === 'type') {
      this.#field(from);
      if (role === 'skip') return this.#next();
      if (this.#from === this.#to) this.#fail('text for the type', '""');
      columns.setType(this.#content());
      return this.#next();
    }
    if (this.#layout.free !== undefined) return this.#storeFree(role, from);
    const value = this.#number(from);
    if (role === 'time' || role === 'label') {
      if (value - value !== 0) this.#fail(`a finite number for ${names[role]}`, this.#text());
    } else {
      const largest = role === 'split' ? 2 : maxId;
      if (!(value >= 0 && value <= largest) || value !== Math.floor(value))
        this.#fail(`a whole number from 0 to ${largest} for ${names[role]}`, this.#text());
    }
    columns.set(role, value);
    return this.#next();
  }

  /** Stores the field at `from` of arbitrary text; returns the start of the next one. */
  #storeFree(role: Exclude<ColumnRole, 'type' | 'skip' | 'feature'>, from: number): number {
    this.#field(from);
    const id = role === 'src' || role === 'dst';
    if (id && this.#layout.free?.hasTextIds === true) {
      const name = this.#content();
      if (name === '') this.#fail(`an id for ${names[role]}`, '""');
      this.#columns.setName(role, name);
      return this.#next();
    }
    const value = role === 'time' ? this.#time() : this.#freeNumber();
    if (id && (Number.isNaN(value) ? this.#content() !== '' : value > maxId && value % 1 === 0))
      throw new TextIdsFound();
    if (role === 'time' || role === 'label') {
      if (value - value !== 0) this.#fail(`a finite number for ${names[role]}`, this.#text());
    } else if (!(value >= 0 && value <= maxId) || value !== Math.floor(value)) {
      this.#fail(`a whole number from 0 to ${maxId} for ${names[role]}`, this.#text());
    }
    this.#columns.set(role, value);
    return this.#next();
  }

  /** Returns the time in the current field; a date in seconds. */
  #time(): number {
    const number = this.#freeNumber();
    const isDate = Number.isNaN(number);
    const value = isDate ? isoSeconds(this.#content()) : number;
    this.#dates ??= isDate;
    if (value - value !== 0) this.#fail('a number or an ISO 8601 date for the time', this.#text());
    if (this.#dates !== isDate)
      this.#fail(`a ${isDate ? 'number' : 'date'} for the time as above`, this.#text());
    return value;
  }

  /** Returns the number in the current field; NaN if it is not one. */
  #freeNumber(): number {
    const value = scanNumber(this.#buffer, this.#from, this.#to, this.#scanned);
    return this.#scanned.at < this.#to || Number.isNaN(value) ? parseDecimal(this.#content()) : value;
  }

  /** Returns the text of the current field. */
  #content(): string {
    const text = this.#buffer.toString('utf8', this.#from, this.#to);
    return this.#layout.free === undefined ? text : bareField(text);
  }

  /** Returns the number at `from`, which becomes the current field. */
  #number(from: number): number {
    const value = scanNumber(this.#buffer, from, this.#end, this.#scanned);
    const { at } = this.#scanned;
    if (Number.isNaN(value) || (at < this.#end && !this.#isDelimiter(this.#buffer[at]))) {
      this.#field(from);
      return this.#slowNumber();
    }
    this.#from = from;
    this.#to = at;
    return value;
  }

  #slowNumber(): number {
    const text = this.#buffer.toString('latin1', this.#from, this.#to);
    const value = parseDecimal(text);
    if (!Number.isNaN(value)) return value;
    if (/^[+-]?(nan|inf|infinity)$/i.test(text.trim())) return Number.NaN;
    return this.#fail('a number', this.#text());
  }
}
