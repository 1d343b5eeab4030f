/**
 * A stream of events between nodes, in time order, that grows at its end.
 *
 * The row of an event is its index in time order (events of equal time keep their order); the implementation uses rows,
 * and `eventIds` maps them to the caller's ids. "Earlier than t" means strictly: rows below `cutoff(t)`, which the
 * sampling kernel computes in the same way. Times are 64-bit throughout.
 *
 * @example
 * const graph = new TemporalGraph({ src: [0, 1], dst: [1, 2], time: [1, 2.5] }, { growNodes: true });
 * graph.append({ src: [2], dst: [7], time: [3] }); // { firstRow: 2, count: 1 }
 * graph.cutoff(2.5); // 1: one event is earlier
 */
import { Tensor } from '../tensor/index.js';
import { checkInteger, checkNumber, describe, expected, ShapeError, ValueError } from '../util/errors.js';
import { checkOptionNames } from '../util/option-names.js';
import { LateEvents } from './late-events.js';
import { type TCSR, TemporalAdjacency } from './temporal-adjacency.js';
import {
  checkEvents,
  type EventColumns,
  EventStore,
  findDisorder,
  maxEvents,
  reorder,
  type TemporalEvents,
  timeOrder,
} from './temporal-events.js';

export interface TemporalGraphOptions {
  /** The number of nodes; by default one more than the largest node id. */
  readonly numNodes?: number;
  /**
   * Make an event a neighbour entry of its destination only. By default it is one of both ends; a self loop is one
   * entry.
   */
  readonly directed?: boolean;
  /** The number of features per event; by default that of the first events. */
  readonly featureWidth?: number;
  /** One row per node. With `growNodes`, later nodes have rows of zeros. */
  readonly nodeFeatures?: Tensor;
  /** Sort the events of each call by time, instead of rejecting those that are not in order. */
  readonly sort?: boolean;
  /** Whether `append` rejects an event that is earlier than one before it, or buffers events for `lateness`. */
  readonly outOfOrder?: 'refuse' | 'buffer';
  /** A buffered event is released when an event later by this much has been appended. */
  readonly lateness?: number;
  /** Make node ids beyond numNodes new nodes instead of an error. */
  readonly growNodes?: boolean;
  /** One flag per event row: 0 if the event is in the stream, but its ends do not become neighbours. */
  readonly neighborMask?: Uint8Array;
}

/** The rows that a call added, or, with outOfOrder 'buffer', released. */
export interface Appended {
  readonly firstRow: number;
  readonly count: number;
}

/** The graph at one moment, for kernels on any thread; later events do not change it. */
export interface TemporalMoment {
  readonly starts: Int32Array;
  readonly neighbors: Int32Array;
  readonly rows: Int32Array;
  readonly time: Float64Array;
  readonly numEvents: number;
  readonly numNodes: number;
}

interface Views {
  readonly src: Int32Array;
  readonly dst: Int32Array;
  readonly time: Float64Array;
  readonly eventIds: Int32Array;
  readonly types: Int32Array | null;
  readonly features: Float32Array | null;
}

const name = 'TemporalGraph';

export class TemporalGraph {
  readonly directed: boolean;
  readonly #adjacency = new TemporalAdjacency();
  readonly #store = new EventStore();
  /** Flags by row: events with flag 0 make no neighbours. */
  readonly #keep: Uint8Array | null;
  readonly #late: LateEvents | null;
  readonly #lateness: number;
  readonly #sort: boolean;
  readonly #growNodes: boolean;
  #numNodes = 0;
  #received = 0;
  #lastSeen = -Infinity;
  #views: Views | null = null;
  #nodeFeatures: Tensor | null;

  /** Uses a Float32Array of features without a copy, so it must not change; copies everything else. */
  constructor(events: TemporalEvents, options: TemporalGraphOptions = {}) {
    checkOptionNames('TemporalGraph', options, {
      numNodes: true,
      directed: true,
      featureWidth: true,
      nodeFeatures: true,
      sort: true,
      outOfOrder: true,
      lateness: true,
      growNodes: true,
      neighborMask: true,
    });
    if (typeof options !== 'object' || options === null)
      throw new ValueError(expected(name, 'an object', 'options', options));
    const buffer =
      checkChoice('outOfOrder', options.outOfOrder ?? 'refuse', ['refuse', 'buffer']) === 'buffer';
    if (!buffer && options.lateness !== undefined)
      throw new ValueError(expected(name, "outOfOrder 'buffer' with a lateness", 'outOfOrder', 'refuse'));
    this.directed = checkFlag('directed', options.directed);
    this.#sort = checkFlag('sort', options.sort);
    this.#growNodes = checkFlag('growNodes', options.growNodes);
    this.#late = buffer ? new LateEvents() : null;
    this.#lateness = checkNumber(name, 'lateness', options.lateness ?? 0, 0);
    if (options.featureWidth !== undefined)
      this.#store.width = checkInteger(name, 'featureWidth', options.featureWidth, 0, 2 ** 24);
    const given = options.numNodes;
    const known = given === undefined ? null : checkInteger(name, 'numNodes', given, 0, maxEvents);
    const columns = this.#check(name, events, known);
    this.#keep = checkMask(options.neighborMask, columns.count);
    this.#setNodes(Math.max(known ?? 0, columns.maxNode + 1));
    this.#nodeFeatures = checkNodeFeatures(options.nodeFeatures, this.#numNodes);
    this.#store.settle(columns);
    this.#take(this.#inOrder(name, columns), this.#received, true);
    this.#received = columns.count;
  }

  get numNodes(): number {
    return this.#numNodes;
  }

  /** Whether events may add new nodes. */
  get growsNodes(): boolean {
    return this.#growNodes;
  }

  get numEvents(): number {
    return this.#store.count;
  }

  /** The number of features per event. */
  get featureWidth(): number {
    return Math.max(0, this.#store.width);
  }

  /** The time of the last event; −∞ before the first. */
  get lastTime(): number {
    return this.#store.count === 0 ? -Infinity : this.#store.time[this.#store.count - 1];
  }

  /** The number of buffered events. */
  get numPending(): number {
    return this.#late?.count ?? 0;
  }

  get src(): Int32Array {
    return this.#view().src;
  }

  get dst(): Int32Array {
    return this.#view().dst;
  }

  get time(): Float64Array {
    return this.#view().time;
  }

  get eventIds(): Int32Array {
    return this.#view().eventIds;
  }

  get types(): Int32Array | null {
    return this.#view().types;
  }

  /** [numEvents, featureWidth], row-major. */
  get features(): Float32Array | null {
    return this.#view().features;
  }

  /** [numNodes, width]. */
  get nodeFeatures(): Tensor | null {
    const given = this.#nodeFeatures;
    if (given !== null && given.shape[0] < this.#numNodes)
      this.#nodeFeatures = padRows(given, this.#numNodes);
    return this.#nodeFeatures;
  }

  /** Adds events at the end. All are checked before any is added. */
  append(events: TemporalEvents): Appended {
    const where = `${name}.append`;
    const columns = this.#check(where, events, this.#growNodes ? null : this.#numNodes);
    const firstId = this.#received;
    if (this.#late !== null) {
      for (let i = 0; i < columns.count; i++)
        if (columns.time[i] < this.lastTime) this.#refuseLate(columns, i);
      this.#store.settle(columns);
      this.#late.push(columns, firstId);
      this.#received += columns.count;
      for (let i = 0; i < columns.count; i++) this.#lastSeen = Math.max(this.#lastSeen, columns.time[i]);
      return this.#release(this.#lastSeen - this.#lateness);
    }
    const ordered = this.#inOrder(where, columns);
    this.#store.settle(columns);
    this.#received += columns.count;
    return this.#take(ordered, firstId, false);
  }

  /**
   * Returns the result of `work`, which sees `events` at the end of the stream; afterwards the stream is as before. A moment
   * that `work` takes is valid until it returns.
   */
  withEvents<T>(events: TemporalEvents, work: () => T): T {
    const where = `${name}.withEvents`;
    const columns = this.#inOrder(where, this.#check(where, events, this.#numNodes));
    const [numNodes, lastSeen, nodeFeatures] = [this.#numNodes, this.#lastSeen, this.#nodeFeatures];
    this.#store.settle(columns);
    const { firstRow, count } = this.#take(columns, this.#received, false);
    try {
      return work();
    } finally {
      this.#adjacency.removeLast(this.#store.src, this.#store.dst, firstRow, firstRow + count);
      this.#store.count = firstRow;
      this.#setNodes(numNodes);
      [this.#lastSeen, this.#nodeFeatures, this.#views] = [lastSeen, nodeFeatures, null];
    }
  }

  /**
   * Returns the result of `work`, in which the events of these rows are in the stream, but their ends are not neighbours by
   * them; afterwards the stream is as before. `work` must not add events, and a moment that it takes is valid until it returns.
   */
  withoutNeighbors<T>(rows: ReadonlySet<number>, work: () => T): T {
    for (const row of rows) checkInteger(`${name}.withoutNeighbors`, 'a row', row, 0, this.#store.count - 1);
    const restore = this.#adjacency.hide(this.#store.src, this.#store.dst, rows);
    try {
      return work();
    } finally {
      restore();
    }
  }

  /**
   * Makes the numbers below `numNodes` nodes, the new ones without events.
   * @param features rows of the new nodes; default zeros.
   */
  addNodes(numNodes: number, features?: Float32Array): void {
    const first = this.#numNodes;
    checkInteger(`${name}.addNodes`, 'numNodes', numNodes, first, maxEvents);
    const width = this.#nodeFeatures?.shape[1] ?? 0;
    if (features !== undefined && features.length !== (numNodes - first) * width)
      throw new ShapeError(
        expected(
          `${name}.addNodes`,
          `${numNodes - first} rows of ${width} numbers`,
          'features',
          features.length,
        ),
      );
    this.#setNodes(numNodes);
    // Reading makes a copy with room for the new rows.
    if (features !== undefined && features.length > 0) this.nodeFeatures?.array.set(features, first * width);
  }

  /** Releases all buffered events. */
  flush(): Appended {
    return this.#release(Infinity);
  }

  /** Returns the number of events strictly earlier than `t`, which are the rows below it. */
  cutoff(t: number): number {
    if (typeof t !== 'number' || Number.isNaN(t))
      throw new ValueError(expected(`${name}.cutoff`, 'a number', 't', t));
    const { time, count } = this.#store;
    let low = 0;
    for (let high = count; low < high; ) {
      const middle = (low + high) >>> 1;
      if (time[middle] < t) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /**
   * Returns the arrays that a sampler reads, safe while events are appended. They must not be changed: kernels trust
   * them.
   */
  moment(): TemporalMoment {
    const { starts, neighbors, rows } = this.#adjacency;
    const { time, count } = this.#store;
    return { starts, neighbors, rows, time, numEvents: count, numNodes: this.#numNodes };
  }

  /** Returns neighbour lists as compact arrays; `eid` are the event ids. */
  toTCSR(): TCSR {
    return this.#adjacency.toTCSR(this.#store.time, this.#store.ids);
  }

  /** Returns the stream up to event `row`, with the same nodes: the events of training, for example. */
  before(row: number): TemporalGraph {
    const end = checkInteger(`${name}.before`, 'row', row, 0, this.numEvents);
    return this.#copy(end, this.#keep === null ? {} : { neighborMask: this.#keep.slice(0, end) });
  }

  /** Returns the same stream and rows, in which only events with flag 1 make their ends neighbours. */
  where(keep: Uint8Array): TemporalGraph {
    return this.#copy(this.numEvents, { neighborMask: keep });
  }

  #copy(end: number, more: TemporalGraphOptions): TemporalGraph {
    const { src, dst, time, eventIds, types, features } = this.#view();
    const events: TemporalEvents = {
      src: src.subarray(0, end),
      dst: dst.subarray(0, end),
      time: time.subarray(0, end),
      ids: eventIds.subarray(0, end),
      ...(types === null || end === 0 ? {} : { types: types.subarray(0, end) }),
      ...(features === null || end === 0 ? {} : { features: features.subarray(0, end * this.featureWidth) }),
    };
    return new TemporalGraph(events, {
      numNodes: this.#numNodes,
      directed: this.directed,
      featureWidth: this.featureWidth,
      sort: this.#sort,
      growNodes: this.#growNodes,
      ...(this.#late === null ? {} : { outOfOrder: 'buffer', lateness: this.#lateness }),
      ...(this.nodeFeatures === null ? {} : { nodeFeatures: this.nodeFeatures }),
      ...more,
    });
  }

  toString(): string {
    const features = this.featureWidth === 0 ? '' : `, ${this.featureWidth} features per event`;
    return `TemporalGraph(${this.numNodes} nodes, ${this.numEvents} events${features})`;
  }

  #check(where: string, events: TemporalEvents, numNodes: number | null): EventColumns {
    const columns = checkEvents(where, events, {
      nodeLimit: this.#growNodes || numNodes === null ? maxEvents : numNodes,
      nodeAdvice: numNodes === null ? '' : 'Pass a larger numNodes, or growNodes: true.',
      featureWidth: this.#store.width,
      typed: this.#store.typed,
    });
    const total = this.#store.count + this.numPending + columns.count;
    if (total > maxEvents || this.#received + columns.count > maxEvents)
      throw new ValueError(expected(where, `at most ${maxEvents} events in all`, 'events', total));
    return columns;
  }

  /** Returns the columns in time order; throws an error that names the first event out of order. */
  #inOrder(where: string, columns: EventColumns): EventColumns {
    const bad = findDisorder(columns.time, this.lastTime);
    if (bad < 0) return columns;
    const before = bad === 0 ? this.lastTime : columns.time[bad - 1];
    if (!this.#sort) {
      const advice = "Sort the events, or pass sort: true, or outOfOrder: 'buffer' for late events.";
      const got = `${columns.time[bad]} at position ${bad}, after ${before}`;
      throw new ValueError(expected(where, 'ascending times', 'time', got, advice), { position: bad });
    }
    const order = timeOrder(columns.time);
    if (columns.time[order[0]] < this.lastTime) this.#refuseLate(columns, order[0]);
    return reorder(columns, order, this.featureWidth || columnsWidth(columns), this.#received);
  }

  #refuseLate({ time }: EventColumns, position: number): never {
    const advice = 'Later events are in the graph already; use a larger lateness.';
    throw new ValueError(
      expected(
        `${name}.append`,
        `times from ${this.lastTime} on`,
        'time',
        `${time[position]} at position ${position}`,
        advice,
      ),
      { position },
    );
  }

  #release(until: number): Appended {
    if (this.#late === null || this.#late.count === 0) return { firstRow: this.numEvents, count: 0 };
    return this.#take(this.#late.popUntil(until), 0, false);
  }

  #take(columns: EventColumns, firstId: number, share: boolean): Appended {
    const { count } = columns;
    const firstRow = this.#store.count;
    if (count > 0) {
      if (columns.maxNode >= this.#numNodes) this.#setNodes(columns.maxNode + 1);
      this.#store.append(columns, firstId, share);
      const { src, dst } = this.#store;
      this.#adjacency.append(src, dst, firstRow, firstRow + count, this.directed, this.#keep);
      this.#lastSeen = Math.max(this.#lastSeen, this.lastTime);
      this.#views = null;
    }
    return { firstRow, count };
  }

  #setNodes(numNodes: number): void {
    this.#numNodes = numNodes;
    this.#adjacency.growNodes(numNodes);
  }

  #view(): Views {
    if (this.#views === null) {
      const { src, dst, time, ids, types, features, count } = this.#store;
      this.#views = {
        src: src.subarray(0, count),
        dst: dst.subarray(0, count),
        time: time.subarray(0, count),
        eventIds: ids.subarray(0, count),
        types: types === null ? null : types.subarray(0, count),
        features: features === null ? null : features.subarray(0, count * this.featureWidth),
      };
    }
    return this.#views;
  }
}

function checkMask(mask: Uint8Array | undefined, count: number): Uint8Array | null {
  if (mask === undefined) return null;
  if (!(mask instanceof Uint8Array) || mask.length !== count)
    throw new ValueError(
      expected(name, `a Uint8Array of ${count} flags`, 'neighborMask', mask?.length ?? mask),
    );
  return mask.slice();
}

function columnsWidth({ count, features }: EventColumns): number {
  return count === 0 ? 0 : (features?.length ?? 0) / count;
}

function checkFlag(option: string, value: unknown): boolean {
  if (value === undefined) return false;
  if (typeof value !== 'boolean') throw new ValueError(expected(name, 'true or false', option, value));
  return value;
}

function checkChoice<T extends string>(option: string, value: T, choices: readonly T[]): T {
  if (!choices.includes(value)) throw new ValueError(expected(name, choices.join(' or '), option, value));
  return value;
}

function checkNodeFeatures(features: Tensor | undefined, numNodes: number): Tensor | null {
  if (features === undefined) return null;
  if (!(features instanceof Tensor) || features.rank !== 2 || features.shape[0] !== numNodes) {
    const got = features instanceof Tensor ? `[${features.shape.join(', ')}]` : describe(features);
    throw new ShapeError(
      `${name}: expected a tensor [${numNodes}, width] for nodeFeatures, got ${got}. Pass one row per node.`,
    );
  }
  return features;
}

/** Appends rows of zeros. */
function padRows(x: Tensor, rows: number): Tensor {
  const out = Tensor.allocate(x.dtype, [rows, x.shape[1]]);
  const data = out.array;
  data.fill(0);
  data.set(x.dataSync() as typeof data);
  return out;
}
