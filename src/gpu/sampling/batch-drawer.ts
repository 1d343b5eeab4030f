/**
 * Draws batches on a device: all hops are recorded and submitted together, with sizes bounded beforehand (see
 * hop-bounds.ts).
 *
 * Only if a bound is far too large to reserve – a later hop that takes all neighbours, or one beyond what the device
 * can bind – the hop's edges are counted first, and the count is read before the hop continues: one read-back per such
 * hop.
 */

import { checkEdgeCount } from '../../sample/checks.js';
import type { DrawTime } from '../../sample/sampler.js';
import { StateError } from '../../util/errors.js';
import type { GpuBuffer } from '../device/gpu-buffer.js';
import type { GpuDevice } from '../device/gpu-device.js';
import type { DeviceGraph } from './device-graph.js';
import { type HopBound, HopBounds } from './hop-bounds.js';
import { HopBuffers } from './hop-buffers.js';
import { HopRecorder } from './hop-recorder.js';
import { type DrawMode, edgeState, type HopParams, stateWords, takeAll } from './hop-wgsl.js';
import { NodeHashTable } from './node-hash-table.js';
import type { TableKind } from './reindex-programs.js';

/** Draw settings of the hops of a batch. */
export interface DrawRules {
  /** −1 = all. */
  readonly fanouts: Int32Array;
  /** Threshold per hop: edges whose random word is below it are dropped; null = none. */
  readonly drops: Uint32Array | null;
  readonly replace: boolean;
}

/** Beyond this many edges, a hop that takes all neighbours is counted before memory is reserved. */
const firstRoom = 1 << 22;

/** Bytes of the widest array of a batch, per edge and per row. */
const widest = { edge: 4, row: 16 } as const;

interface Plan {
  readonly bounds: readonly HopBound[];
  readonly nodes: number;
  readonly edges: number;
  readonly frontier: number;
}

export class BatchDrawer {
  readonly #where: string;
  readonly #device: GpuDevice;
  readonly #graph: DeviceGraph;
  readonly #bounds: HopBounds;
  readonly #recorder: HopRecorder;
  readonly #table: NodeHashTable;
  /** Batches share the node entries, so they are recorded sequentially. */
  #turn: Promise<void> = Promise.resolve();

  readonly #firstRoom: number;
  #isReleased = false;

  constructor(where: string, device: GpuDevice, graph: DeviceGraph, kind: TableKind, room = firstRoom) {
    this.#firstRoom = room;
    this.#where = where;
    this.#device = device;
    this.#graph = graph;
    this.#bounds = new HopBounds(graph.source.offsets, graph.source.indices.length);
    this.#recorder = new HopRecorder(device, graph);
    this.#table = new NodeHashTable(device, kind, graph.source.numNodes);
  }

  /** Records and submits a batch for distinct seeds. `more` records additional work of the batch. */
  async draw(
    seeds: Int32Array,
    rules: DrawRules,
    time: DrawTime,
    more?: (buffers: HopBuffers) => void,
  ): Promise<HopBuffers> {
    const before = this.#turn;
    let done = () => {};
    this.#turn = new Promise((resolve) => {
      done = resolve;
    });
    await before;
    try {
      return await this.#record(seeds, rules, time, more);
    } finally {
      done();
    }
  }

  release(): void {
    this.#isReleased = true;
    this.#table.release();
  }

  /** Throws after release: the graph is freed with the sampler, so a batch that is not yet recorded cannot be drawn. */
  #checkInUse(): void {
    if (this.#isReleased)
      throw new StateError(
        `${this.#where}: expected a sampler in use, got one after release(). Await its batches before you release it.`,
      );
  }

  async #record(
    seeds: Int32Array,
    rules: DrawRules,
    time: DrawTime,
    more?: (buffers: HopBuffers) => void,
  ): Promise<HopBuffers> {
    this.#checkInUse();
    const hops = rules.fanouts.length;
    const start = hops === 0 ? { rows: 0, edges: 0 } : this.#ofSeeds(seeds, rules);
    let plan = this.#plan(rules, 0, start, seeds.length, 0);
    const buffers = new HopBuffers(this.#device, this.#table.kind, plan);
    try {
      this.#writeStart(buffers, seeds);
      this.#table.enter(buffers, this.#hop(rules, time, 0), seeds.length, plan.nodes);
      let planned = 0;
      for (let h = 0; h < hops; h++) {
        const hop = this.#hop(rules, time, h);
        if (h - planned < plan.bounds.length) {
          this.#recorder.count(hop, buffers, plan.bounds[h - planned].rows);
        } else {
          // Too many to reserve: count them, and plan the rest with that count.
          const rows = this.#rowsAfter(plan);
          buffers.reserve({ ...buffers.room, frontier: rows });
          this.#recorder.count(hop, buffers, rows);
          const found = await this.#readCounts(buffers.state, h);
          this.#checkInUse();
          plan = this.#plan(rules, h, found.bound, found.nodes, found.edges);
          planned = h;
          buffers.reserve(plan);
          if (this.#table.kind === 'hash') this.#table.enter(buffers, hop, found.nodes, plan.nodes);
        }
        const bound = plan.bounds[h - planned];
        this.#recorder.draw(hop, buffers, bound);
        this.#recorder.reindex(hop, buffers, this.#table, bound);
      }
      more?.(buffers);
      this.#table.leave(buffers, this.#hop(rules, time, hops), plan.nodes);
      this.#device.flush();
      buffers.releaseWork();
      return buffers;
    } catch (error) {
      buffers.releaseAll();
      if (!this.#device.isLost) this.#table.reset();
      throw error;
    }
  }

  #ofSeeds(seeds: Int32Array, { fanouts, replace }: DrawRules): HopBound {
    const bound = this.#bounds.ofNodes(seeds, fanouts[0], replace);
    checkEdgeCount(this.#where, bound.edges);
    return bound;
  }

  /** Returns bounds from hop `from`, whose bound is known, up to the first that is too large to reserve. */
  #plan(rules: DrawRules, from: number, first: HopBound, nodesBefore: number, edgesBefore: number): Plan {
    const { numNodes, indices } = this.#graph.source;
    const bounds: HopBound[] = [];
    let edges = edgesBefore;
    let bound = first;
    for (let h = from; h < rules.fanouts.length; h++) {
      if (h > from) {
        const found = bounds[bounds.length - 1].edges;
        bound = this.#bounds.ofFound(found, nodesBefore, rules.fanouts[h], rules.replace);
        if (!this.#canReserve(edges, bound, rules.fanouts[h])) break;
      }
      bounds.push(bound);
      edges += bound.edges;
    }
    const found = edges - edgesBefore;
    const most = rules.replace ? edges : Math.min(edges, indices.length);
    return {
      bounds,
      nodes: Math.min(nodesBefore + found, Math.max(numNodes, nodesBefore)),
      edges: checkEdgeCount(this.#where, most),
      frontier: bounds.reduce((max, { rows }) => Math.max(max, rows), 0),
    };
  }

  #canReserve(before: number, { rows, edges }: HopBound, fanout: number): boolean {
    const { maxStorageBufferBindingSize: most } = this.#device.limits;
    if (fanout < 0 && before + edges > this.#firstRoom) return false;
    return (before + edges) * widest.edge <= most && rows * widest.row <= most;
  }

  /** Returns the rows of the hop after those planned. */
  #rowsAfter({ bounds, nodes }: Plan): number {
    return bounds.length === 0 ? nodes : Math.min(bounds[bounds.length - 1].edges, nodes);
  }

  #writeStart(buffers: HopBuffers, seeds: Int32Array): void {
    const state = new Uint32Array(stateWords);
    state[0] = seeds.length;
    this.#device.write(buffers.state, state);
    this.#device.write(buffers.nodeIds, seeds);
  }

  async #readCounts(state: GpuBuffer, hop: number) {
    const counts = new Uint32Array(await this.#device.read(state));
    const rows = counts[hop] - (hop === 0 ? 0 : counts[hop - 1]);
    const edges = counts[edgeState + hop];
    const bound = { rows, edges: counts[edgeState + hop + 1] - edges };
    return { bound, nodes: counts[hop], edges };
  }

  #hop({ fanouts, drops, replace }: DrawRules, { key, step }: DrawTime, hop: number): HopParams {
    const drop = drops?.[hop] ?? 0;
    const mode: DrawMode = drop !== 0 ? 'dropout' : this.#graph.sums !== null ? 'weighted' : 'uniform';
    const fanout = hop < fanouts.length && fanouts[hop] >= 0 ? fanouts[hop] : takeAll;
    return { hop, fanout, drop, replace, mode, key, step, tag: hop };
  }
}
