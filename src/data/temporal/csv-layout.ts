/**
 * The columns of delimited text: which is the source, the destination, the time, by their usual names in the header, by
 * the names or places that are given, or, without a header, as src, dst, time. No column is dropped unsaid: what has no
 * role is a feature, unless the features are listed.
 */
import { expected, FormatError, ValueError } from '../../util/errors.js';
import { isValue } from '../formats/column-names.js';
import { findHeader, headerNote } from '../formats/header.js';
import { nodeTypesOf } from '../formats/node-types.js';
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

type Named = Exclude<keyof EventColumnNames, 'features'>;

/** In order of preference. */
const usual: Readonly<Record<Named | 'id', readonly string[]>> = {
  src: ['src', 'source', 'from', 'user', 'user_id', 'sender', 'u', 'src_id', 'source_id', 'from_id'],
  dst: [
    'dst',
    'target',
    'destination',
    'to',
    'item',
    'item_id',
    'receiver',
    'recipient',
    'v',
    'dst_id',
    'target_id',
    'to_id',
  ],
  time: ['time', 'timestamp', 'ts', 't', 'date', 'datetime', 'unixts'],
  label: ['label', 'state_label'],
  type: ['type', 'event_type', 'edge_type', 'relation'],
  id: ['idx', 'id', 'event_id', 'edge_id'],
};

const advice =
  'Say what the columns are with columns: { src, dst, time, label, type, features } (--dataset.columns.src=… and so on).';

const marks: Readonly<Record<string, Delimiter>> = {
  ',': 'comma',
  '\t': 'tab',
  ';': 'semicolon',
  '|': 'bar',
};

/** The separator of some lines (text-layout.ts has the rules), else blanks. */
export function eventDelimiter(lines: readonly string[]): Delimiter {
  const mark = findDelimiter(lines);
  return lines[0]?.includes(mark) ? (marks[mark] ?? 'blank') : 'blank';
}

/** The fields of a line, without quotes and blanks around them. */
export function fieldsOf(text: string, delimiter: Delimiter): string[] {
  if (delimiter === 'blank') return text.trim().split(/[ \t]+/);
  const mark = { comma: ',', tab: '\t', semicolon: ';', bar: '\\|' }[delimiter];
  const pattern = new RegExp(`\\s*"(?:[^"]|"")*"[^${mark}]*|[^${mark}]*`, 'y');
  const fields: string[] = [];
  for (let at = 0; at <= text.length; at = pattern.lastIndex + 1) {
    pattern.lastIndex = at;
    fields.push(unquoted((pattern.exec(text) as RegExpExecArray)[0]));
  }
  return fields;
}

/** A field without blanks and quotes around it. */
export function unquoted(field: string): string {
  const text = field.trim();
  return text.length > 1 && text.startsWith('"') && text.endsWith('"')
    ? text.slice(1, -1).replaceAll('""', '"').trim()
    : text;
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
  const fields = fieldsOf(head.text, delimiter);
  const rows = [fields, ...head.below.map((text) => fieldsOf(text, delimiter))];
  const decision = findHeader(rows, options.header, Object.values(columns).flat().map(placeOrName));
  options.onNote?.(headerNote(path, decision));
  const hasHeader = decision.names !== null;
  const names = hasHeader ? fields : fields.map((_, i) => String(i));
  const finder = new ColumnFinder(path, head, names, hasHeader);
  const roles = names.map((): ColumnRole => 'feature');
  const take = (role: ColumnRole, place: number): void => {
    if (roles[place] !== 'feature' && roles[place] !== 'skip')
      finder.fail(`one meaning for column ${JSON.stringify(names[place])}`, `${roles[place]} and ${role}`);
    roles[place] = role;
  };
  const places = { src: finder.find('src', columns.src), dst: finder.find('dst', columns.dst) };
  take('src', places.src);
  take('dst', places.dst);
  take('time', finder.find('time', columns.time));
  for (const role of ['label', 'type'] as const) {
    const place = columns[role] === undefined ? finder.usual(role) : finder.find(role, columns[role]);
    if (place >= 0) take(role, place);
  }
  const id = finder.usual('id');
  if (id >= 0 && roles[id] === 'feature') roles[id] = 'id';
  // What pandas writes before the first column.
  names.forEach((name, i) => {
    if (roles[i] === 'feature' && /^(unnamed.*)?$/i.test(name)) roles[i] = 'skip';
  });
  if (columns.features !== undefined) {
    for (let i = 0; i < roles.length; i++) if (roles[i] === 'feature') roles[i] = 'skip';
    for (const feature of columns.features) take('feature', finder.find('features', feature));
  } else if (!hasHeader && roles.includes('feature')) {
    wordAsType(finder, roles, fields);
  }
  const called = (place: number): string | null => (hasHeader ? names[place] : null);
  const types = nodeTypesOf(called(places.src), called(places.dst), options.nodeTypes);
  return { delimiter, roles, names, hasHeader, sided: types !== null };
}

/** Without a header a word after the time is the type of the event; further numbers could be anything. */
function wordAsType(finder: ColumnFinder, roles: ColumnRole[], fields: readonly string[]): void {
  const only = roles.indexOf('feature');
  if (only === 3 && roles.length === 4 && !roles.includes('type') && !isValue(fields[3])) roles[3] = 'type';
  else finder.fail('the columns src, dst, time without a header', `${fields.length} columns`);
}

class ColumnFinder {
  readonly #lower: readonly string[];

  constructor(
    readonly path: string,
    readonly head: FileHead,
    readonly names: readonly string[],
    readonly hasHeader: boolean,
  ) {
    this.#lower = names.map((name) => name.toLowerCase());
    const twice = names.find((name, i) => name !== '' && names.indexOf(name) !== i);
    if (twice !== undefined) this.fail('different names in the header', `${JSON.stringify(twice)} twice`);
  }

  fail(what: string, got: string): never {
    const { path, head } = this;
    const line = Math.max(1, head.line);
    throw new FormatError(`${path}:${line}: expected ${what}, got ${got}. ${advice}`, { path, line });
  }

  /** The place of a column; −1 when none has a usual name. */
  usual(role: Named | 'id'): number {
    if (!this.hasHeader) return -1;
    const name = usual[role].find((one) => this.#lower.includes(one));
    return name === undefined ? -1 : this.#lower.indexOf(name);
  }

  find(role: Named | 'features', wanted: string | number | undefined): number {
    if (wanted === undefined) {
      const required = role as 'src' | 'dst' | 'time';
      const place = this.hasHeader ? this.usual(required) : ['src', 'dst', 'time'].indexOf(required);
      if (place >= 0 && place < this.names.length) return place;
      const some = usual[required].slice(0, 5).join(', ');
      return this.fail(`a column for ${role} (${some})`, JSON.stringify(this.head.text.slice(0, 80)));
    }
    const byName = this.hasHeader ? this.names.indexOf(String(wanted)) : -1;
    const place = byName < 0 && /^\d+$/.test(String(wanted)) ? Number(wanted) : byName;
    if (place >= 0 && place < this.names.length) return place;
    const got = this.hasHeader ? this.names.join(', ') : `${this.names.length} columns without a header`;
    return this.fail(`a column ${JSON.stringify(wanted)} for columns.${role}`, got);
  }
}

/** Configurations write places as text. */
function placeOrName(column: string | number): string | number {
  return /^\d+$/.test(String(column)) ? Number(column) : column;
}

/** Refuses columns that are no names or places. */
export function checkColumns(columns: EventColumnNames): void {
  const known = ['src', 'dst', 'time', 'label', 'type', 'features'];
  for (const [key, value] of Object.entries(columns)) {
    if (!known.includes(key))
      throw new ValueError(expected('readTemporal', `one of ${known.join(', ')}`, 'columns', key));
    const all: readonly unknown[] = key === 'features' && Array.isArray(value) ? value : [value];
    const wrong = all.find((one) => typeof one !== 'string' && !(Number.isInteger(one) && Number(one) >= 0));
    if (wrong !== undefined)
      throw new ValueError(expected('readTemporal', 'a name or a place from 0', `columns.${key}`, wrong));
  }
}
