/**
 * The columns of delimited text: which is the source, the destination, the time, by their usual names in the header, by
 * the names or places that are given, or, without a header, as src, dst, time. No column is dropped unsaid: what has no
 * role is a feature, unless the features are listed.
 */
import { expected, FormatError, ValueError } from '../../util/errors.js';
import { type ColumnMeaning, commonNames, findByMeaning, isValue } from '../formats/column-names.js';
import { findHeader, headerNote } from '../formats/header.js';
import { nodeTypesOf } from '../formats/node-types.js';
import { bareField, splitLine } from '../formats/split-line.js';
import { findDelimiter } from '../formats/text-layout.js';
import type { FileHead } from './event-files.js';
import type { ColumnRole, Delimiter } from './event-table.js';

/** Columns by their name in the header, or by place from 0. */
export interface EventColumnNames {
  readonly src?: string | number;
  readonly dst?: string | number;
  readonly time?: string | number;
  readonly label?: string | number;
  readonly type?: string | number;
  /** Exactly these are features, and other columns are left out; by default all others are features. */
  readonly features?: readonly (string | number)[];
}

export interface CsvLayout {
  readonly delimiter: Delimiter;
  readonly roles: readonly ColumnRole[];
  /** Of each column; places where there is no header. */
  readonly names: readonly string[];
  readonly hasHeader: boolean;
  /** Users and items: both sides have ids of their own. */
  readonly sided: boolean;
}

/** What the usual names of a column mean (column-names.ts). */
const meanings = { src: 'source', dst: 'target', time: 'time', label: 'label', type: 'relation' } as const;
type Named = keyof typeof meanings;
const named = Object.keys(meanings) as Named[];

const advice =
  'Say what the columns are with columns: { src, dst, time, label, type, features } (--dataset.columns.src=… and so on).';

const marks: Readonly<Record<Delimiter, string>> = {
  ...{ comma: ',', tab: '\t', semicolon: ';', bar: '|', blank: ' ' },
};

/** The separator of some lines (text-layout.ts has the rules), else blanks. */
export function eventDelimiter(lines: readonly string[]): Delimiter {
  const mark = findDelimiter(lines);
  const [name] = Object.entries(marks).find(([, one]) => one === mark) ?? [];
  return name !== undefined && lines[0]?.includes(mark) ? (name as Delimiter) : 'blank';
}

/** The fields of a line, without quotes and blanks around them. */
export function eventFields(text: string, delimiter: Delimiter): string[] {
  return splitLine(text, marks[delimiter]).map(bareField);
}

export interface CsvLayoutOptions {
  readonly columns?: EventColumnNames | undefined;
  /** Whether the first line names the columns; by default its look decides (header.ts). */
  readonly header?: boolean | undefined;
  /** Names of one kind of node or two; by default the names of the columns decide (node-types.ts). */
  readonly nodeTypes?: readonly string[] | undefined;
  readonly onNote?: ((note: string) => void) | undefined;
}

export function csvLayout(path: string, head: FileHead, options: CsvLayoutOptions): CsvLayout {
  const { columns = {} } = options;
  const delimiter = eventDelimiter([head.text, ...head.below]);
  const fields = eventFields(head.text, delimiter);
  const rows = [fields, ...head.below.map((text) => eventFields(text, delimiter))];
  const decision = findHeader(rows, options.header, Object.values(columns).flat().map(placeOrName));
  options.onNote?.(headerNote(path, decision));
  const hasHeader = decision.names !== null;
  const names = hasHeader ? fields : fields.map((_, i) => String(i));
  const finder = new ColumnFinder(path, head, names, hasHeader);
  // What is named comes first: the usual names have a say only about the rest.
  for (const role of named) {
    const wanted = columns[role];
    if (wanted !== undefined) finder.take(role, wanted);
  }
  for (const feature of columns.features ?? []) finder.take('feature', feature);
  for (const role of ['src', 'dst', 'time'] as const)
    if (columns[role] === undefined) finder.takeRequired(role);
  for (const role of ['label', 'type'] as const)
    if (columns[role] === undefined) finder.takeUsual(role, meanings[role]);
  finder.takeUsual('id', 'id');
  if (!hasHeader && columns.features === undefined) finder.takeWord(fields);
  const roles = finder.finish(columns.features === undefined ? 'feature' : 'skip');
  options.onNote?.(columnsNote(path, names, roles));
  const called = (role: ColumnRole): string | null => (hasHeader ? names[roles.indexOf(role)] : null);
  const types = nodeTypesOf(called('src'), called('dst'), options.nodeTypes);
  return { delimiter, roles, names, hasHeader, sided: types !== null };
}

/** What the columns were taken for, for people. */
function columnsNote(path: string, names: readonly string[], roles: readonly ColumnRole[]): string {
  const shown = { ...meanings, id: 'event id', feature: 'features', skip: 'left out' };
  const parts = Object.entries(shown).flatMap(([role, meaning]) => {
    const its = names.filter((name, i) => roles[i] === role && name !== '');
    return its.length === 0 ? [] : [`${meaning} ${its.slice(0, 8).join(' ')}${its.length > 8 ? ' …' : ''}`];
  });
  return `${path}: columns: ${parts.join(', ')}`;
}

/** Gives columns their roles, one after another. */
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

  fail(what: string, got: string): never {
    const { path, head } = this;
    const line = Math.max(1, head.line);
    throw new FormatError(`${path}:${line}: expected ${what}, got ${got}. ${advice}`, { path, line });
  }

  #set(role: ColumnRole, place: number): void {
    const before = this.#roles[place];
    if (before !== null && before !== role)
      this.fail(`one meaning for column ${JSON.stringify(this.names[place])}`, `${before} and ${role}`);
    this.#roles[place] = role;
  }

  /** The column that was asked for, by name or by place. */
  take(role: Named | 'feature', wanted: string | number): void {
    const byName = this.hasHeader ? this.names.indexOf(String(wanted)) : -1;
    const place = byName < 0 && /^\d+$/.test(String(wanted)) ? Number(wanted) : byName;
    if (place >= 0 && place < this.names.length) {
      this.#set(role, place);
      return;
    }
    const got = this.hasHeader ? this.names.join(', ') : `${this.names.length} columns without a header`;
    const option = role === 'feature' ? 'features' : role;
    this.fail(`a column ${JSON.stringify(wanted)} for columns.${option}`, got);
  }

  /** The column with a usual name, of those that have no role; returns whether there is one. */
  takeUsual(role: Named | 'id', meaning: ColumnMeaning): boolean {
    if (!this.hasHeader) return false;
    const place = findByMeaning(
      this.names.map((name, i) => (this.#roles[i] === null ? name : '')),
      meaning,
    );
    if (place >= 0) this.#set(role, place);
    return place >= 0;
  }

  /** A column that every file has: by its usual name, without a header by its place. */
  takeRequired(role: 'src' | 'dst' | 'time'): void {
    if (this.takeUsual(role, meanings[role])) return;
    const place = ['src', 'dst', 'time'].indexOf(role);
    const got = JSON.stringify(this.head.text.slice(0, 80));
    if (this.hasHeader || place >= this.names.length)
      this.fail(`a column for ${role} (${commonNames(meanings[role])})`, got);
    this.#set(role, place);
  }

  /** Without a header a word after the time is the type of the event; further numbers could be anything. */
  takeWord(fields: readonly string[]): void {
    const free = this.#roles.indexOf(null);
    if (free < 0) return;
    if (free !== 3 || fields.length !== 4 || this.#roles.includes('type') || isValue(fields[3]))
      this.fail('the columns src, dst, time without a header', `${fields.length} columns`);
    this.#set('type', 3);
  }

  /** All roles, with one for the columns that have none; what pandas writes before the first column is left out. */
  finish(others: 'feature' | 'skip'): ColumnRole[] {
    return this.#roles.map((role, i) => role ?? (/^(unnamed.*)?$/i.test(this.names[i]) ? 'skip' : others));
  }
}

/** Configurations write places as text. */
function placeOrName(column: string | number): string | number {
  return /^\d+$/.test(String(column)) ? Number(column) : column;
}

/** Refuses columns that are no names or places. */
export function checkColumns(columns: EventColumnNames): void {
  const known = [...named, 'features'];
  for (const [key, value] of Object.entries(columns)) {
    if (!known.includes(key))
      throw new ValueError(expected('readTemporal', `one of ${known.join(', ')}`, 'columns', key));
    const all: readonly unknown[] = key === 'features' && Array.isArray(value) ? value : [value];
    const wrong = all.find((one) => typeof one !== 'string' && !(Number.isInteger(one) && Number(one) >= 0));
    if (wrong !== undefined)
      throw new ValueError(expected('readTemporal', 'a name or a place from 0', `columns.${key}`, wrong));
  }
}
