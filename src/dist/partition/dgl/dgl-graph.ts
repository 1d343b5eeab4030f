/**
 * `graph.dgl`: a graph as DGL's `save_graphs` writes it (version 2), in any of its three sparse formats, with node and
 * edge data. Partitions hold one graph of one node type and one relation; others are rejected with an error that names
 * the difference.
 */
import { arrayBytes, type DglArray, readArray, readNamedArrays, toIds } from './dgl-array.js';
import type { DglBytes } from './dgl-bytes.js';

/** A graph of a partition, in local ids. */
export interface DglGraph {
  readonly numNodes: number;
  /** Endpoints of every edge, by edge id. */
  readonly src: Int32Array;
  readonly dst: Int32Array;
  readonly nodeData: ReadonlyMap<string, DglArray>;
  readonly edgeData: ReadonlyMap<string, DglArray>;
}

const magics = {
  file: 0xdd2e4ff046b4a13fn,
  csr: 0xdd6cd31205dff127n,
  coo: 0xdd61ffd305dff127n,
  immutable: 0xdd3c5ffe20046abfn,
  unit: 0xdd2e60f0f6b4a127n,
  hetero: 0xdd589fbe35224abfn,
} as const;

const headerBytes = 4096;
const most = 2 ** 31 - 1;

export function readGraph(file: DglBytes): DglGraph {
  file.exactly(magics.file, 'the magic number of a graph file');
  file.exactly(2n, 'version 2');
  file.exactly(2n, 'graphs of type 2 (heterogeneous)');
  file.exactly(1n, 'one graph');
  // The bytes up to 4096 are not initialised.
  file.seek(headerBytes);
  const startAt = file.offset;
  const start = file.i64('start of the graph');
  readNamedArrays(file, 'labels');
  if (start !== file.offset) throw file.bad(startAt, `${file.offset}, the end of the labels,`, start);
  const graph = readHeteroData(file);
  readTail(file, start);
  return graph;
}

/** Reads the index of graph offsets, which is framed by its length on both sides. */
function readTail(file: DglBytes, start: number): void {
  const at = file.offset;
  const length = file.count('bytes of the index', 1);
  const offsetsAt = file.offset;
  const offsets = file.list('graph offsets', 8, () => file.i64('a graph offset'));
  if (length !== file.offset - offsetsAt)
    throw file.bad(at, `an index of ${file.offset - offsetsAt} bytes`, length);
  if (offsets.length !== 1 || offsets[0] !== start)
    throw file.bad(offsetsAt, `the offset ${start} of the one graph`, `[${offsets.slice(0, 8).join(', ')}]`);
  const sizeAt = file.offset;
  const size = file.i64('length of the index');
  if (size !== length) throw file.bad(sizeAt, `${length}, the length of the index,`, size);
  file.end();
}

interface Endpoints {
  readonly src: Int32Array;
  readonly dst: Int32Array;
  readonly numSrc: number;
  readonly numDst: number;
}

function readHeteroData(file: DglBytes): DglGraph {
  file.exactly(magics.hetero, 'the magic number of a heterogeneous graph');
  readMetagraph(file);
  const at = file.offset;
  const relations = file.list('relations', 24, () => readUnitGraph(file));
  if (relations.length !== 1)
    throw file.bad(at, 'one relation in the graph of a partition', relations.length);
  const [{ src, dst, numSrc, numDst }] = relations;
  const countsAt = file.offset;
  const counts = file.list('node counts', 8, () => file.i64('a node count'));
  if (counts.length !== 1 || counts[0] !== numSrc || counts[0] !== numDst)
    throw file.bad(countsAt, `one node type of ${numDst} nodes`, `[${counts.slice(0, 8).join(', ')}]`);
  const nodeData = readData(file, 'node data', counts[0]);
  const edgeData = readData(file, 'edge data', src.length);
  readNames(file, 'names of node types');
  readNames(file, 'names of relations');
  return { numNodes: counts[0], src, dst, nodeData, edgeData };
}

/** Reads the data of the one type, one row per node or edge. */
function readData(file: DglBytes, what: string, rows: number): Map<string, DglArray> {
  const at = file.offset;
  const types = file.list(what, 8, () => readNamedArrays(file, what));
  if (types.length !== 1) throw file.bad(at, `${what} of one type`, types.length);
  for (const [name, { shape, offset }] of types[0])
    if (shape[0] !== rows) throw file.bad(offset, `${rows} rows of ${what} ${name}`, `[${shape.join(', ')}]`);
  return types[0];
}

function readNames(file: DglBytes, what: string): void {
  const at = file.offset;
  const names = file.list(what, 8, () => file.text(what));
  if (names.length !== 1) throw file.bad(at, `one of ${what}`, names.length);
}

function readMetagraph(file: DglBytes): void {
  file.exactly(magics.immutable, 'the magic number of a metagraph');
  readCsr(file, 'metagraph');
}

const formats = ['coo', 'csr', 'csc'] as const;

/** Reads the edges of one relation; if several formats are stored, the first is used and the others are skipped. */
function readUnitGraph(file: DglBytes): Endpoints {
  file.exactly(magics.unit, 'the magic number of a relation');
  const at = file.offset;
  const saved = readFormats(file, 'saved formats', false);
  readFormats(file, 'allowed formats', true);
  let first: Endpoints | null = null;
  for (const [bit, format] of formats.entries()) {
    if ((saved & (1 << bit)) === 0) continue;
    readMetagraph(file);
    const start = file.offset;
    const ends = format === 'coo' ? readCoo(file) : toEndpoints(readCsr(file, format), format === 'csc');
    if (first !== null && first.src.length !== ends.src.length)
      throw file.bad(start, `${first.src.length} edges in every format`, ends.src.length);
    first ??= ends;
  }
  if (first === null) throw file.bad(at, 'at least one sparse format', saved);
  return first;
}

/** Reads formats as bits (coo 1, csr 2, csc 4). Older files have the number of one format, where 0 may mean all. */
function readFormats(file: DglBytes, what: string, mayBeAll: boolean): number {
  const at = file.offset;
  const low = file.i32(what);
  const high = file.i32(what);
  const known = low >= 0 && low <= (high === 0 ? 3 : 7);
  if (!known || (high === 0 && low === 0 && !mayBeAll))
    throw file.bad(at, `known ${what}`, `${low} (upper half ${high})`);
  if (high !== 0) return low;
  return low === 0 ? 7 : 1 << (low - 1);
}

function readSides(file: DglBytes, what: string): { columns: number; rows: number } {
  const at = file.offset;
  const columns = file.i64(`columns of ${what}`);
  const rows = file.i64(`rows of ${what}`);
  if (columns < 0 || columns > most || rows < 0 || rows > most)
    throw file.bad(at, `columns and rows of ${what} from 0 to ${most}`, `${columns} and ${rows}`);
  return { columns, rows };
}

function readCoo(file: DglBytes): Endpoints {
  file.exactly(magics.coo, 'the magic number of a COO matrix');
  const { columns, rows } = readSides(file, 'the COO matrix');
  const row = readArray(file, 'rows');
  const column = readArray(file, 'columns');
  const ids = readArray(file, 'edge ids');
  file.flag('rows are sorted');
  file.flag('columns are sorted');
  if (row.size !== column.size)
    throw file.bad(column.offset, `${row.size} columns, as many as rows,`, column.size);
  const src = toIds(row, 'sources', rows);
  const dst = toIds(column, 'destinations', columns);
  return { ...sortById(src, dst, ids), numSrc: rows, numDst: columns };
}

interface Csr {
  readonly rows: number;
  readonly columns: number;
  /** Row of every entry. */
  readonly row: Int32Array;
  readonly column: Int32Array;
  readonly ids: DglArray;
}

function readCsr(file: DglBytes, what: string): Csr {
  file.exactly(magics.csr, `the magic number of a CSR matrix (${what})`);
  const { columns, rows } = readSides(file, what);
  const pointers = readArray(file, `pointers of ${what}`);
  const indices = readArray(file, `indices of ${what}`);
  const ids = readArray(file, `edge ids of ${what}`);
  file.flag('columns are sorted');
  if (pointers.size !== rows + 1)
    throw file.bad(pointers.offset, `${rows + 1} pointers of ${what}`, pointers.size);
  const column = toIds(indices, `indices of ${what}`, columns);
  const offsets = toIds(pointers, `pointers of ${what}`, column.length + 1);
  if (offsets[0] !== 0) throw file.bad(pointers.offset, `0 as the first pointer of ${what}`, offsets[0]);
  const row = new Int32Array(column.length);
  for (let r = 0; r < rows; r++) {
    if (offsets[r] > offsets[r + 1])
      throw file.bad(pointers.offset, `ascending pointers of ${what}`, `${offsets[r]}, ${offsets[r + 1]}`);
    row.fill(r, offsets[r], offsets[r + 1]);
  }
  if (offsets[rows] !== column.length)
    throw file.bad(pointers.offset, `${column.length} as the last pointer of ${what}`, offsets[rows]);
  return { rows, columns, row, column, ids };
}

/** Converts to endpoints: rows of CSR are sources, those of CSC destinations. */
function toEndpoints({ rows, columns, row, column, ids }: Csr, byDestination: boolean): Endpoints {
  if (byDestination) return { ...sortById(column, row, ids), numSrc: columns, numDst: rows };
  return { ...sortById(row, column, ids), numSrc: rows, numDst: columns };
}

/** Sorts edges by their ids; without ids they are in order already. */
function sortById(src: Int32Array, dst: Int32Array, ids: DglArray): { src: Int32Array; dst: Int32Array } {
  if (ids.size === 0) return { src, dst };
  const { file, offset } = ids;
  if (ids.size !== src.length) throw file.bad(offset, `${src.length} edge ids or none`, ids.size);
  const order = toIds(ids, 'edge ids', src.length);
  const seen = new Uint8Array(src.length);
  const from = new Int32Array(src.length);
  const to = new Int32Array(src.length);
  order.forEach((id, i) => {
    if (seen[id] === 1) throw file.bad(offset + (i * ids.bits) / 8, 'every edge id once', `${id} again`);
    seen[id] = 1;
    from[id] = src[i];
    to[id] = dst[i];
  });
  return { src: from, dst: to };
}

const tensorsMagic = 0xdd5a9fbe3fa2443fn;

/** Reads `node_feat.dgl` or `edge_feat.dgl`: named arrays as `save_tensors` writes them. */
export function readTensorFile(file: DglBytes): Map<string, DglArray> {
  file.exactly(tensorsMagic, 'the magic number of a file of tensors');
  const at = file.offset;
  const count = file.count('tensors', 8 + arrayBytes);
  const arrays = readNamedArrays(file, 'tensors');
  if (arrays.size !== count) throw file.bad(at, `${arrays.size} tensors, as many as follow,`, count);
  file.end();
  return arrays;
}
