/**
 * New edges with raw ids, for prediction: a file and the names of a prepared graph give rows of numbers. An entity or a
 * relation that the graph does not have is an error with its line.
 */

import { existsSync } from 'node:fs';
import { FormatError, StorageError } from '../../util/errors.js';
import { queryChunks, sqlName, sqlPath, withDuckDb } from '../formats/duckdb.js';
import { findLayout, splitLine } from '../formats/edge-list-layout.js';
import { readLines } from '../formats/text-lines.js';
import { formatOf, type Places, resolvePlaces } from './edge-input.js';
import type { NameTable } from './name-table.js';
import type { EdgeColumns } from './preprocess-options.js';

export interface RawEdgeNames {
  readonly nodes: NameTable;
  /** null for graphs whose edges are of one kind. */
  readonly relations: NameTable | null;
}

/**
 * Edges of a file as rows [source, (relation,) destination].
 *
 * @example
 * const names = { nodes: await data.nodeNames(), relations: await data.relationNames() };
 * const edges = await readRawEdges('candidates.tsv', {}, names);
 */
export async function readRawEdges(
  path: string,
  options: EdgeColumns,
  names: RawEdgeNames,
): Promise<Int32Array> {
  if (!existsSync(path))
    throw new StorageError(`readRawEdges: expected to read ${path}, got ENOENT. Look at the spelling.`, {
      path,
    });
  const rows = new RowCollector(path, names);
  const format = options.format ?? formatOf(path);
  if (format === 'delimited') await readDelimited(path, options, rows);
  else await readTable(path, format, options, rows);
  return rows.finish();
}

/** Unknown names in one error. */
const mostNamed = 5;

class RowCollector {
  readonly columns: 2 | 3;
  #values = new Int32Array(3 * 1024);
  #length = 0;
  readonly #unknown: { readonly name: string; readonly message: string }[] = [];

  constructor(
    readonly path: string,
    readonly names: RawEdgeNames,
  ) {
    this.columns = names.relations === null ? 2 : 3;
  }

  /** The file must have types exactly when the graph has. */
  check(places: Places): void {
    if ((places.type === null) === (this.columns === 2)) return;
    const what = this.columns === 3 ? 'a column of edge types' : 'no column of edge types';
    throw new FormatError(
      `${this.path}: expected ${what}, as in the graph, got ${places.type === null ? 'none' : 'one'}.`,
      {
        path: this.path,
      },
    );
  }

  add(source: string, type: string | null, target: string, where: string): void {
    if (this.#length + 3 > this.#values.length) {
      const larger = new Int32Array(2 * this.#values.length);
      larger.set(this.#values);
      this.#values = larger;
    }
    this.#values[this.#length++] = this.#id(
      this.names.nodes,
      source,
      'an entity of the graph for the source',
      where,
    );
    if (this.names.relations !== null)
      this.#values[this.#length++] = this.#id(
        this.names.relations,
        type ?? '',
        'a relation of the graph',
        where,
      );
    this.#values[this.#length++] = this.#id(
      this.names.nodes,
      target,
      'an entity of the graph for the destination',
      where,
    );
  }

  #id(table: NameTable, name: string, what: string, where: string): number {
    const id = table.idOf(name);
    if (id !== undefined) return id;
    this.#unknown.push({ name, message: `${where}: expected ${what}, got ${JSON.stringify(name)}.` });
    if (this.#unknown.length >= mostNamed) this.#refuseUnknown();
    return -1;
  }

  /** Names several at once: a file with one wrong name often has more. */
  #refuseUnknown(): void {
    if (this.#unknown.length === 0) return;
    const [{ name }] = this.#unknown;
    throw new FormatError(this.#unknown.map(({ message }) => message).join('\n  '), {
      path: this.path,
      name,
      names: this.#unknown.map((one) => one.name),
    });
  }

  finish(): Int32Array {
    this.#refuseUnknown();
    if (this.#length === 0)
      throw new FormatError(`${this.path}: expected at least one edge, got none.`, { path: this.path });
    return this.#values.slice(0, this.#length);
  }
}

async function readDelimited(path: string, options: EdgeColumns, rows: RowCollector): Promise<void> {
  const { delimiter, comment } = options;
  const given = [options.source, options.target, options.edgeType, options.edgeWeight];
  const layout = await findLayout(path, {
    ...{ source: 0, target: 0, ids: 'names' },
    header: options.header ?? given.some((column) => typeof column === 'string'),
    ...(delimiter === undefined ? {} : { delimiter }),
    comment: comment ?? '',
  });
  if (layout === null) return;
  const places = resolvePlaces(path, layout.header, layout.width, options);
  rows.check(places);
  for await (const { first, lines } of readLines(path)) {
    for (let i = 0; i < lines.length; i++) {
      const line = first + i;
      if (line <= layout.skip || lines[i] === '') continue;
      const fields = splitLine(lines[i], layout.delimiter, layout.quoted);
      if (fields.length !== layout.width)
        throw new FormatError(`${path}:${line}: expected ${layout.width} columns, got ${fields.length}.`, {
          path,
          line,
        });
      const type = places.type === null ? null : fields[places.type];
      rows.add(fields[places.source], type, fields[places.target], `${path}:${line}`);
    }
  }
}

async function readTable(
  path: string,
  format: string,
  options: EdgeColumns,
  rows: RowCollector,
): Promise<void> {
  const relation = `${format === 'parquet' ? 'read_parquet' : 'read_json_auto'}(${sqlPath(path)})`;
  await withDuckDb(async (connection) => {
    const described = await connection.runAndReadAll(`DESCRIBE SELECT * FROM ${relation}`);
    const header = described.getRows().map((row) => String(row[0]));
    const places = resolvePlaces(path, header, header.length, options);
    rows.check(places);
    const wanted = [places.source, places.target, ...(places.type === null ? [] : [places.type])];
    const columns = wanted.map((place) => `coalesce(${sqlName(header[place])}::VARCHAR, '')`).join(', ');
    let row = 0;
    for await (const chunk of queryChunks(connection, `SELECT ${columns} FROM ${relation}`)) {
      const [source, target, type] = wanted.map((_, c) => chunk.strings(c));
      for (let i = 0; i < chunk.rows; i++)
        rows.add(source[i], type?.[i] ?? null, target[i], `${path}: row ${++row}`);
    }
  });
}
