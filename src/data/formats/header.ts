/**
 * Whether the first line of a table names its columns: one set of rules for every reader of text. docs/preprocessing.md has
 * them as a table.
 *
 *   1. What the caller says (`header`, --header, --no-header) holds.
 *   2. A column that is asked for by name needs a header.
 *   3. A number, a date, true or false, an empty cell (but for the first), or twice what is no usual name: data.
 *   4. A column whose cells below are all numbers or dates: the first line is a header.
 *   5. Text everywhere: a header only when the first line has two usual names (source, target, user, item, label, …),
 *      or one and there is one column, or an id in its first cell; and when none of these names is below it.
 */
import { isValue, meaningOf, nameWords } from './column-names.js';
import { bareField } from './split-line.js';

export interface HeaderDecision {
  /** The names; null when the first line is data. */
  readonly names: readonly string[] | null;
  /** Whether the rules decided, not the caller. */
  readonly found: boolean;
}

/** How many lines the rules look at. */
export const headerRows = 100;

/**
 * Decides by the first rows of a table, split into cells.
 *
 * @param wanted columns that are asked for by name or by place
 */
export function findHeader(
  rows: readonly (readonly string[])[],
  told: boolean | undefined,
  wanted: readonly (string | number | undefined)[] = [],
): HeaderDecision {
  const [first] = rows;
  if (first === undefined) return { names: null, found: false };
  const names = first.map(bareField);
  if (told !== undefined) return { names: told ? names : null, found: false };
  if (wanted.some((column) => typeof column === 'string')) return { names, found: false };
  return { names: isHeader(names, rows.slice(1)) ? names : null, found: true };
}

/** Rules 3 to 5. */
export function isHeader(names: readonly string[], below: readonly (readonly string[])[]): boolean {
  if (names.some(isValue)) return false;
  const usual = names.filter((name) => meaningOf(name) !== 'other');
  const twice = names.filter((name, i) => names.indexOf(name) !== i && !usual.includes(name));
  if (twice.length > 0 || names.includes('', 1)) return false;
  const rows = below.filter((row) => row.length === names.length);
  const cells = names.map((_, c) => rows.map((row) => row[c].trim()).filter((cell) => cell !== ''));
  if (cells.some((column) => column.length > 0 && column.every(isValue))) return true;
  const enough = usual.length >= Math.min(2, names.length) || namesAnId(names[0]);
  const repeated = names.some((name, c) => cells[c].includes(name));
  return enough && !repeated;
}

/** `id`, `user_id`, `nodeId`: no name that a node has. */
function namesAnId(name: string): boolean {
  return nameWords(name).at(-1) === 'id';
}

/** What is said about a file, for people. */
export function headerNote(path: string, { names, found }: HeaderDecision): string {
  const what = names === null ? 'none' : names.map((name) => (name === '' ? '(no name)' : name)).join(', ');
  const shown = what.length > 160 ? `${what.slice(0, 160)} …` : what;
  if (!found) return `${path}: header: ${shown}`;
  const other = names === null ? '--header' : '--no-header';
  return `${path}: header: ${shown} (found; ${other} to override)`;
}
