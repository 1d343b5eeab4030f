/**
 * Memory and mail of every node: one store that is read by copies and changed by commits alone.
 *
 * A commit is checked first and applied as a whole or not at all. Of several rows for one node the one of the greatest
 * (time, event) counts, whatever their order; a time before the stored one is refused. Gradients end here: what is
 * stored has none, what is read has none. Mail is [own memory ‖ the other end's memory]; the features of its event are
 * looked up by event row. Distributed writing and replicas of shared nodes are not its business.
 *
 * After the mailbox of StarryGL and TGL (Zhou et al.: "TGL", VLDB 2022), with the clock rule of TGN (Rossi et al., 2020).
 */
import { kernels } from '../../native/index.js';
import { type Ids, Tensor, zeros } from '../../tensor/index.js';
import { checkIds } from '../../tensor/ops/common.js';
import { checkInteger, checkNumber, expected, StateError, ValueError } from '../../util/errors.js';
import {
  checkClock,
  checkMail,
  checkMemory,
  checkNodes,
  type MailDelta,
  type MemoryDelta,
  type PlainDelta,
} from './check-delta.js';
import { mailFeatures, readWholeMail, withFeatures } from './mail-features.js';
import { type MailBoxShape, type MemoryParam, mailBoxShape } from './memory-param.js';
import { LatestFinder } from './merge.js';
import { type MailEvents, makeMail } from './messages.js';
import type { MailBoxRows, StateDelta } from './rows.js';
import { checkSnapshot, joinDeltas, type MailBoxSnapshot, takeSnapshot } from './snapshot.js';
import {
  allocateState,
  bytesPerNode,
  resetState,
  type StateArrays,
  type StateSizes,
  stateNames,
} from './state.js';
import { StateWriter } from './state-writer.js';

export interface MailBoxOptions {
  readonly numNodes: number;
  readonly memoryParam: MemoryParam;
  /** Width of the features of an event. */
  readonly dimEdgeFeat?: number;
  /** Features of the events so far, row-major by event row. */
  readonly edgeFeatures?: () => Float32Array | null;
  /** Nodes that have a replica on every worker. */
  readonly sharedNodes?: Ids;
  readonly dtype?: 'f32' | 'f64';
  /** Time of nodes that nothing happened to (0); earlier events are refused. */
  readonly startTime?: number;
}

/** Mail with the features of its events. */
export interface MailRows {
  /** [n, K, 2D + E]. */
  readonly mail: Tensor;
  readonly time: Float64Array;
  readonly events: Int32Array;
  readonly count: Int32Array;
}

export class SharedMailBox {
  readonly shape: MailBoxShape;
  readonly dimEdgeFeat: number;
  readonly sharedNodes: Int32Array;
  readonly #edgeFeatures: () => Float32Array | null;
  readonly #finder = new LatestFinder();
  readonly #writer: StateWriter;
  #sizes: StateSizes;
  #capacity: number;
  #state: StateArrays;
  #pending: PlainDelta[] = [];
  #version = 0;

  constructor(options: MailBoxOptions) {
    const where = 'SharedMailBox';
    const numNodes = checkInteger(where, 'numNodes', options.numNodes, 0, 2 ** 31 - 2);
    this.shape = mailBoxShape(options.memoryParam);
    this.dimEdgeFeat = checkInteger(where, 'dimEdgeFeat', options.dimEdgeFeat ?? 0);
    const { dtype = 'f32' } = options;
    if (dtype !== 'f32' && dtype !== 'f64')
      throw new ValueError(expected(where, "'f32' or 'f64'", 'dtype', dtype));
    const { width, slots, combine } = this.shape;
    const meanWidth = combine === 'mean' ? this.dimEdgeFeat : 0;
    const startTime = checkNumber(where, 'startTime', options.startTime ?? 0);
    this.#sizes = { numNodes, width, slots, meanWidth, dtype, startTime };
    this.sharedNodes = checkIds(where, 'sharedNodes', options.sharedNodes ?? [], numNodes).slice();
    this.#edgeFeatures = options.edgeFeatures ?? (() => null);
    this.#capacity = numNodes;
    this.#state = allocateState(this.#sizes, numNodes);
    this.#writer = new StateWriter(this.#finder, combine);
  }

  get numNodes(): number {
    return this.#sizes.numNodes;
  }

  /** Bytes of what is known of all nodes. */
  get bytes(): number {
    return this.numNodes * bytesPerNode(this.#sizes);
  }

  /** Commits since the beginning; restored with a snapshot, so that a reader can tell whether its rows are current. */
  get version(): number {
    return this.#version;
  }

  /** Rows that wait for `drain`, memory and mail together. */
  get numPending(): number {
    return this.#pending.reduce((sum, delta) => sum + delta.nodes.length + delta.mailNodes.length, 0);
  }

  /** Forgets everything, also what waits; the beginning of an epoch. */
  reset(): void {
    resetState(this.#state, this.#sizes.startTime);
    this.#pending = [];
    this.#version++;
  }

  /** Makes room for new nodes, which start empty. */
  grow(numNodes: number): void {
    checkInteger('grow', 'numNodes', numNodes, this.numNodes, 2 ** 31 - 2);
    const sizes = { ...this.#sizes, numNodes };
    if (numNodes > this.#capacity) {
      // Nothing is changed before there is room for everything.
      const capacity = Math.max(numNodes, Math.min(2 * this.#capacity, 2 ** 31 - 2));
      const grown = allocateState(sizes, capacity);
      for (const name of stateNames) (grown[name] as Float64Array).set(this.#state[name] as Float64Array);
      this.#capacity = capacity;
      this.#state = grown;
    }
    this.#sizes = sizes;
  }

  // --- reading -------------------------------------------------------------------------------------------------------

  /**
   * The state of `ids`, copied. Slots lie in the order they were written round, not by time.
   * @param whole read mails together with the features of their events where a node has one mail (`wholeMail`).
   */
  read(ids: Int32Array, whole = false): MailBoxRows {
    if (!(ids instanceof Int32Array)) throw new ValueError(expected('read', 'an Int32Array', 'ids', ids));
    checkNodes('read', 'ids', ids, this.numNodes);
    const n = ids.length;
    const state = this.#state;
    const { width, slots, dtype, meanWidth } = this.#sizes;
    const gather = kernels().gatherRows;
    const memory = Tensor.allocate(dtype, [n, width]);
    const mailEvents = new Int32Array(n * slots);
    gather(state.mailEvents, ids, mailEvents, n, slots * 4);
    const features = whole && slots === 1 && meanWidth === 0 ? this.#edgeFeatures() : null;
    const wholeMail =
      features instanceof Float32Array && dtype === 'f32' && this.dimEdgeFeat > 0
        ? readWholeMail(state.mail, ids, features, mailEvents, 2 * width, this.dimEdgeFeat)
        : null;
    const mail =
      wholeMail?.rows.view([n, 2 * width], wholeMail.rows.strides) ??
      Tensor.allocate(dtype, [n, slots * 2 * width]);
    const rows = {
      nodes: ids.slice(),
      memory,
      memoryTime: new Float64Array(n),
      mail,
      mailEvents,
      mailTime: new Float64Array(n * slots),
      mailCount: new Int32Array(n),
    };
    const elementBytes = memory.floats.BYTES_PER_ELEMENT;
    gather(state.memory, ids, memory.floats, n, width * elementBytes);
    gather(state.memoryTime, ids, rows.memoryTime, n, 8);
    gather(state.mailTime, ids, rows.mailTime, n, slots * 8);
    gather(state.count, ids, rows.mailCount, n, 4);
    if (wholeMail !== null) return { ...rows, wholeMail };
    gather(state.mail, ids, mail.floats, n, slots * 2 * width * elementBytes);
    if (meanWidth === 0) return rows;
    const means = Tensor.allocate(dtype, [n * slots, meanWidth]);
    gather(state.mailFeatures, ids, means.floats, n, slots * meanWidth * elementBytes);
    return { ...rows, mailFeatures: means };
  }

  /** Features of the events of `rows`' mails [n·K, E], zeros where no mail lies; null when events have none. */
  mailFeatures(rows: MailBoxRows): Tensor | null {
    return mailFeatures(rows, this.#edgeFeatures(), this.dimEdgeFeat, this.#sizes.dtype);
  }

  getMemory(ids: Ids): { readonly memory: Tensor; readonly time: Float64Array } {
    const { memory, memoryTime: time } = this.read(checkIds('getMemory', 'ids', ids, this.numNodes));
    return { memory, time };
  }

  getMail(ids: Ids): MailRows {
    const rows = this.read(checkIds('getMail', 'ids', ids, this.numNodes));
    const mail = withFeatures(rows, this.#featuresOf(rows), this.shape.slots, 2 * this.shape.width);
    return { mail, time: rows.mailTime, events: rows.mailEvents, count: rows.mailCount };
  }

  // --- making a change -----------------------------------------------------------------------------------------------

  /** Every node once, with the row of its greatest (time, event). */
  getUpdateMemory(ids: Int32Array, memory: Tensor, times: Float64Array, events?: Int32Array): MemoryDelta {
    const all = { nodes: ids, memory, memoryTime: times, memoryEvents: events ?? unknownEvents(ids) };
    const checked = checkMemory('getUpdateMemory', this.#sizes, all);
    const { nodes, rows } = this.#finder.find(ids, times, all.memoryEvents);
    const picked = Tensor.allocate(memory.dtype, [rows.length, this.shape.width]);
    const rowBytes = this.shape.width * checked.memory.BYTES_PER_ELEMENT;
    kernels().gatherRows(checked.memory, rows, picked.floats, rows.length, rowBytes);
    const memoryTime = new Float64Array(rows.length);
    const memoryEvents = new Int32Array(rows.length);
    for (let i = 0; i < rows.length; i++) {
      memoryTime[i] = times[rows[i]];
      memoryEvents[i] = all.memoryEvents[rows[i]];
    }
    return { nodes, memory: picked, memoryTime, memoryEvents };
  }

  /** The mail of a batch of events; with `mail_combine: mean` all of it, otherwise the latest of every node. */
  getUpdateMail(events: MailEvents): MailDelta {
    const { deliverTo, combine } = this.shape;
    return makeMail(events, this.#sizes, deliverTo === 'neighbors', combine === 'last' ? this.#finder : null);
  }

  // --- changing ------------------------------------------------------------------------------------------------------

  /** Applies a change as a whole, or throws and leaves everything as it was. */
  commit(delta: StateDelta): void {
    this.#apply('commit', this.#check('commit', delta));
  }

  /** Throws what `commit` would throw, and changes nothing. */
  check(delta: StateDelta): void {
    checkClock('commit', this.#state, this.shape.slots, this.#check('commit', delta));
  }

  /** Commits memory alone. */
  setMemoryLocal(ids: Int32Array, memory: Tensor, times: Float64Array, events?: Int32Array): void {
    this.#apply('setMemoryLocal', this.#memoryOnly('setMemoryLocal', ids, memory, times, events));
  }

  /** Commits mail alone: one slot for every node. */
  setMailboxLocal(ids: Int32Array, mail: Tensor, times: Float64Array, events: Int32Array): void {
    this.#apply('setMailboxLocal', this.#mailOnly('setMailboxLocal', ids, mail, times, events));
  }

  /** Queues memory for `drain`. Values are copied now; only the clock is checked later. */
  setMemoryAsync(ids: Int32Array, memory: Tensor, times: Float64Array, events?: Int32Array): void {
    this.#queue(this.#memoryOnly('setMemoryAsync', ids, memory, times, events));
  }

  setMailboxAsync(ids: Int32Array, mail: Tensor, times: Float64Array, events: Int32Array): void {
    this.#queue(this.#mailOnly('setMailboxAsync', ids, mail, times, events));
  }

  /** Queues a whole change, for instance that of another worker. */
  commitAsync(delta: StateDelta): void {
    this.#queue(this.#check('commitAsync', delta));
  }

  /** Applies all that waits as one commit, so the order of arrival plays no part. When it is refused it waits on. */
  drain(): void {
    if (this.#pending.length === 0) return;
    this.#apply('drain', joinDeltas(this.#pending, this.#sizes.dtype));
    this.#pending = [];
  }

  /** Drops what waits. */
  discardPending(): void {
    this.#pending = [];
  }

  // --- checkpoints ---------------------------------------------------------------------------------------------------

  snapshot(): MailBoxSnapshot {
    const pending = joinDeltas(this.#pending, this.#sizes.dtype);
    return takeSnapshot(this.#state, this.#sizes, this.#version, pending);
  }

  /** Becomes what the snapshot was taken of; one that does not fit is refused and changes nothing. */
  restore(snapshot: MailBoxSnapshot): void {
    const pending = checkSnapshot(snapshot, this.#state, this.#sizes, this.#knownEvents());
    // Room beyond numNodes must be empty for nodes to come.
    resetState(this.#state, this.#sizes.startTime);
    for (const name of stateNames)
      (this.#state[name] as Float64Array).set(snapshot.arrays[name] as Float64Array);
    this.#pending = pending.nodes.length + pending.mailNodes.length > 0 ? [pending] : [];
    this.#version = snapshot.version;
  }

  // --- inside --------------------------------------------------------------------------------------------------------

  #check(where: string, delta: StateDelta): PlainDelta {
    if (typeof delta !== 'object' || delta === null)
      throw new ValueError(expected(where, 'a StateDelta', 'delta', delta));
    const memory = checkMemory(where, this.#sizes, delta);
    return { ...memory, ...checkMail(where, this.#sizes, delta, this.#knownEvents()) };
  }

  #memoryOnly(
    where: string,
    nodes: Int32Array,
    memory: Tensor,
    times: Float64Array,
    events?: Int32Array,
  ): PlainDelta {
    const half = { nodes, memory, memoryTime: times, memoryEvents: events ?? unknownEvents(nodes) };
    return { ...this.#noMail(), ...checkMemory(where, this.#sizes, half) };
  }

  #mailOnly(
    where: string,
    nodes: Int32Array,
    mail: Tensor,
    times: Float64Array,
    events: Int32Array,
  ): PlainDelta {
    const half = { mailNodes: nodes, mail, mailTime: times, mailEvents: events };
    return { ...this.#noMail(), ...checkMail(where, this.#sizes, half, this.#knownEvents()) };
  }

  #noMail(): PlainDelta {
    return joinDeltas([], this.#sizes.dtype);
  }

  /** As `mailFeatures`, but never null where events have features: the width of a mail must not depend on what came. */
  #featuresOf(rows: MailBoxRows): Tensor | null {
    const features = this.mailFeatures(rows);
    if (features !== null || this.dimEdgeFeat === 0) return features;
    if (rows.mailEvents.some((event) => event >= 0)) {
      const advice = 'Pass edgeFeatures to the constructor, for instance () => graph.features.';
      throw new StateError(expected('getMail', 'features of events', 'edgeFeatures', null, advice));
    }
    return zeros([rows.mailEvents.length, this.dimEdgeFeat], { dtype: this.#sizes.dtype });
  }

  #knownEvents(): number {
    const features = this.dimEdgeFeat > 0 ? this.#edgeFeatures() : null;
    return features === null ? Infinity : Math.floor(features.length / this.dimEdgeFeat);
  }

  #queue(delta: PlainDelta): void {
    this.#pending.push(joinDeltas([delta], this.#sizes.dtype));
  }

  #apply(where: string, delta: PlainDelta): void {
    checkClock(where, this.#state, this.shape.slots, delta);
    const needed = this.#sizes.meanWidth > 0 && delta.mailNodes.length > 0;
    const features = needed ? this.#edgeFeatures() : null;
    if (needed && features === null) {
      const advice = 'The mean of mails needs the features of their events.';
      throw new StateError(expected(where, 'features of events', 'edgeFeatures', null, advice));
    }
    this.#writer.write(this.#state, this.#sizes, delta, features);
    this.#version++;
  }
}

function unknownEvents(ids: Int32Array): Int32Array {
  return new Int32Array(ids.length).fill(-1);
}
