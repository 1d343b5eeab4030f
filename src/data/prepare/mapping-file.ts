/**
 * Mapping files: one line `raw,mapped` per name, as CSV (RFC 4180), which allows raw ids with commas, quotes and line ends.
 * Lines may be in any order; files written here have the order of first appearance in the input.
 */
import { FormatError } from '../../util/errors.js';
import { csvField } from '../formats/csv-text.js';

const comma = 44;
const quote = 34;
const newline = 10;
const carriage = 13;

/** Returns one line of a mapping file. */
export function mappingLine(raw: string, mapped: number): string {
  return `${csvField(raw, ',')},${mapped}\n`;
}

/** Returns the text of a mapping file. */
export function mappingText(names: { readonly size: number; nameOf(id: number): string }): string {
  return Array.from({ length: names.size }, (_, id) => mappingLine(names.nameOf(id), id)).join('');
}

/** The position of a name in the bytes, without its quotes, and its number. */
interface MappingRecord {
  readonly start: number;
  readonly stop: number;
  readonly id: number;
  readonly line: number;
}

/** Yields the records of a mapping file. Quotes are removed from `bytes` in place. */
export function* mappingRecords(bytes: Uint8Array, path: string): Generator<MappingRecord> {
  let line = 1;
  let at = 0;
  while (at < bytes.length) {
    const first = line;
    const fail = (got: string): never => {
      throw new FormatError(`${path}:${first}: expected a line "raw,mapped", got ${got}.`, {
        path,
        line: first,
      });
    };
    const start = bytes[at] === quote ? at + 1 : at;
    let stop = start;
    if (start > at) {
      for (at = start; ; at++) {
        if (at >= bytes.length) fail('an unterminated quote');
        if (bytes[at] === newline) line++;
        if (bytes[at] === quote && bytes[++at] !== quote) break;
        bytes[stop++] = bytes[at];
      }
      if (bytes[at] !== comma) fail('text after the quote');
    } else {
      // In files of other programs an unquoted raw id may contain commas: the last one ends it.
      let lineEnd = bytes.indexOf(newline, at);
      if (lineEnd < 0) lineEnd = bytes.length;
      stop = bytes.lastIndexOf(comma, lineEnd - 1);
      if (stop < at) fail('no comma');
      at = stop;
    }
    let id = 0;
    const digits = ++at;
    for (; at < bytes.length && bytes[at] !== newline && bytes[at] !== carriage; at++) {
      if (bytes[at] < 48 || bytes[at] > 57 || at - digits > 9) fail('no whole number after the comma');
      id = id * 10 + bytes[at] - 48;
    }
    if (at === digits) fail('no number after the comma');
    if (bytes[at] === carriage) at++;
    at++;
    line++;
    yield { start, stop, id, line: first };
  }
}
