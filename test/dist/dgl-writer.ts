/**
 * Writes partition directories byte by byte as DGL's `partition_graph` does, so that tests need neither DGL nor its files. The
 * layout is that of docs/partitions.md; `dialect` chooses among the variants that files in the field have.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PartitionedGraph } from 'skein/dist';
import type { Tensor } from 'skein/tensor';
import type { PartitionContent } from '#internal/dist/partition/partition-content.js';

export interface Dialect {
  readonly format?: 'coo' | 'csr' | 'csc' | 'coo+csc';
  /** One number of a format instead of bits. */
  readonly legacyFormats?: boolean;
  /** Bits of ids and types in the data of nodes and edges. */
  readonly idBits?: 32 | 64;
  /** Ranges as [start, end], as ends only, or (one type) as a bare list. */
  readonly maps?: 'pairs' | 'ends' | 'bare';
  /** Keys of features without a type. */
  readonly bareKeys?: boolean;
  /** Edges in another order than their ids, which the matrix then lists. */
  readonly shuffled?: boolean;
}

type Kind = 'int' | 'uint' | 'float';
const kindCodes = { int: 0, uint: 1, float: 2 } as const;

class Writer {
  readonly #chunks: Uint8Array[] = [];
  length = 0;

  bytes(chunk: Uint8Array): this {
    this.#chunks.push(chunk);
    this.length += chunk.length;
    return this;
  }

  u64(value: bigint | number): this {
    return this.#number(8, (view) => view.setBigUint64(0, BigInt.asUintN(64, BigInt(value)), true));
  }

  i32(value: number): this {
    return this.#number(4, (view) => view.setInt32(0, value, true));
  }

  u16(value: number): this {
    return this.#number(2, (view) => view.setUint16(0, value, true));
  }

  u8(value: number): this {
    return this.bytes(Uint8Array.of(value));
  }

  text(value: string): this {
    const encoded = new TextEncoder().encode(value);
    return this.u64(encoded.length).bytes(encoded);
  }

  array(
    values: ArrayLike<number>,
    kind: Kind,
    bits: number,
    shape: readonly number[] = [values.length],
  ): this {
    this.u64(0xdd5e40f096b4a13fn).u64(0).i32(1).i32(0).i32(shape.length);
    this.u8(kindCodes[kind]).u8(bits).u16(1);
    for (const length of shape) this.u64(length);
    this.u64((values.length * bits) / 8);
    const data = new DataView(new ArrayBuffer((values.length * bits) / 8));
    for (let i = 0; i < values.length; i++) {
      const at = (i * bits) / 8;
      if (kind === 'float') data.setFloat32(at, values[i], true);
      else if (bits === 64) data.setBigInt64(at, BigInt(values[i]), true);
      else if (bits === 32) data.setInt32(at, values[i], true);
      else if (bits === 16) data.setInt16(at, values[i], true);
      else data.setUint8(at, values[i]);
    }
    return this.bytes(new Uint8Array(data.buffer));
  }

  done(): Uint8Array {
    const all = new Uint8Array(this.length);
    let at = 0;
    for (const chunk of this.#chunks) {
      all.set(chunk, at);
      at += chunk.length;
    }
    return all;
  }

  #number(bytes: number, set: (view: DataView) => void): this {
    const view = new DataView(new ArrayBuffer(bytes));
    set(view);
    return this.bytes(new Uint8Array(view.buffer));
  }
}

/** A graph in local ids, edges by id. */
export interface LocalGraph {
  readonly numNodes: number;
  readonly src: readonly number[];
  readonly dst: readonly number[];
  readonly nodeData: readonly (readonly [string, readonly number[], Kind, number])[];
  readonly edgeData: readonly (readonly [string, readonly number[], Kind, number])[];
}

export function graphFile(graph: LocalGraph, dialect: Dialect = {}): Uint8Array {
  const out = new Writer();
  out.u64(0xdd2e4ff046b4a13fn).u64(2).u64(2).u64(1);
  // DGL leaves uninitialised memory here.
  out.bytes(new Uint8Array(4096 - 32).fill(0xa7));
  out.u64(4112).u64(0);
  const start = out.length;
  out.u64(0xdd589fbe35224abfn);
  metagraph(out);
  out.u64(1);
  unitGraph(out, graph, dialect);
  out.u64(1).u64(graph.numNodes);
  for (const data of [graph.nodeData, graph.edgeData]) {
    out.u64(1).u64(data.length);
    for (const [name, values, kind, bits] of data) out.text(name).array(values, kind, bits);
  }
  out.u64(1).text('_N').u64(1).text('_E');
  out.u64(16).u64(1).u64(start).u64(16);
  return out.done();
}

function metagraph(out: Writer): void {
  out.u64(0xdd3c5ffe20046abfn);
  csr(out, 1, 1, [0, 1], [0], []);
}

function csr(
  out: Writer,
  columns: number,
  rows: number,
  pointers: readonly number[],
  indices: readonly number[],
  ids: readonly number[],
): void {
  out.u64(0xdd6cd31205dff127n).u64(columns).u64(rows);
  out.array(pointers, 'int', 64).array(indices, 'int', 64).array(ids, 'int', 64).u8(1);
}

function unitGraph(out: Writer, graph: LocalGraph, dialect: Dialect): void {
  const { format = 'coo', legacyFormats = false } = dialect;
  out.u64(0xdd2e60f0f6b4a127n);
  const saved = format.split('+');
  const number = { coo: 1, csr: 2, csc: 3 } as Record<string, number>;
  if (legacyFormats) out.u64(number[saved[0]]).u64(0);
  else {
    const bits = saved.reduce((mask, name) => mask | (1 << (number[name] - 1)), 0);
    out.u64(0x100000000n + BigInt(bits)).u64(0x100000007n);
  }
  for (const name of saved) {
    metagraph(out);
    if (name === 'coo') coo(out, graph, dialect.shuffled === true);
    else grouped(out, graph, name === 'csc');
  }
}

function coo(out: Writer, { numNodes, src, dst }: LocalGraph, shuffled: boolean): void {
  const order = src.map((_, i) => (shuffled ? src.length - 1 - i : i));
  out.u64(0xdd61ffd305dff127n).u64(numNodes).u64(numNodes);
  const pick = (values: readonly number[]): number[] => order.map((i) => values[i]);
  out.array(pick(src), 'int', 64).array(pick(dst), 'int', 64);
  out
    .array(shuffled ? order : [], 'int', 64)
    .u8(0)
    .u8(0);
}

function grouped(out: Writer, { numNodes, src, dst }: LocalGraph, byDestination: boolean): void {
  const [rows, columns] = byDestination ? [dst, src] : [src, dst];
  const order = rows.map((_, i) => i).sort((a, b) => rows[a] - rows[b] || a - b);
  const pointers = new Array<number>(numNodes + 1).fill(0);
  for (const row of rows) pointers[row + 1]++;
  for (let v = 0; v < numNodes; v++) pointers[v + 1] += pointers[v];
  csr(
    out,
    numNodes,
    numNodes,
    pointers,
    order.map((i) => columns[i]),
    order,
  );
}

export function tensorFile(tensors: Readonly<Record<string, Tensor>>): Uint8Array {
  const out = new Writer();
  const entries = Object.entries(tensors);
  out.u64(0xdd5a9fbe3fa2443fn).u64(entries.length).u64(entries.length);
  for (const [name, value] of entries) {
    const [kind, bits] = ({ f32: ['float', 32], i32: ['int', 64], u8: ['uint', 8] } as const)[
      value.dtype as 'f32' | 'i32' | 'u8'
    ];
    out.text(name).array(value.dataSync(), kind, bits, value.shape);
  }
  return out.done();
}

/** The local graph of a partition: inner nodes and edges first, then a halo of sources and an edge out to it. */
function localGraph(
  split: PartitionedGraph,
  { part, src, dst }: PartitionContent,
  dialect: Dialect,
): LocalGraph {
  const { idBits = 64 } = dialect;
  const { book } = split;
  const { start, end } = book.nodeRange(part);
  const ids = Array.from({ length: end - start }, (_, i) => start + i);
  const place = new Map(ids.map((id, i) => [id, i]));
  for (const u of src) if (!place.has(u)) place.set(u, ids.push(u) - 1);
  const edges = book.edgeRange(part);
  const edgeIds = Array.from({ length: edges.end - edges.start }, (_, i) => edges.start + i);
  const inner = edgeIds.map(() => 1);
  const from = Array.from(src, (u) => place.get(u) as number);
  const to = Array.from(dst, (v) => place.get(v) as number);
  if (ids.length > end - start && end > start) {
    // An edge out to the halo, which readers must ignore.
    from.push(0);
    to.push(ids.length - 1);
    edgeIds.push(book.numEdges() + 7);
    inner.push(0);
  }
  const hetero = book.nodeTypeNames.length > 1;
  const nodeTypes = [...book.toTypeIds(ids).types];
  const edgeTypes = edgeIds.map((id, i) => (inner[i] === 1 ? book.toEdgeTypeIds([id]).types[0] : 0));
  return {
    numNodes: ids.length,
    src: from,
    dst: to,
    nodeData: [
      ['_ID', ids, 'int', idBits],
      ['inner_node', ids.map((_, i) => (i < end - start ? 1 : 0)), 'uint', 8],
      ['part_id', [...book.partOf(ids)], 'int', idBits],
      ...(hetero ? ([['_TYPE', nodeTypes, 'int', 16]] as const) : []),
    ],
    edgeData: [
      ['_ID', edgeIds, 'int', idBits],
      ['inner_edge', inner, 'uint', 8],
      ...(hetero ? ([['_TYPE', edgeTypes, 'int', 32]] as const) : []),
    ],
  };
}

/** Writes the partitions of a graph as DGL would; returns the path of the JSON. */
export function writeDglPartitions(
  directory: string,
  split: PartitionedGraph,
  dialect: Dialect = {},
): string {
  const { book } = split;
  const { maps = 'pairs', bareKeys = false } = dialect;
  const mapOf = (names: readonly string[], map: typeof book.nodeMap): unknown => {
    const lists = map.map((ranges) =>
      ranges.map(({ start, end }) => (maps === 'pairs' ? [start, end] : end)),
    );
    return maps === 'bare' ? lists[0] : Object.fromEntries(names.map((name, t) => [name, lists[t]]));
  };
  const numbers = (names: readonly string[]): object => Object.fromEntries(names.map((name, t) => [name, t]));
  const json: Record<string, unknown> = {
    graph_name: 'fixture',
    num_nodes: book.numNodes(),
    num_edges: book.numEdges(),
    part_method: 'metis',
    num_parts: book.numParts,
    halo_hops: 1,
    node_map: mapOf(book.nodeTypeNames, book.nodeMap),
    edge_map: mapOf(book.edgeTypeNames, book.edgeMap),
    ntypes: numbers(book.nodeTypeNames),
    etypes: numbers(book.edgeTypeNames),
  };
  const keys = (tensors: Readonly<Record<string, Tensor>>): Record<string, Tensor> =>
    Object.fromEntries(
      Object.entries(tensors).map(([key, value]) => [
        bareKeys ? key.slice(key.indexOf('/') + 1) : key,
        value,
      ]),
    );
  for (let part = 0; part < book.numParts; part++) {
    const content = split.content(part);
    mkdirSync(join(directory, `part${part}`), { recursive: true });
    const write = (name: string, bytes: Uint8Array): string => {
      writeFileSync(join(directory, `part${part}`, name), bytes);
      return `part${part}/${name}`;
    };
    json[`part-${part}`] = {
      node_feats: write('node_feat.dgl', tensorFile(keys(content.nodeFeatures))),
      edge_feats: write('edge_feat.dgl', tensorFile(keys(content.edgeFeatures))),
      part_graph: write('graph.dgl', graphFile(localGraph(split, content, dialect), dialect)),
    };
  }
  const path = join(directory, 'fixture.json');
  writeFileSync(path, JSON.stringify(json));
  return path;
}
