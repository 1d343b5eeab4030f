/**
 * Detects whether the first line of a table names its columns, by one set of rules for all readers of text.
 * docs/preprocessing.md has them as a table.
 *
 *   1. The caller's setting (`header`, --header, --no-header) is final.
 *   2. A column that is requested by name needs a header.
 *   3. A number, a date, true or false, an empty cell (except the first), or a repeated uncommon name: data.
 *   4. A column whose cells below are all numbers or dates: the first line is a header.
 *   5. Text everywhere: a header only if the first line has two common names (source, target, user, item, label, …),
 *      or one and there is one column, or an id in its first cell; and if none of these names is below it.
 */
import { isValue, meaningOf, nameWords } from './column-names.js';
import { bareField } from './split-line.js';

export interface HeaderDecision {
  /** The names; null if the first line is data. */
  readonly names: readonly string[] | null;
  /** Whether the rules decided, not the caller. */
  readonly isDetected: boolean;
}

/** Number of lines that the rules read. */
export const headerRows = 100;

/**
 * Decides from the first rows of a table, split into cells.
 *
 * @param wanted columns that are requested by name or by index
 */
export function findHeader(
  rows: readonly (readonly string[])[],
  given: boolean | undefined,
  wanted: readonly (string | number | undefined)[] = [],
): HeaderDecision {
  const [first] = rows;
  if (first === undefined) return { names: null, isDetected: false };
  const names = first.map(bareField);
  if (given !== undefined) return { names: given ? names : null, isDetected: false };
  if (wanted.some((column) => typeof column === 'string')) return { names, isDetected: false };
  return { names: isHeader(names, rows.slice(1)) ? names : null, isDetected: true };
}

/** Applies rules 3 to 5. */
export function isHeader(names: readonly string[], below: readonly (readonly string[])[]): boolean {
  if (names.some(isValue)) return false;
  const common = names.filter((name) => meaningOf(name) !== 'other');
  const twice = names.filter((name, i) => names.indexOf(name) !== i && !common.includes(name));
  if (twice.length > 0 || names.includes('', 1)) return false;
  const rows = below.filter((row) => row.length === names.length);
  const cells = names.map((_, c) => rows.map((row) => row[c].trim()).filter((cell) => cell !== ''));
  if (cells.some((column) => column.length > 0 && column.every(isValue))) return true;
  const enough = common.length >= Math.min(2, names.length) || namesAnId(names[0]);
  const repeated = names.some((name, c) => cells[c].includes(name));
  return enough && !repeated;
}

/** Returns whether a name is that of an id column: `id`, `user_id`, `nodeId`. */
function namesAnId(name: string): boolean {
  return nameWords(name).at(-1) === 'id';
}

/** Returns a note for the user about a file. */
export function headerNote(path: string, { names, isDetected }: HeaderDecision): string {
  const what = names === null ? 'none' : names.map((name) => (name === '' ? '(no name)' : name)).join(', ');
  const shown = what.length > 160 ? `${what.slice(0, 160)} …` : what;
  if (!isDetected) return `${path}: header: ${shown}`;
  const other = names === null ? '--header' : '--no-header';
  return `${path}: header: ${shown} (detected; ${other} to override)`;
}
