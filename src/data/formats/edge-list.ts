/**
 * Edge lists as text: CSV, TSV, SNAP (blanks or tabs, # comments), .gz too, with optional weight, time and type columns.
 *
 * Edges keep the order of the file. A ragged line, an id that is not a whole number or out of range, and a weight or time
 * that is not a number are errors with file and line.
 */
import { expected, FormatError, ValueError } from '../../util/errors.js';
import type { EdgeArrays } from '../edges.js';
import { ByteNames } from './byte-names.js';
import { type RecordBlock, readRecords } from './delimited.js';
import { checkEdgeListOptions, type EdgeListOptions, f32Limit } from './edge-list-options.js';
import { parseId, parseNumber } from './parse-number.js';
import { columnIndex, findTextLayout, type TextLayout } from './text-layout.js';

export interface EdgeList {
  readonly edges: EdgeArrays;
  /** Name of each node; null if ids are whole numbers. */
  readonly names: readonly string[] | null;
  readonly weight: Float32Array | null;
  readonly time: Float64Array | null;
  readonly type: Int32Array | null;
  readonly typeNames: readonly string[] | null;
}

/**
 * Reads an edge list.
 *
 * @example
 * const { edges, time } = await readEdgeList('CollegeMsg.txt', { time: 2, idBase: 1 });
 */
export async function readEdgeList(path: string, options: EdgeListOptions = {}): Promise<EdgeList> {
  if (typeof path !== 'string') throw new ValueError(expected('readEdgeList', 'a path', 'path', path));
  checkEdgeListOptions(options);
  const { header, delimiter, comment, source = 0, target = 1, weight, time, type } = options;
  const layout = await findTextLayout(path, {
    ...{ header, delimiter, comment, wanted: [source, target, weight, time, type] },
    commentsAnywhere: options.ids !== 'names' && type === undefined,
  });
  if (layout === null) {
    const none = new Int32Array(0);
    const edges = { numNodes: options.numNodes ?? 0, src: none, dst: none };
    const names = options.ids === 'names' ? [] : null;
    return { edges, names, weight: null, time: null, type: null, typeNames: null };
  }
  const reader = new EdgeReader(layout, options);
  for await (const block of readRecords(layout)) reader.take(block);
  return reader.finish();
}

/** Advice for programs; commands replace it. */
export const otherIdsAdvice = 'Pass ids: "names" for other ids, header: true for a header.';

type NumberArray = Int32Array | Float32Array | Float64Array;

class EdgeReader {
  #rows = 0;
  readonly #indices: readonly (number | null)[];
  readonly #columns: (NumberArray | null)[];
  readonly #nodes: ByteNames | null;
  readonly #kinds = new ByteNames();

  constructor(
    readonly layout: TextLayout,
    readonly options: EdgeListOptions,
  ) {
    const { source = 0, target = 1, weight, time, type } = options;
    this.#indices = Object.entries({ source, target, weight, time, type }).map(([option, column]) =>
      column === undefined ? null : columnIndex(layout, option, column),
    );
    const types = [Int32Array, Int32Array, Float32Array, Float64Array, Int32Array] as const;
    this.#columns = types.map((Type, i) => (this.#indices[i] === null ? null : new Type(1024)));
    this.#nodes = options.ids === 'names' ? new ByteNames() : null;
  }

  take({ rows, width, buffer, bounds, lines }: RecordBlock): void {
    for (let row = 0; row < rows; row++, this.#rows++) {
      for (let role = 0; role < this.#indices.length; role++) {
        const index = this.#indices[role];
        if (index === null) continue;
        const at = 2 * (row * width + index);
        const value = this.#value(role, buffer, bounds[at], bounds[at + 1], lines[row]);
        this.#store(role, value);
      }
    }
  }

  #store(role: number, value: number): void {
    let column = this.#columns[role] as NumberArray;
    if (this.#rows === column.length) {
      const larger = new (column.constructor as new (length: number) => NumberArray)(2 * column.length);
      larger.set(column);
      this.#columns[role] = larger;
      column = larger;
    }
    column[this.#rows] = value;
  }

  #value(role: number, buffer: Buffer, start: number, end: number, line: number): number {
    if (role < 2) return this.#id(role === 0 ? 'source' : 'target', buffer, start, end, line);
    if (role === 4) {
      if (start === end) this.#fail(line, 'text for the type', buffer, start, end);
      return this.#kinds.add(buffer, start, end);
    }
    const name = role === 2 ? 'weight' : 'time';
    const value = parseNumber(buffer, start, end);
    if (!Number.isFinite(value)) this.#fail(line, `a finite number for the ${name}`, buffer, start, end);
    if (role === 2 && Math.abs(value) >= f32Limit)
      this.#fail(line, 'a number within the range of f32 for the weight', buffer, start, end);
    return value;
  }

  #id(side: string, buffer: Buffer, start: number, end: number, line: number): number {
    if (this.#nodes !== null) {
      if (start === end) this.#fail(line, `a name for the ${side} id`, buffer, start, end);
      return this.#nodes.add(buffer, start, end);
    }
    const id = parseId(buffer, start, end);
    if (id < 0) {
      this.#fail(line, `a whole number for the ${side} id`, buffer, start, end, ` ${otherIdsAdvice}`);
    }
    const { idBase = 0, numNodes = 2 ** 31 - 1 } = this.options;
    if (id < idBase || id >= numNodes + idBase)
      this.#fail(
        line,
        `a number from ${idBase} to ${numNodes - 1 + idBase} for the ${side} id`,
        buffer,
        start,
        end,
      );
    return id - idBase;
  }

  #fail(line: number, what: string, buffer: Buffer, start: number, end: number, advice = ''): never {
    const { path } = this.layout;
    const got = JSON.stringify(buffer.toString('utf8', start, end));
    throw new FormatError(`${path}:${line}: expected ${what}, got ${got}.${advice}`, { path, line });
  }

  finish(): EdgeList {
    const [src, dst, weight, time, type] = this.#columns.map(
      (column) => column?.slice(0, this.#rows) ?? null,
    );
    const names = this.#nodes === null ? null : allNames(this.#nodes);
    const ends = [src, dst] as [Int32Array, Int32Array];
    const numNodes = names?.length ?? this.options.numNodes ?? largest(...ends) + 1;
    return {
      edges: { numNodes, src: ends[0], dst: ends[1] },
      ...{ names, weight: weight as Float32Array | null, time: time as Float64Array | null },
      type: type as Int32Array | null,
      typeNames: type === null ? null : allNames(this.#kinds),
    };
  }
}

function allNames(table: ByteNames): string[] {
  return Array.from({ length: table.size }, (_, id) => table.nameOf(id));
}

function largest(src: Int32Array, dst: Int32Array): number {
  let value = -1;
  for (let i = 0; i < src.length; i++) value = Math.max(value, src[i], dst[i]);
  return value;
}
