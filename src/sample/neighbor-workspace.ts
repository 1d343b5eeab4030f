/**
 * Arrays that one call of `sampleNeighbors` writes to, reused by the next call. A sampler has as many as calls were
 * ever in flight at the same time. Batches get copies of the used entries, which are few compared to the reserved ones.
 */
import type { KernelArguments } from '../native/index.js';
import type { BatchArrays } from './batch.js';
import { allocate, checkEdgeCount, maxNumbers } from './checks.js';
import type { DrawTime } from './sampler.js';
import type { SamplingGraph } from './sampling-graph.js';

export interface HopSettings {
  readonly fanouts: Int32Array;
  readonly drops: Uint32Array | null;
  readonly replace: boolean;
  readonly disjoint: boolean;
}

/** Beyond this many edges, memory is reserved only when it is needed. */
const initialCapacity = 1 << 22;

export class NeighborWorkspace {
  readonly #where: string;
  readonly #graph: SamplingGraph;
  readonly #settings: HopSettings;
  readonly #map: Int32Array;
  readonly #perHop: Int32Array;
  #capacity = -1;
  #numSeeds = -1;
  #nodeIds = new Int32Array(0);
  #trees: Int32Array | null = null;
  #offsets = new Int32Array(0);
  #indices = new Int32Array(0);
  #slots = new Int32Array(0);

  constructor(where: string, graph: SamplingGraph, settings: HopSettings) {
    this.#where = where;
    this.#graph = graph;
    this.#settings = settings;
    this.#map = new Int32Array(settings.disjoint ? 0 : graph.numNodes).fill(-1);
    this.#perHop = new Int32Array(2 * settings.fanouts.length + 1);
  }

  /** Reserves memory for these seeds: the maximum for the fan-outs, or a first estimate. */
  prepare(numSeeds: number): void {
    let frontier = numSeeds;
    let edges = 0;
    for (const fanout of this.#settings.fanouts) {
      frontier = Math.min(frontier * (fanout < 0 ? 16 : fanout), maxNumbers);
      edges += frontier;
    }
    const { disjoint, replace } = this.#settings;
    // Every node draws once, so without replacement no edge is taken twice.
    const most = disjoint || replace ? edges : Math.min(edges, this.#graph.indices.length);
    this.#reserve(numSeeds, Math.min(most, initialCapacity));
  }

  /** Reserves memory after a call that returned that it needs at least `capacity` edges: enough for its next hop. */
  grow(capacity: number): void {
    checkEdgeCount(this.#where, capacity);
    this.#reserve(this.#numSeeds, Math.min(Math.ceil(capacity * 1.25), maxNumbers));
  }

  #reserve(numSeeds: number, capacity: number): void {
    if (capacity <= this.#capacity && numSeeds <= this.#numSeeds) return;
    this.#capacity = Math.max(capacity, this.#capacity);
    this.#numSeeds = Math.max(numSeeds, this.#numSeeds);
    const nodes = this.#numSeeds + this.#capacity;
    const zeros = (size: number) => allocate(this.#where, size, 'fanouts and seeds');
    this.#nodeIds = zeros(nodes);
    this.#trees = this.#settings.disjoint ? zeros(nodes) : null;
    this.#offsets = zeros(nodes + 1);
    this.#indices = zeros(this.#capacity);
    this.#slots = zeros(this.#capacity);
  }

  call(seeds: Int32Array, seedRows: Int32Array, time: DrawTime): KernelArguments<'sampleNeighbors'> {
    const { offsets, indices, sums } = this.#graph;
    const { fanouts, drops, replace } = this.#settings;
    return {
      offsets,
      indices,
      weights: sums,
      seeds,
      numSeeds: seeds.length,
      fanouts,
      drops,
      hops: fanouts.length,
      replace,
      key: time.key,
      step: time.step,
      tag: 0,
      map: this.#map,
      seedRows,
      nodeIds: this.#nodeIds,
      trees: this.#trees,
      perHop: this.#perHop,
      localOffsets: this.#offsets,
      localIndices: this.#indices,
      positions: this.#slots,
      capacity: this.#capacity,
    };
  }

  /** Copies the result of the last call. */
  take(seedRows: Int32Array): BatchArrays {
    const hops = this.#settings.fanouts.length;
    const nodesPerHop = Array.from(this.#perHop.subarray(0, hops + 1));
    const edgesPerHop = Array.from(this.#perHop.subarray(hops + 1));
    const nodes = nodesPerHop.reduce((a, b) => a + b, 0);
    const edges = edgesPerHop.reduce((a, b) => a + b, 0);
    const destinations = hops === 0 ? 0 : nodes - nodesPerHop[hops];
    return {
      nodeIds: this.#nodeIds.slice(0, nodes),
      seedRows,
      trees: this.#trees === null ? null : this.#trees.slice(0, nodes),
      offsets: this.#offsets.slice(0, destinations + 1),
      indices: this.#indices.slice(0, edges),
      slots: this.#slots.slice(0, edges),
      nodesPerHop,
      edgesPerHop,
    };
  }
}
