/**
 * Node tables: an id, optionally a class, and columns of numbers, categories, dates and booleans, with missing values. One
 * pass detects the kind of each column, a second encodes the rows (node-encoding.ts).
 */
import { expected, FormatError, ValueError } from '../../util/errors.js';
import { meaningOf } from '../formats/column-names.js';
import { readRecords } from '../formats/delimited.js';
import { type NodeTypes, typeOfColumn } from '../formats/node-types.js';
import {
  type Column,
  columnIndex,
  findTextLayout,
  type TextLayout,
  type TextOptions,
} from '../formats/text-layout.js';
import {
  booleanOf,
  dayOf,
  type EncodedColumn,
  finiteNumber,
  isFiniteNumber,
  isMissing,
  NodeEncoding,
  numberOf,
} from './node-encoding.js';

export interface NodeTableOptions extends TextOptions {
  readonly idColumn?: Column | undefined;
  readonly labelColumn?: Column | undefined;
  /** Columns that are not features. */
  readonly ignoreColumns?: readonly Column[] | undefined;
  /** Columns whose words are read, which are not features either. */
  readonly textColumns?: readonly Column[] | undefined;
}

/** A table whose columns are known. */
export interface NodeTable {
  readonly layout: TextLayout;
  readonly id: number;
  readonly label: number | null;
  /** Indices of the columns of the encoding. */
  readonly indices: readonly number[];
  readonly encoding: NodeEncoding;
  /** Text columns. */
  readonly text: readonly { readonly index: number; readonly name: string }[];
}

export interface NodeRow {
  readonly line: number;
  readonly id: string;
  /** Empty if the class is missing or the table has none. */
  readonly label: string;
  /** Cells of the text columns. */
  readonly text: readonly string[];
}

/** Maximum number of values of a category column. */
const maxCategories = 256;

/** Detects the kinds of the columns from all rows of a table. */
export async function profileNodeTable(
  path: string,
  options: NodeTableOptions,
  types: NodeTypes | null,
): Promise<NodeTable> {
  const { ignoreColumns = [], textColumns = [] } = options;
  const wanted = [options.idColumn, options.labelColumn, ...ignoreColumns, ...textColumns];
  const layout = await findTableLayout(path, { ...options, wanted });
  if (layout === null)
    throw new FormatError(`${path}: expected at least one row, got none. Check the file.`, { path });
  const indexOf = (option: string, column: Column): number => columnIndex(layout, option, column);
  const id =
    options.idColumn === undefined
      ? detectIdColumn(layout, types)
      : indexOf('idColumn (--id-column)', options.idColumn);
  const label =
    options.labelColumn === undefined ? null : indexOf('labelColumn (--label-column)', options.labelColumn);
  if (id === label)
    throw new ValueError(
      expected(path, 'a column other than that of ids', 'labelColumn (--label-column)', options.labelColumn),
    );
  const ignored = ignoreColumns.map((column) => indexOf('ignoreColumns (--ignore-columns)', column));
  const text = textColumns.map((column) => indexOf('textColumns (--text-columns)', column));
  const taken = text.findIndex((c, i) => c === id || c === label || text.indexOf(c) < i);
  if (taken >= 0)
    throw new ValueError(
      expected(
        path,
        'columns other than those of ids and classes, each once',
        'textColumns (--text-columns)',
        textColumns[taken],
      ),
    );
  const indices = Array.from({ length: layout.width }, (_, c) => c).filter(
    (c) => c !== id && c !== label && !ignored.includes(c) && !text.includes(c),
  );
  const nameOf = (c: number): string => layout.header?.[c] ?? String(c);
  const profiles = indices.map((c) => new ColumnProfile(nameOf(c)));
  let rows = 0;
  for await (const block of readRecords(layout)) {
    for (let row = 0; row < block.rows; row++)
      for (const [i, c] of indices.entries()) profiles[i].take(block.text(row, c), block.lines[row]);
    rows += block.rows;
  }
  // A column and its index are kept or dropped together, since names may not be unique.
  const kept = indices.flatMap((index, i) => {
    const column = profiles[i].finish(path, rows);
    return column === null ? [] : [{ index, column }];
  });
  const encoding = new NodeEncoding(
    nameOf(id),
    label === null ? null : nameOf(label),
    kept.map((one) => one.column),
  );
  return {
    ...{ layout, id, label, indices: kept.map((one) => one.index), encoding },
    text: text.map((index) => ({ index, name: nameOf(index) })),
  };
}

/** Finds the layout of a table and makes its column names unique, because new tables are matched by them. */
async function findTableLayout(path: string, options: TextOptions): Promise<TextLayout | null> {
  const layout = await findTextLayout(path, options);
  return layout?.header == null ? layout : { ...layout, header: makeUnique(layout.header) };
}

/** Appends ` (2)` to the second column of a name, and so on. */
function makeUnique(header: readonly string[]): string[] {
  const taken = new Set(header);
  return header.map((name, index) => {
    if (header.indexOf(name) === index) return name;
    let count = 2;
    while (taken.has(`${name} (${count})`)) count++;
    taken.add(`${name} (${count})`);
    return `${name} (${count})`;
  });
}

/** Returns the column that is named after ids or a node type; else the first. */
function detectIdColumn({ header }: TextLayout, types: NodeTypes | null): number {
  const typed = header?.findIndex((column) => types !== null && typeOfColumn(column, types) !== null) ?? -1;
  const named = header?.findIndex((column) => ['id', 'node'].includes(meaningOf(column))) ?? -1;
  return Math.max(0, typed >= 0 ? typed : named);
}

/** Running mean and variance (Welford). */
class RunningStatistics {
  count = 0;
  mean = 0;
  #squares = 0;

  take(value: number): void {
    this.count++;
    const before = value - this.mean;
    this.mean += before / this.count;
    this.#squares += before * (value - this.mean);
  }

  /** 1 if all values are equal, so that they become 0. */
  get deviation(): number {
    const deviation = Math.sqrt(this.#squares / this.count);
    return deviation > 0 && Number.isFinite(deviation) ? deviation : 1;
  }
}

/** The kinds that a column may have, given the cells seen so far. */
class ColumnProfile {
  readonly #statistics = { number: new RunningStatistics(), date: new RunningStatistics() };
  readonly #fits = { number: true, date: true, boolean: true };
  /** Number of cells that are missing as a number, and as a category. */
  #missing = 0;
  #empty = 0;
  readonly #values = new Set<string>();
  /** The first number outside the range of f32: an error unless the column has text too. */
  #infinite: { readonly cell: string; readonly line: number } | null = null;

  constructor(readonly name: string) {}

  take(cell: string, line: number): void {
    const text = cell.trim();
    if (text === '') this.#empty++;
    else if (this.#values.size <= maxCategories) this.#values.add(text);
    if (isMissing(cell, 'number')) {
      this.#missing++;
      return;
    }
    for (const [kind, value] of [
      ['number', this.#fits.number ? numberOf(text) : Number.NaN],
      ['date', this.#fits.date ? dayOf(text) : Number.NaN],
    ] as const) {
      if (Number.isNaN(value)) this.#fits[kind] = false;
      else if (isFiniteNumber(value)) this.#statistics[kind].take(value);
      else this.#infinite ??= { cell, line };
    }
    if (Number.isNaN(booleanOf(text))) this.#fits.boolean = false;
  }

  /** Returns null for a column without any value. */
  finish(path: string, rows: number): EncodedColumn | null {
    const { name } = this;
    if (this.#missing === rows) return null;
    const missing = this.#missing > 0;
    if (this.#fits.number && this.#infinite !== null) {
      const { cell, line } = this.#infinite;
      throw new FormatError(
        `${path}:${line}: expected ${finiteNumber} in column ${JSON.stringify(name)}, got ${JSON.stringify(cell)}. Leave the cell empty if the value is unknown.`,
        { path, line, column: name },
      );
    }
    for (const kind of ['number', 'date'] as const) {
      const { mean, deviation } = this.#statistics[kind];
      if (this.#fits[kind]) return { kind, name, mean, deviation, missing };
    }
    if (this.#fits.boolean) return { kind: 'boolean', name, missing };
    if (this.#values.size > maxCategories)
      throw new FormatError(
        `${path}: expected at most ${maxCategories} different values in a category column, got more in ${JSON.stringify(name)} (such as ${JSON.stringify([...this.#values][0])}). Read its words with textColumns (--text-columns ${shellName(name)}), ignore it with ignoreColumns (--ignore-columns ${shellName(name)}), or group its values.`,
        { path, column: name },
      );
    return { kind: 'category', name, values: [...this.#values], missing: this.#empty > 0 };
  }
}

const shellName = (name: string): string => (/\s/.test(name) ? JSON.stringify(name) : name);

/** Yields the rows of a table and writes their features to `out`, which is reused for the next row. */
export async function* encodeRows(table: NodeTable, out: Float32Array): AsyncGenerator<NodeRow> {
  const { layout, id, label, indices, encoding, text: texts } = table;
  const { path } = layout;
  for await (const block of readRecords(layout)) {
    for (let row = 0; row < block.rows; row++) {
      const line = block.lines[row];
      const name = block.text(row, id);
      if (name.trim() === '')
        throw new FormatError(
          `${path}:${line}: expected an id in column ${JSON.stringify(encoding.id)}, got none.`,
          {
            path,
            line,
          },
        );
      encoding.encode(
        indices.map((index) => block.text(row, index)),
        out,
        0,
        (column, what, got) => {
          throw new FormatError(
            `${path}:${line}: expected ${what} in column ${JSON.stringify(column)}, as in the prepared table, got ${JSON.stringify(got)}.`,
            { path, line },
          );
        },
      );
      const cell = label === null ? '' : block.text(row, label).trim();
      const text = texts.map(({ index }) => block.text(row, index));
      yield { line, id: name, label: isMissing(cell, 'number') ? '' : cell, text };
    }
  }
}

/** Opens a table of new nodes, to be encoded like the prepared one; columns are matched by name. */
export async function openNewTable(
  path: string,
  encoding: NodeEncoding,
  options: TextOptions,
): Promise<NodeTable> {
  // In a table without a header, columns are named by their index.
  const unnamed = /^\d+$/.test(encoding.id) ? { header: options.header ?? false } : { wanted: [encoding.id] };
  const layout = await findTableLayout(path, { ...options, ...unnamed });
  if (layout === null) throw new FormatError(`${path}: expected at least one node, got none.`, { path });
  const header = layout.header ?? Array.from({ length: layout.width }, (_, c) => String(c));
  const names = [encoding.id, ...encoding.columns.map((one) => one.name)];
  const absent = names.filter((column) => !header.includes(column));
  if (absent.length > 0)
    throw new FormatError(
      `${path}: expected the columns of the prepared table, got none for ${absent.join(', ')}. There are ${header.join(', ')}; leave cells empty if a value is unknown.`,
      { path, columns: absent },
    );
  const [id, ...indices] = names.map((column) => header.indexOf(column));
  return { layout, id, label: null, indices, encoding, text: [] };
}
