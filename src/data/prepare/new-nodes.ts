/**
 * Reads nodes that are not in a prepared graph, for prediction: their features, and their edges to the graph and to each
 * other, by raw ids. They get the numbers after those of the graph.
 */
import { existsSync } from 'node:fs';
import { FormatError, StorageError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { readRecords } from '../formats/delimited.js';
import { type NodeTypes, typedName, typeOfColumn } from '../formats/node-types.js';
import { readNpy } from '../formats/npy.js';
import { parseNumber } from '../formats/parse-number.js';
import { findTextLayout } from '../formats/text-layout.js';
import type { OnNote } from './graph-source.js';
import { type NameTable, TypedNames } from './name-table.js';
import { finiteNumber, isFiniteNumber, type NodeEncoding } from './node-encoding.js';
import { encodeRows, openNewTable } from './node-table.js';
import type { EdgeColumns } from './preprocess-options.js';
import { type RawEdgeNames, readRawEdges } from './raw-edges.js';

export interface NewNodeColumns {
  readonly names: readonly string[];
  /** A row of `width` numbers per node. */
  readonly features: Float32Array;
  /** Rows [source, (relation,) destination]; numbers of new nodes start at the size of the graph. */
  readonly edges: Int32Array;
}

export interface NewNodesOptions extends EdgeColumns {
  /**
   * Text with the id in the first column, or .npy, whose row i is the node `new<i>`. With `encoding`, text is a table with
   * the columns of the prepared one.
   */
  readonly features: string;
  /** Encoding of the features of the graph (`PreparedDataset.nodeEncoding`). */
  readonly encoding?: NodeEncoding | null;
  /** Receives notes about headers, and about values that were not in the prepared table. */
  readonly onNote?: OnNote;
  /** Edge file; without one the nodes have no edges. */
  readonly edges?: string;
  /** Number of features per node. */
  readonly width: number;
}

export async function readNewNodes(options: NewNodesOptions, names: RawEdgeNames): Promise<NewNodeColumns> {
  checkOptionNames('readNewNodes', options, {
    format: true,
    source: true,
    target: true,
    edgeType: true,
    edgeWeight: true,
    delimiter: true,
    header: true,
    comment: true,
    features: true,
    encoding: true,
    onNote: true,
    edges: true,
    width: true,
  });
  const { features: path, edges, width, encoding = null, onNote, ...columns } = options;
  if (!existsSync(path))
    throw new StorageError(`readNewNodes: expected to read ${path}, which does not exist. Check the path.`, {
      path,
    });
  const context: Context = {
    ...{ path, width, onNote, header: columns.header },
    types: names.nodes instanceof TypedNames ? names.nodes.types : null,
  };
  const read = path.endsWith('.npy')
    ? await readMatrix(path, width)
    : encoding === null
      ? await readText(context)
      : await readTable(context, encoding);
  const extended = new ExtendedNames(names.nodes, read.names, path);
  const rows =
    edges === undefined
      ? new Int32Array(0)
      : await readRawEdges(edges, columns, { nodes: extended, relations: names.relations }, onNote);
  return { ...read, edges: rows };
}

interface Context {
  readonly path: string;
  readonly width: number;
  readonly header: boolean | undefined;
  readonly types: NodeTypes | null;
  readonly onNote: OnNote | undefined;
}

/** Names of a graph, followed by those of new nodes. */
export class ExtendedNames implements NameTable {
  readonly size: number;
  readonly #added = new Map<string, number>();

  constructor(
    readonly base: NameTable,
    readonly names: readonly string[],
    path: string,
  ) {
    this.size = base.size + names.length;
    for (const [i, name] of names.entries()) {
      if (base.idOf(name) !== undefined || this.#added.has(name)) {
        const got = base.idOf(name) === undefined ? 'twice' : 'which the graph has';
        throw new FormatError(
          `${path}: expected ids of new nodes, each once, got ${JSON.stringify(name)} ${got}.`,
          { path, name },
        );
      }
      this.#added.set(name, base.size + i);
    }
  }

  idOf(raw: string, side?: 'src' | 'dst'): number | undefined {
    const added = this.#added.get(raw);
    if (added !== undefined || !(this.base instanceof TypedNames)) return added ?? this.base.idOf(raw, side);
    const [source, target] = this.base.types;
    const typed = side === undefined ? undefined : typedName(side === 'src' ? source : target, raw);
    return (typed === undefined ? undefined : this.#added.get(typed)) ?? this.base.idOf(raw, side);
  }

  nameOf(id: number): string {
    return id < this.base.size ? this.base.nameOf(id) : this.names[id - this.base.size];
  }
}

type Features = Pick<NewNodeColumns, 'names' | 'features'>;

async function readMatrix(path: string, width: number): Promise<Features> {
  const { data, shape } = await readNpy(path);
  if (shape.length !== 2 || shape[1] !== width)
    throw new FormatError(
      `${path}: expected rows of ${width} features, as the graph has, got the shape [${shape.join(', ')}].`,
      { path },
    );
  const names = Array.from({ length: shape[0] }, (_, i) => `new${i}`);
  const features = Float32Array.from(data as ArrayLike<number>, Number);
  const wrong = features.findIndex((value) => !Number.isFinite(value));
  if (wrong >= 0)
    throw new FormatError(
      `${path}: expected ${finiteNumber} in row ${Math.floor(wrong / width)}, column ${wrong % width}, got ${data[wrong]}.`,
      { path },
    );
  return { names, features };
}

/** Returns the name of a node in the graph: with its type, if there are two. */
function nodeName(
  { types, path }: Context,
  { column, type: known }: { readonly column: string | undefined; readonly type: string | null },
  raw: string,
  line: number,
): string {
  if (types === null || types.some((type) => raw.startsWith(typedName(type, '')))) return raw;
  const type = known ?? typeOfColumn(column, types);
  if (type !== null) return typedName(type, raw);
  throw new FormatError(
    `${path}:${line}: expected the node type before the id, such as ${typedName(types[0], raw)}, got ${JSON.stringify(raw)}. Name the id column ${types.join(' or ')}, or write the type before each id.`,
    { path, line },
  );
}

async function readText(context: Context): Promise<Features> {
  const { path, width, header, onNote } = context;
  const layout = await findTextLayout(path, { header, onNote });
  if (layout === null) throw new FormatError(`${path}: expected at least one node, got none.`, { path });
  const names: string[] = [];
  const values: number[] = [];
  for await (const block of readRecords(layout)) {
    for (let row = 0; row < block.rows; row++) {
      const line = block.lines[row];
      const numbers = Array.from({ length: layout.width - 1 }, (_, c) => {
        const at = 2 * (row * layout.width + c + 1);
        return parseNumber(block.buffer, block.bounds[at], block.bounds[at + 1]);
      });
      if (numbers.length !== width || !numbers.every(isFiniteNumber))
        throw new FormatError(
          `${path}:${line}: expected an id and ${width} numbers, as the graph has, got ${numbers.length === width ? JSON.stringify(block.fields(row).join(layout.delimiter)) : `${numbers.length}`}.`,
          { path, line },
        );
      names.push(nodeName(context, { column: layout.header?.[0], type: null }, block.text(row, 0), line));
      for (const value of numbers) values.push(value);
    }
  }
  return { names, features: Float32Array.from(values) };
}

async function readTable(context: Context, encoding: NodeEncoding): Promise<Features> {
  const { path, header, onNote } = context;
  const table = await openNewTable(path, encoding, { header, onNote });
  const names: string[] = [];
  const rows: Float32Array[] = [];
  const values = new Float32Array(encoding.width);
  for await (const { id, line } of encodeRows(table, values)) {
    names.push(nodeName(context, { column: encoding.id, type: encoding.type }, id, line));
    rows.push(values.slice());
  }
  for (const [column, unseen] of encoding.unseen)
    onNote?.(
      `${path}: values of ${column} that are not in the prepared table, so all their features are 0: ${[...unseen].join(', ')}`,
    );
  const features = new Float32Array(rows.length * encoding.width);
  for (const [i, row] of rows.entries()) features.set(row, i * encoding.width);
  return { names, features };
}
