/**
 * Reads and writes sizes such as `0.1G`, `200M`, `1.5 GiB`. Units are powers of 1024, in any case, with or without `B`
 * or `iB`.
 *
 * Two readers share one grammar. `parseSize` is for budgets of caches and devices, where a mistake silently fills a
 * device or leaves it empty: text needs a unit, so "10" is rejected (10 bytes or 10 gigabytes?), and so are terabytes.
 * A number is a count of bytes. `parseByteCount` is for configuration files and command lines, where plain bytes and
 * terabytes occur.
 */
import { expected, ValueError } from './errors.js';

const units: Readonly<Record<string, number>> = { '': 1, k: 2 ** 10, m: 2 ** 20, g: 2 ** 30, t: 2 ** 40 };
const grammar = /^\s*(\d+(?:\.\d*)?|\.\d+)\s*([kmgt]?)(?:i?b)?\s*$/i;

/** Reads the number and the unit of a text; undefined if it is not a size. */
function readSize(text: string): { readonly bytes: number; readonly unit: string } | undefined {
  const match = grammar.exec(text);
  if (match === null) return undefined;
  const unit = match[2].toLowerCase();
  const bytes = Math.floor(Number(match[1]) * units[unit]);
  return Number.isSafeInteger(bytes) ? { bytes, unit } : undefined;
}

/**
 * Returns the bytes of a budget: "0.1G" is 107374182, 12.7 is 12, 0 is 0.
 *
 * @param where the caller's name, for the error
 */
export function parseSize(value: string | number, where = 'parseSize', name = 'the size'): number {
  if (typeof value === 'number' && value >= 0 && Math.floor(value) <= Number.MAX_SAFE_INTEGER)
    return Math.floor(value);
  const size = typeof value === 'string' ? readSize(value) : undefined;
  if (size !== undefined && size.unit !== '' && size.unit !== 't') return size.bytes;
  const what = 'a text such as "0.1G", "200M" or "64K", or a number of bytes of at least 0,';
  throw new ValueError(
    expected(where, what, name, value, 'Units are K, M and G (powers of 1024); text needs a unit.'),
  );
}

/** Returns a size of at least 1 byte, also from plain digits or with T; undefined if it is not one. */
export function parseByteCount(value: string | number): number | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value > 0 ? value : undefined;
  const bytes = readSize(value)?.bytes ?? 0;
  return bytes > 0 ? bytes : undefined;
}

/** Formats a size to three digits: `1.5 GiB`. */
export function formatSize(bytes: number): string {
  const names = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let power = 0;
  while (power < names.length - 1 && Math.abs(bytes) >= 1024 ** (power + 1)) power++;
  return `${power === 0 ? bytes : Number((bytes / 1024 ** power).toPrecision(3))} ${names[power]}`;
}

/** Formats bytes with two decimals: 1536 is "1.50 KiB". */
export function formatBytes(bytes: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  if (unit === 0) return `${value} bytes`;
  return `${value >= 1000 ? value.toFixed(0) : value.toPrecision(3)} ${units[unit]}`;
}
