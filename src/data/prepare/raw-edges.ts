/**
 * Reads new edges by raw ids, for prediction, and translates them into numbers of a prepared graph. An unknown entity or
 * relation is an error with its line.
 */

import { existsSync } from 'node:fs';
import { FormatError, StorageError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { readRecords } from '../formats/delimited.js';
import { withTableFiles } from '../formats/table-files.js';
import type { TextLayout } from '../formats/text-layout.js';
import type { ColumnIndices } from './edge-columns.js';
import { edgeLayout } from './edge-input.js';
import type { OnNote } from './graph-source.js';
import type { NameTable } from './name-table.js';
import type { EdgeColumns } from './preprocess-options.js';

export interface RawEdgeNames {
  readonly nodes: NameTable;
  /** null for graphs without relations. */
  readonly relations: NameTable | null;
  /** Called for each edge with an unknown name, which is then skipped. Without it such an edge is an error. */
  readonly onSkipped?: () => void;
}

/**
 * Reads the edges of a file as rows [source, (relation,) destination].
 *
 * @example
 * const names = { nodes: await data.nodeNames(), relations: await data.relationNames() };
 * const edges = await readRawEdges('candidates.tsv', {}, names);
 */
export async function readRawEdges(
  path: string,
  options: EdgeColumns,
  names: RawEdgeNames,
  onNote?: OnNote,
): Promise<Int32Array> {
  checkOptionNames('readRawEdges', options, {
    format: true,
    source: true,
    target: true,
    edgeType: true,
    edgeWeight: true,
    delimiter: true,
    header: true,
    comment: true,
  });
  if (!existsSync(path))
    throw new StorageError(`readRawEdges: expected to read ${path}, which does not exist. Check the path.`, {
      path,
    });
  return withTableFiles('readRawEdges', async (tables) => {
    const file = await tables.textOf({ source: path, kind: 'edges', name: path, format: options.format });
    const rows = new RowCollector(file, names);
    await readDelimited(file, options, rows, (note) => onNote?.(tables.rename(note)));
    return rows.finish();
  });
}

/** Maximum number of unknown names in one error. */
const maxUnknown = 5;

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

  /** Throws unless the file has types if and only if the graph has. */
  check(indices: ColumnIndices, { header, width }: Pick<TextLayout, 'header' | 'width'>): void {
    if ((indices.type === null) === (this.columns === 2)) return;
    const what = this.columns === 3 ? 'a column of edge types' : 'no column of edge types';
    const { path, columns } = this;
    const got = indices.type === null ? 'none' : 'one';
    const have = header === null ? `${width} columns without a header` : `the columns ${header.join(', ')}`;
    const advice =
      columns === 3
        ? 'Name the column of relations with --edge-type-column (and those of nodes with --src-column and --dst-column).'
        : 'Name the columns of nodes with --src-column and --dst-column.';
    throw new FormatError(
      `${path}: expected ${what}, as in the graph, got ${got}. The file has ${have}. ${advice}`,
      { path },
    );
  }

  add(source: string, type: string | null, target: string, where: string): void {
    if (this.#length + 3 > this.#values.length) {
      const larger = new Int32Array(2 * this.#values.length);
      larger.set(this.#values);
      this.#values = larger;
    }
    const { onSkipped } = this.names;
    if (onSkipped !== undefined && !this.#isKnown(source, type, target)) {
      onSkipped();
      return;
    }
    this.#values[this.#length++] = this.#id(
      this.names.nodes,
      source,
      'an entity of the graph for the source',
      where,
      'src',
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
      'dst',
    );
  }

  #isKnown(source: string, type: string | null, target: string): boolean {
    const { nodes, relations } = this.names;
    return (
      nodes.idOf(source, 'src') !== undefined &&
      nodes.idOf(target, 'dst') !== undefined &&
      (relations === null || relations.idOf(type ?? '') !== undefined)
    );
  }

  #id(table: NameTable, name: string, what: string, where: string, side?: 'src' | 'dst'): number {
    const id = table.idOf(name, side);
    if (id !== undefined) return id;
    this.#unknown.push({ name, message: `${where}: expected ${what}, got ${JSON.stringify(name)}.` });
    if (this.#unknown.length >= maxUnknown) this.#throwUnknown();
    return -1;
  }

  /** Throws an error that lists several unknown names, since a file with one often has more. */
  #throwUnknown(): void {
    if (this.#unknown.length === 0) return;
    const [{ name }] = this.#unknown;
    throw new FormatError(this.#unknown.map(({ message }) => message).join('\n  '), {
      path: this.path,
      name,
      names: this.#unknown.map((one) => one.name),
    });
  }

  finish(): Int32Array {
    this.#throwUnknown();
    if (this.#length === 0)
      throw new FormatError(
        `${this.path}: expected at least one edge${this.names.onSkipped === undefined ? '' : ' of known names'}, got none.`,
        { path: this.path },
      );
    return this.#values.slice(0, this.#length);
  }
}

async function readDelimited(
  path: string,
  options: EdgeColumns,
  rows: RowCollector,
  onNote: OnNote,
): Promise<void> {
  const found = await edgeLayout(path, options, onNote);
  if (found === null) return;
  const { layout, indices } = found;
  rows.check(indices, layout);
  for await (const block of readRecords(layout)) {
    for (let row = 0; row < block.rows; row++) {
      const type = indices.type === null ? null : block.text(row, indices.type);
      const where = `${path}:${block.lines[row]}`;
      rows.add(block.text(row, indices.source), type, block.text(row, indices.target), where);
    }
  }
}
