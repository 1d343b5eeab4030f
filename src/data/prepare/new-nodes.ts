/**
 * Nodes that a prepared graph does not have, for prediction: their features, and their edges to it and to each other, by
 * raw ids. They get the numbers after those of the graph.
 */
import { existsSync } from 'node:fs';
import { FormatError, StorageError } from '../../util/errors.js';
import { findLayout, splitLine } from '../formats/edge-list-layout.js';
import { readNpy } from '../formats/npy.js';
import { readLines } from '../formats/text-lines.js';
import type { NameTable } from './name-table.js';
import type { EdgeColumns } from './preprocess-options.js';
import { type RawEdgeNames, readRawEdges } from './raw-edges.js';

export interface NewNodes {
  readonly names: readonly string[];
  /** A row of `width` numbers for each. */
  readonly features: Float32Array;
  /** Rows [source, (relation,) destination]; new nodes are numbered from the size of the graph on. */
  readonly edges: Int32Array;
}

export interface NewNodesOptions extends EdgeColumns {
  /** Text with the id in the first column, or .npy, whose row i is the node `new<i>`. */
  readonly features: string;
  /** A file of edges; without one the nodes have none. */
  readonly edges?: string;
  /** Features of a node of the graph. */
  readonly width: number;
}

export async function readNewNodes(options: NewNodesOptions, names: RawEdgeNames): Promise<NewNodes> {
  const { features: path, edges, width, ...columns } = options;
  if (!existsSync(path))
    throw new StorageError(`readNewNodes: expected to read ${path}, got ENOENT. Look at the spelling.`, {
      path,
    });
  const read = path.endsWith('.npy') ? await readMatrix(path, width) : await readText(path, width);
  const extended = new ExtendedNames(names.nodes, read.names, path);
  const rows =
    edges === undefined
      ? new Int32Array(0)
      : await readRawEdges(edges, columns, { nodes: extended, relations: names.relations });
  return { ...read, edges: rows };
}

/** Names of a graph and of nodes after them. */
class ExtendedNames implements NameTable {
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

  idOf(raw: string): number | undefined {
    return this.#added.get(raw) ?? this.base.idOf(raw);
  }

  nameOf(id: number): string {
    return id < this.base.size ? this.base.nameOf(id) : this.names[id - this.base.size];
  }
}

type Features = Pick<NewNodes, 'names' | 'features'>;

async function readMatrix(path: string, width: number): Promise<Features> {
  const { data, shape } = await readNpy(path);
  if (shape.length !== 2 || shape[1] !== width)
    throw new FormatError(
      `${path}: expected rows of ${width} features, as the graph has, got the shape [${shape.join(', ')}].`,
      { path },
    );
  const names = Array.from({ length: shape[0] }, (_, i) => `new${i}`);
  return { names, features: Float32Array.from(data as ArrayLike<number>, Number) };
}

async function readText(path: string, width: number): Promise<Features> {
  const layout = await findLayout(path, { source: 0, target: 0, ids: 'names', header: false });
  const names: string[] = [];
  const values: number[] = [];
  for await (const { first, lines } of readLines(path)) {
    for (let i = 0; i < lines.length; i++) {
      const line = first + i;
      if (layout === null || line <= layout.skip || lines[i] === '') continue;
      const [name, ...cells] = splitLine(lines[i], layout.delimiter, layout.quoted);
      const numbers = cells.map((cell) => (cell.trim() === '' ? Number.NaN : Number(cell)));
      // A line of titles.
      if (names.length === 0 && values.length === 0 && numbers.every(Number.isNaN) && cells.length > 0)
        continue;
      if (numbers.length !== width || numbers.some((value) => !Number.isFinite(value)))
        throw new FormatError(
          `${path}:${line}: expected an id and ${width} numbers, as the graph has, got ${cells.length === width ? JSON.stringify(lines[i]) : `${cells.length}`}.`,
          { path, line },
        );
      names.push(name);
      for (const value of numbers) values.push(value);
    }
  }
  if (names.length === 0) throw new FormatError(`${path}: expected at least one node, got none.`, { path });
  return { names, features: Float32Array.from(values) };
}
