/**
 * Mapping files: one line `raw,mapped` per name, as CSV (RFC 4180), so that raw ids with commas, quotes and line ends
 * survive. Order is free; ours have the order of first appearance in the input.
 */
import { FormatError } from '../../util/errors.js';

const comma = 44;
const quote = 34;
const newline = 10;
const carriage = 13;

/** One line of a mapping file. */
export function mappingLine(raw: string, mapped: number): string {
  return `${csvField(raw, ',')},${mapped}\n`;
}

/** A whole mapping file. */
export function mappingText(names: { readonly size: number; nameOf(id: number): string }): string {
  return Array.from({ length: names.size }, (_, id) => mappingLine(names.nameOf(id), id)).join('');
}

/** A field as CSV, quoted where it must be. */
export function csvField(text: string, delimiter: string): string {
  return text.includes(delimiter) || /["\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** A name, where it stands in the bytes once its quotes are gone, and its number. */
interface MappingRecord {
  readonly start: number;
  readonly stop: number;
  readonly id: number;
  readonly line: number;
}

/** The records of a mapping file. Quotes are taken out of `bytes` in place. */
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
        if (at >= bytes.length) fail('a quote without an end');
        if (bytes[at] === newline) line++;
        if (bytes[at] === quote && bytes[++at] !== quote) break;
        bytes[stop++] = bytes[at];
      }
      if (bytes[at] !== comma) fail('more after the quote');
    } else {
      // A raw id without quotes may still hold commas in files that others wrote: the last one ends it.
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
