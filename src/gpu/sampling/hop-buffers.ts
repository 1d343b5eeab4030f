/**
 * The device memory of one batch: its results, and scratch memory used while it is drawn. It comes from the device's
 * pool by size, so batches of similar size reuse it. Contents are copied when a batch grows between two hops.
 */
import type { GpuBuffer } from '../device/gpu-buffer.js';
import type { GpuDevice } from '../device/gpu-device.js';
import { stateWords } from './hop-wgsl.js';
import { gridBytes, tileCount } from './prefix-programs.js';
import type { TableKind } from './reindex-programs.js';

/** Result arrays of a batch; lengths are capacities. */
export interface SampledBuffers {
  /** Ids of all rows. */
  readonly nodeIds: GpuBuffer;
  /** By destination row. */
  readonly offsets: GpuBuffer;
  /** Per edge: source row, destination row, position in the graph. */
  readonly rows: GpuBuffer;
  readonly columns: GpuBuffer;
  readonly positions: GpuBuffer;
}

/** Capacities of a batch. */
export interface HopRoom {
  readonly nodes: number;
  readonly edges: number;
  /** Rows that draw in one hop. */
  readonly frontier: number;
}

const perNode = ['nodeIds', 'offsets'] as const;
const perEdge = ['rows', 'columns', 'positions'] as const;

export class HopBuffers implements SampledBuffers {
  nodeIds!: GpuBuffer;
  offsets!: GpuBuffer;
  rows!: GpuBuffer;
  columns!: GpuBuffer;
  positions!: GpuBuffer;
  /** Node id of each edge, and the index of its entry. In the dense form both are one array. */
  ids!: GpuBuffer;
  entryIndices!: GpuBuffer;
  frontier!: GpuBuffer;
  tiles!: GpuBuffer;
  readonly state: GpuBuffer;
  readonly grid: GpuBuffer;
  readonly #device: GpuDevice;
  readonly #kind: TableKind;
  #room: HopRoom = { nodes: -1, edges: -1, frontier: -1 };

  constructor(device: GpuDevice, kind: TableKind, room: HopRoom) {
    this.#device = device;
    this.#kind = kind;
    this.state = device.buffer(4 * stateWords, 'counts of a batch');
    this.grid = device.buffer(gridBytes, 'workgroups', { indirect: true });
    try {
      this.reserve(room);
    } catch (error) {
      this.releaseAll();
      throw error;
    }
  }

  get room(): HopRoom {
    return this.#room;
  }

  /** Reserves memory, keeping the results so far. */
  reserve(room: HopRoom): void {
    const old = this.#room;
    const { nodes, edges, frontier } = room;
    if (nodes > old.nodes)
      for (const name of perNode) this[name] = this.#grow(this[name], nodes + 1, old.nodes + 1, name);
    if (edges > old.edges) {
      for (const name of perEdge) this[name] = this.#grow(this[name], edges, old.edges, name);
      this.#replaceEdgeWork(edges);
    }
    if (frontier > old.frontier)
      this.frontier = this.#grow(this.frontier, 4 * frontier, 4 * old.frontier, 'rows that draw');
    if (frontier > old.frontier || edges > old.edges) {
      this.tiles?.release();
      this.tiles = this.#device.buffer(4 * tileCount(Math.max(frontier, edges)), 'sums of tiles');
    }
    this.#room = {
      nodes: Math.max(nodes, old.nodes),
      edges: Math.max(edges, old.edges),
      frontier: Math.max(frontier, old.frontier),
    };
  }

  /** Frees everything except the results; buffers whose allocation failed are absent. */
  releaseWork(): void {
    for (const buffer of [this.ids, this.entryIndices, this.frontier, this.tiles, this.grid])
      buffer?.release();
  }

  releaseAll(): void {
    this.releaseWork();
    this.state.release();
    for (const name of [...perNode, ...perEdge]) this[name]?.release();
  }

  #replaceEdgeWork(edges: number): void {
    this.ids?.release();
    this.entryIndices?.release();
    this.ids = this.#device.buffer(4 * edges, 'nodes of edges');
    this.entryIndices =
      this.#kind === 'dense' ? this.ids : this.#device.buffer(4 * edges, 'entry indices of nodes');
  }

  #grow(from: GpuBuffer | undefined, length: number, used: number, label: string): GpuBuffer {
    const to = this.#device.buffer(4 * length, label);
    if (from === undefined) return to;
    this.#device.copy(from, 0, to, 0, Math.min(4 * used, from.bytes));
    // The copy must be submitted before the memory can be reused.
    this.#device.flush();
    from.release();
    return to;
  }
}
