/**
 * One hop of temporal sampling in flight: the arrays that the kernel writes, and the resulting hop.
 *
 * Memory is reserved for the maximum of the fan-out. Only with a fan-out of −1 or a very large one may the kernel need
 * more.
 */
import type { TemporalMoment } from '../graph/temporal-graph.js';
import type { KernelArguments } from '../native/index.js';
import { checkEdgeCount } from './checks.js';
import type { DrawTime } from './sampler.js';
import { TemporalHop } from './temporal-hop.js';

/** Settings shared by all hops of a sampler. */
export interface TemporalRules {
  readonly where: string;
  readonly strategy: number;
  readonly propTime: boolean;
  readonly unique: boolean;
}

/** (node, time) pairs, and the number of events before each (or −1 if not yet known). */
export interface TemporalRows {
  readonly nodes: Int32Array;
  readonly times: Float64Array;
  readonly cutoffs: Int32Array;
}

export interface HopRequest {
  readonly moment: TemporalMoment;
  readonly weights: Float32Array | null;
  readonly rows: TemporalRows;
  readonly fanout: number;
  readonly draw: DrawTime;
  readonly tag: number;
  readonly from: number;
  readonly to: number;
}

/** Beyond this many edges, memory is reserved only when it is needed. */
const initialCapacity = 1 << 20;

export class HopWork {
  readonly #rules: TemporalRules;
  readonly #request: HopRequest;
  readonly #indptr: Int32Array;
  #capacity: number;
  #nodes!: Int32Array;
  #times!: Float64Array;
  #cutoffs!: Int32Array;
  #sources!: Int32Array;
  #eventRows!: Int32Array;
  #spans!: Float32Array;
  #numRows = -1;

  constructor(rules: TemporalRules, request: HopRequest) {
    this.#rules = rules;
    this.#request = request;
    const numDst = request.rows.nodes.length;
    this.#indptr = new Int32Array(numDst + 1);
    this.#capacity = Math.min(numDst * (request.fanout < 0 ? 16 : request.fanout), initialCapacity);
    this.#reserve();
  }

  #reserve(): void {
    const { nodes, times, cutoffs } = this.#request.rows;
    const rooms = checkEdgeCount(this.#rules.where, nodes.length + this.#capacity);
    this.#nodes = new Int32Array(rooms);
    this.#times = new Float64Array(rooms);
    this.#cutoffs = new Int32Array(rooms);
    this.#nodes.set(nodes);
    this.#times.set(times);
    this.#cutoffs.set(cutoffs);
    this.#sources = new Int32Array(this.#capacity);
    this.#eventRows = new Int32Array(this.#capacity);
    this.#spans = new Float32Array(this.#capacity);
  }

  call(): KernelArguments<'sampleTemporalHop'> {
    const { moment, weights, rows, fanout, draw, tag, from, to } = this.#request;
    const { strategy, propTime, unique } = this.#rules;
    // One literal: spreads would make a slow object, and this call takes microseconds.
    return {
      starts: moment.starts,
      neighbors: moment.neighbors,
      rows: moment.rows,
      time: moment.time,
      limit: moment.numEvents,
      weights,
      nodes: this.#nodes,
      times: this.#times,
      cutoffs: this.#cutoffs,
      numDst: rows.nodes.length,
      strategy,
      fanout,
      from,
      to,
      propTime,
      unique,
      key: draw.key,
      step: draw.step,
      tag,
      indptr: this.#indptr,
      sources: this.#sources,
      eventRows: this.#eventRows,
      spans: this.#spans,
      capacity: this.#capacity,
    };
  }

  /** Handles the kernel's return value; returns false if memory was enlarged and the kernel must run again. */
  finish(result: number): boolean {
    this.#numRows = result;
    if (result >= 0) return true;
    this.#capacity = checkEdgeCount(this.#rules.where, -1 - result);
    this.#reserve();
    return false;
  }

  /** Returns the hop, and all its rows as destinations of the next. */
  take(): { readonly hop: TemporalHop; readonly rows: TemporalRows } {
    const { nodes, times } = this.#request.rows;
    const edges = this.#indptr[nodes.length];
    const rows = {
      nodes: trimTo(this.#nodes, this.#numRows),
      times: trimTo(this.#times, this.#numRows),
      cutoffs: this.#cutoffs.subarray(0, this.#numRows),
    };
    const hop = new TemporalHop({
      ...{ dstNodes: nodes, dstTimes: times, srcNodes: rows.nodes, srcTimes: rows.times },
      indptr: this.#indptr,
      sources: trimTo(this.#sources, edges),
      eventRows: trimTo(this.#eventRows, edges),
      spans: trimTo(this.#spans, edges),
    });
    return { hop, rows };
  }
}

/** Returns the first entries; a copy if the rest is larger, to free its memory. */
function trimTo<T extends Int32Array | Float32Array | Float64Array>(values: T, count: number): T {
  return (2 * count < values.length ? values.slice(0, count) : values.subarray(0, count)) as T;
}

/** Returns a hop without edges, of the rows themselves. */
export function identityHop(nodes: Int32Array, times: Float64Array): TemporalHop {
  const none = new Int32Array(0);
  return new TemporalHop({
    ...{ dstNodes: nodes, dstTimes: times, srcNodes: nodes, srcTimes: times },
    ...{ indptr: new Int32Array(nodes.length + 1), sources: none, eventRows: none },
    spans: new Float32Array(0),
  });
}
