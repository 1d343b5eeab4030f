/**
 * Finds the source, destination and time columns of delimited text: by common header names, by given names or indices, or,
 * without a header, in the order src, dst, time. No column is silently dropped: one without a role is a feature, unless the
 * features are listed.
 */
import { expected, FormatError, ValueError } from '../../util/errors.js';
import { invocation } from '../../util/invocation.js';
import { type ColumnMeaning, commonNames, findByMeaning, isValue } from '../formats/column-names.js';
import { findHeader, headerNote } from '../formats/header.js';
import { nodeTypesOf } from '../formats/node-types.js';
import { bareField, splitLine } from '../formats/split-line.js';
import { tableLayout } from '../formats/table-layout.js';
import { findDelimiter } from '../formats/text-layout.js';
import type { FileHead } from './event-files.js';
import type { ColumnRole, Delimiter } from './event-table.js';

/** Columns by name in the header, or by index from 0. */
export interface EventColumnNames {
  readonly src?: string | number;
  readonly dst?: string | number;
  readonly time?: string | number;
  readonly label?: string | number;
  readonly type?: string | number;
  /** Feature columns; others are then ignored. Default: all columns without another role. */
  readonly features?: readonly (string | number)[];
}

export interface CsvLayout {
  readonly delimiter: Delimiter;
  readonly roles: readonly ColumnRole[];
  /** Name of each column; its index if there is no header. */
  readonly names: readonly string[];
  readonly hasHeader: boolean;
  /** Whether sources and destinations have separate ids, as users and items. */
  readonly sided: boolean;
}

/** The meaning of common column names (column-names.ts), by role. */
const meanings = { src: 'source', dst: 'target', time: 'time', label: 'label', type: 'relation' } as const;
type Named = keyof typeof meanings;
const roleNames = Object.keys(meanings) as Named[];

const advice =
  'Set the columns with columns: { src, dst, time, label, type, features } (--dataset.columns.src=… and so on).';

/** Returns advice for a table of edges that have no time. */
export function timelessAdvice(path: string): string {
  return `Edges without times are not events: prepare them with "${invocation()} preprocess --edges ${path} --output-directory <dataset>" (in programs: fitLinks).`;
}

const marks: Readonly<Record<Delimiter, string>> = {
  ...{ comma: ',', tab: '\t', semicolon: ';', bar: '|', blank: ' ' },
};

/** Detects the delimiter of some lines (text-layout.ts has the rules); blanks if there is none. */
export function eventDelimiter(lines: readonly string[]): Delimiter {
  const mark = findDelimiter(lines);
  const [name] = Object.entries(marks).find(([, one]) => one === mark) ?? [];
  return name !== undefined && lines[0]?.includes(mark) ? (name as Delimiter) : 'blank';
}

/** Splits a line into fields without quotes and blanks around them. */
export function eventFields(text: string, delimiter: Delimiter): string[] {
  return splitLine(text, marks[delimiter]).map(bareField);
}

export interface CsvLayoutOptions {
  readonly columns?: EventColumnNames | undefined;
  /** Whether the first line names the columns. Default: detected (header.ts). */
  readonly header?: boolean | undefined;
  /** Names of one node type or two. Default: from the column names (node-types.ts). */
  readonly nodeTypes?: readonly string[] | undefined;
  readonly onNote?: ((note: string) => void) | undefined;
}

export function csvLayout(path: string, head: FileHead, options: CsvLayoutOptions): CsvLayout {
  const { columns = {} } = options;
  const isTable = tableLayout(path) !== null;
  const delimiter = isTable ? 'comma' : eventDelimiter([head.text, ...head.below]);
  const fields = eventFields(head.text, delimiter);
  const rows = [fields, ...head.below.map((text) => eventFields(text, delimiter))];
  const decision = findHeader(
    rows,
    isTable || options.header,
    Object.values(columns).flat().map(parseColumn),
  );
  if (!isTable) options.onNote?.(headerNote(path, decision));
  const hasHeader = decision.names !== null;
  const names = hasHeader ? fields : fields.map((_, i) => String(i));
  const finder = new ColumnFinder(path, head, names, hasHeader);
  // Given columns come first: common names apply to the rest only.
  for (const role of roleNames) {
    const wanted = columns[role];
    if (wanted !== undefined) finder.take(role, wanted);
  }
  for (const feature of columns.features ?? []) finder.take('feature', feature);
  for (const role of ['src', 'dst', 'time'] as const)
    if (columns[role] === undefined) finder.takeRequired(role);
  for (const role of ['label', 'type'] as const)
    if (columns[role] === undefined) finder.takeCommon(role, meanings[role]);
  finder.takeCommon('id', 'id');
  if (!hasHeader && columns.features === undefined) finder.takeTypeColumn(fields);
  const roles = finder.finish(columns.features === undefined ? 'feature' : 'skip');
  options.onNote?.(columnsNote(path, names, roles));
  const nameOf = (role: ColumnRole): string | null => (hasHeader ? names[roles.indexOf(role)] : null);
  const types = nodeTypesOf(nameOf('src'), nameOf('dst'), options.nodeTypes);
  return { delimiter, roles, names, hasHeader, sided: types !== null };
}

/** Returns a note for the user about the roles of the columns. */
function columnsNote(path: string, names: readonly string[], roles: readonly ColumnRole[]): string {
  const shown = { ...meanings, id: 'event id', feature: 'features', skip: 'ignored' };
  const roleTexts = Object.entries(shown).flatMap(([role, meaning]) => {
    const found = names.filter((name, i) => roles[i] === role && name !== '');
    const more = found.length > 8 ? ' …' : '';
    return found.length === 0 ? [] : [`${meaning} ${found.slice(0, 8).join(' ')}${more}`];
  });
  return `${path}: columns: ${roleTexts.join(', ')}`;
}

/** Assigns roles to columns, one after another. */
class ColumnFinder {
  readonly #roles: (ColumnRole | null)[];

  constructor(
    readonly path: string,
    readonly head: FileHead,
    readonly names: readonly string[],
    readonly hasHeader: boolean,
  ) {
    this.#roles = names.map(() => null);
    const twice = names.find((name, i) => name !== '' && names.indexOf(name) !== i);
    if (twice !== undefined) this.fail('different names in the header', `${JSON.stringify(twice)} twice`);
  }

  fail(what: string, got: string, more = ''): never {
    const { path, head } = this;
    const line = Math.max(1, head.line);
    throw new FormatError(`${path}:${line}: expected ${what}, got ${got}. ${advice}${more}`, { path, line });
  }

  #set(role: ColumnRole, index: number): void {
    const before = this.#roles[index];
    if (before !== null && before !== role)
      this.fail(`one meaning for column ${JSON.stringify(this.names[index])}`, `${before} and ${role}`);
    this.#roles[index] = role;
  }

  /** Assigns a role to the requested column, by name or by index. */
  take(role: Named | 'feature', wanted: string | number): void {
    const byName = this.hasHeader ? this.names.indexOf(String(wanted)) : -1;
    const index = byName < 0 && /^\d+$/.test(String(wanted)) ? Number(wanted) : byName;
    if (index >= 0 && index < this.names.length) {
      this.#set(role, index);
      return;
    }
    const got = this.hasHeader ? this.names.join(', ') : `${this.names.length} columns without a header`;
    const option = role === 'feature' ? 'features' : role;
    this.fail(`a column ${JSON.stringify(wanted)} for columns.${option}`, got);
  }

  /** Assigns a role to a column with a common name that has no role yet; returns whether there is one. */
  takeCommon(role: Named | 'id', meaning: ColumnMeaning): boolean {
    if (!this.hasHeader) return false;
    const index = findByMeaning(
      this.names.map((name, i) => (this.#roles[i] === null ? name : '')),
      meaning,
    );
    if (index >= 0) this.#set(role, index);
    return index >= 0;
  }

  /** Assigns a role to a required column: by its common name, without a header by its index. */
  takeRequired(role: 'src' | 'dst' | 'time'): void {
    if (this.takeCommon(role, meanings[role])) return;
    const index = ['src', 'dst', 'time'].indexOf(role);
    const got = JSON.stringify(this.head.text.slice(0, 80));
    if (this.hasHeader || index >= this.names.length)
      this.fail(
        `a column for ${role} (${commonNames(meanings[role])})`,
        got,
        role === 'time' ? ` ${timelessAdvice(this.path)}` : '',
      );
    this.#set(role, index);
  }

  /** Without a header, text after the time is the type of the event; the meaning of further numbers is unknown. */
  takeTypeColumn(fields: readonly string[]): void {
    const free = this.#roles.indexOf(null);
    if (free < 0) return;
    if (free !== 3 || fields.length !== 4 || this.#roles.includes('type') || isValue(fields[3]))
      this.fail('the columns src, dst, time without a header', `${fields.length} columns`);
    this.#set('type', 3);
  }

  /** Returns all roles, with `others` for columns that have none; the index column of pandas is skipped. */
  finish(others: 'feature' | 'skip'): ColumnRole[] {
    return this.#roles.map((role, i) => role ?? (/^(unnamed.*)?$/i.test(this.names[i]) ? 'skip' : others));
  }
}

/** Parses an index, which configurations write as text, or a name. */
function parseColumn(column: string | number): string | number {
  return /^\d+$/.test(String(column)) ? Number(column) : column;
}

/** Throws unless all columns are names or indices. */
export function checkColumns(columns: EventColumnNames): void {
  const known = [...roleNames, 'features'];
  for (const [key, value] of Object.entries(columns)) {
    if (!known.includes(key))
      throw new ValueError(expected('readTemporal', `one of ${known.join(', ')}`, 'columns', key));
    const all: readonly unknown[] = key === 'features' && Array.isArray(value) ? value : [value];
    const wrong = all.find((one) => typeof one !== 'string' && !(Number.isInteger(one) && Number(one) >= 0));
    if (wrong !== undefined)
      throw new ValueError(expected('readTemporal', 'a name or an index from 0', `columns.${key}`, wrong));
  }
}
