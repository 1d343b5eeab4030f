/**
 * Tables about nodes: an id, a class if there is one, and columns of numbers, categories, dates and booleans with values
 * missing here and there. One pass finds what each column holds, a second encodes the rows (node-encoding.ts).
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
  /** Columns that are no features. */
  readonly ignoreColumns?: readonly Column[] | undefined;
}

/** A table that was looked at. */
export interface NodeTable {
  readonly layout: TextLayout;
  readonly id: number;
  readonly label: number | null;
  /** Where the columns of the encoding are. */
  readonly places: readonly number[];
  readonly encoding: NodeEncoding;
}

export interface NodeRow {
  readonly line: number;
  readonly id: string;
  /** Nothing where the class is missing or the table has none. */
  readonly label: string;
}

/** Most values that a column of categories may have. */
const mostCategories = 256;

/** Finds out what the columns of a table are, from all of its rows. */
export async function profileNodeTable(
  path: string,
  options: NodeTableOptions,
  types: NodeTypes | null,
): Promise<NodeTable> {
  const wanted = [options.idColumn, options.labelColumn, ...(options.ignoreColumns ?? [])];
  const layout = await tableLayout(path, { ...options, wanted });
  if (layout === null)
    throw new FormatError(`${path}: expected rows about nodes, got none. Look at the file.`, { path });
  const place = (option: string, column: Column): number => columnIndex(layout, option, column);
  const id =
    options.idColumn === undefined
      ? usualId(layout, types)
      : place('idColumn (--id-column)', options.idColumn);
  const label =
    options.labelColumn === undefined ? null : place('labelColumn (--label-column)', options.labelColumn);
  if (id === label)
    throw new ValueError(
      expected(path, 'another column than that of ids', 'labelColumn (--label-column)', options.labelColumn),
    );
  const ignored = (options.ignoreColumns ?? []).map((column) =>
    place('ignoreColumns (--ignore-columns)', column),
  );
  const places = Array.from({ length: layout.width }, (_, c) => c).filter(
    (c) => c !== id && c !== label && !ignored.includes(c),
  );
  const called = (c: number): string => layout.header?.[c] ?? String(c);
  const profiles = places.map((c) => new ColumnProfile(called(c)));
  let rows = 0;
  for await (const block of readRecords(layout)) {
    for (let row = 0; row < block.rows; row++)
      for (const [i, c] of places.entries()) profiles[i].take(block.text(row, c), block.lines[row]);
    rows += block.rows;
  }
  // A column and its place are kept or dropped together: names do not tell columns apart everywhere.
  const kept = places.flatMap((place, i) => {
    const column = profiles[i].finish(path, rows);
    return column === null ? [] : [{ place, column }];
  });
  const encoding = new NodeEncoding(
    called(id),
    label === null ? null : called(label),
    kept.map((one) => one.column),
  );
  return { layout, id, label, places: kept.map((one) => one.place), encoding };
}

/** The layout of a table, whose columns then have different names: new tables are matched by them. */
async function tableLayout(path: string, options: TextOptions): Promise<TextLayout | null> {
  const layout = await findTextLayout(path, options);
  return layout?.header == null ? layout : { ...layout, header: distinctNames(layout.header) };
}

/** Of columns with one name, the second gets ` (2)` behind it, and so on. */
function distinctNames(header: readonly string[]): string[] {
  const taken = new Set(header);
  return header.map((name, place) => {
    if (header.indexOf(name) === place) return name;
    let count = 2;
    while (taken.has(`${name} (${count})`)) count++;
    taken.add(`${name} (${count})`);
    return `${name} (${count})`;
  });
}

/** The column that is named after ids or a type of node; else the first. */
function usualId({ header }: TextLayout, types: NodeTypes | null): number {
  const typed = header?.findIndex((column) => types !== null && typeOfColumn(column, types) !== null) ?? -1;
  const named = header?.findIndex((column) => ['id', 'node'].includes(meaningOf(column))) ?? -1;
  return Math.max(0, typed >= 0 ? typed : named);
}

/** Running mean and variance (Welford). */
class Spread {
  count = 0;
  mean = 0;
  #squares = 0;

  take(value: number): void {
    this.count++;
    const before = value - this.mean;
    this.mean += before / this.count;
    this.#squares += before * (value - this.mean);
  }

  /** 1 where all values are the same, so that they become 0. */
  get deviation(): number {
    const deviation = Math.sqrt(this.#squares / this.count);
    return deviation > 0 && Number.isFinite(deviation) ? deviation : 1;
  }
}

/** Everything that a column may turn out to be, until a cell speaks against it. */
class ColumnProfile {
  readonly #spreads = { number: new Spread(), date: new Spread() };
  readonly #fits = { number: true, date: true, boolean: true };
  /** Cells that are missing as a number, and as a category. */
  #missing = 0;
  #empty = 0;
  readonly #values = new Set<string>();
  /** The first number that f32 does not hold: an error unless the column has words too. */
  #infinite: { readonly cell: string; readonly line: number } | null = null;

  constructor(readonly name: string) {}

  take(cell: string, line: number): void {
    const text = cell.trim();
    if (text === '') this.#empty++;
    else if (this.#values.size <= mostCategories) this.#values.add(text);
    if (isMissing(cell, 'number')) {
      this.#missing++;
      return;
    }
    for (const [kind, value] of [
      ['number', this.#fits.number ? numberOf(text) : Number.NaN],
      ['date', this.#fits.date ? dayOf(text) : Number.NaN],
    ] as const) {
      if (Number.isNaN(value)) this.#fits[kind] = false;
      else if (isFiniteNumber(value)) this.#spreads[kind].take(value);
      else this.#infinite ??= { cell, line };
    }
    if (Number.isNaN(booleanOf(text))) this.#fits.boolean = false;
  }

  /** null for a column without any value. */
  finish(path: string, rows: number): EncodedColumn | null {
    const { name } = this;
    if (this.#missing === rows) return null;
    const missing = this.#missing > 0;
    if (this.#fits.number && this.#infinite !== null) {
      const { cell, line } = this.#infinite;
      throw new FormatError(
        `${path}:${line}: expected ${finiteNumber} in column ${JSON.stringify(name)}, got ${JSON.stringify(cell)}. Leave the cell empty if the value is not known.`,
        { path, line, column: name },
      );
    }
    for (const kind of ['number', 'date'] as const) {
      const { mean, deviation } = this.#spreads[kind];
      if (this.#fits[kind]) return { kind, name, mean, deviation, missing };
    }
    if (this.#fits.boolean) return { kind: 'boolean', name, missing };
    if (this.#values.size > mostCategories)
      throw new FormatError(
        `${path}: expected at most ${mostCategories} different values in a column of categories, got more in ${JSON.stringify(name)} (such as ${JSON.stringify([...this.#values][0])}). Leave it out with ignoreColumns (--ignore-columns ${/\s/.test(name) ? JSON.stringify(name) : name}), or group its values.`,
        { path, column: name },
      );
    return { kind: 'category', name, values: [...this.#values], missing: this.#empty > 0 };
  }
}

/** The rows of a table: what they say, and their features in `out`, which is used again for the next row. */
export async function* encodeRows(table: NodeTable, out: Float32Array): AsyncGenerator<NodeRow> {
  const { layout, id, label, places, encoding } = table;
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
        places.map((place) => block.text(row, place)),
        out,
        0,
        (column, what, got) => {
          throw new FormatError(
            `${path}:${line}: expected ${what} in column ${JSON.stringify(column)}, as in the table that was prepared, got ${JSON.stringify(got)}.`,
            { path, line },
          );
        },
      );
      const text = label === null ? '' : block.text(row, label).trim();
      yield { line, id: name, label: isMissing(text, 'number') ? '' : text };
    }
  }
}

/** A table of new nodes, to be encoded as the one that was prepared; columns are found by their names. */
export async function openNewTable(
  path: string,
  encoding: NodeEncoding,
  options: TextOptions,
): Promise<NodeTable> {
  // A table without a header calls its columns by their places.
  const unnamed = /^\d+$/.test(encoding.id) ? { header: options.header ?? false } : { wanted: [encoding.id] };
  const layout = await tableLayout(path, { ...options, ...unnamed });
  if (layout === null) throw new FormatError(`${path}: expected at least one node, got none.`, { path });
  const header = layout.header ?? Array.from({ length: layout.width }, (_, c) => String(c));
  const names = [encoding.id, ...encoding.columns.map((one) => one.name)];
  const absent = names.filter((column) => !header.includes(column));
  if (absent.length > 0)
    throw new FormatError(
      `${path}: expected the columns of the table that was prepared, got none for ${absent.join(', ')}. There are ${header.join(', ')}; leave cells empty where a value is not known.`,
      { path, columns: absent },
    );
  const [id, ...places] = names.map((column) => header.indexOf(column));
  return { layout, id, label: null, places, encoding };
}
