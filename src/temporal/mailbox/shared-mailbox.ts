/**
 * Memory and mail of every node: one store that is read as copies and changed by commits alone.
 *
 * A commit is checked first and applied as a whole or not at all. If several rows name one node, the row of the greatest
 * (time, event) wins, whatever their order; a time before the stored one throws. Gradients end here: neither stored nor read rows
 * carry one. Mail is [own memory ‖ the other end's memory]; the features of its event are looked up by event row. The store
 * decides where rows are: in this process, or distributed over workers (src/dist/temporal), which then make the same calls.
 *
 * A mailbox with one row per node of a partition is used with the `TemporalLoader` of that partition, which tells it the global
 * ids of its rows; from then on all ids are global.
 *
 * After the mailbox of StarryGL and TGL (Zhou et al.: "TGL", VLDB 2022), with the clock rule of TGN (Rossi et al., 2020).
 */
import type { TemporalGraph } from '../../graph/index.js';
import { type Ids, type Tensor, zeros } from '../../tensor/index.js';
import { checkIds } from '../../tensor/ops/common.js';
import {
  checkInteger,
  checkNumber,
  expected,
  ShapeError,
  StateError,
  ValueError,
} from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import {
  checkMail,
  checkMemory,
  checkNodes,
  type MailDelta,
  type MemoryDelta,
  type PlainDelta,
} from './check-delta.js';
import { LocalStore } from './local-store.js';
import { mailFeatures, withFeatures } from './mail-features.js';
import { type MailBoxShape, type MemoryParam, mailBoxShape } from './memory-param.js';
import { LatestFinder } from './merge.js';
import { type MailEvents, makeMail } from './messages.js';
import { PartitionStore } from './partition-store.js';
import type { MailBoxRows, StateDelta } from './rows.js';
import { checkSnapshot, joinDeltas, type MailBoxSnapshot, takeSnapshot } from './snapshot.js';
import { bytesPerNode, type StateSizes } from './state.js';
import type { StateStore, StoreFactory, WholeFeatures } from './state-store.js';
import { latestMemory } from './update-memory.js';

export interface MailBoxOptions {
  /** Nodes of the graph, or of the partition whose loader uses the mailbox. */
  readonly numNodes: number;
  /** The memory section of a model file; in TGL's files it is a list of one. */
  readonly memoryParam: MemoryParam | readonly [MemoryParam];
  /** Width of the features of an event. */
  readonly dimEdgeFeat?: number;
  /** Features of the events so far, row-major by event row. By default those of the stream of the first `TemporalLoader`. */
  readonly edgeFeatures?: () => Float32Array | null;
  readonly dtype?: 'f32' | 'f64';
  /** Time of nodes without events (0); earlier events throw. */
  readonly startTime?: number;
  /** Where the rows are; in this process by default. */
  readonly store?: StoreFactory;
}

/** The stream of a loader, with the nodes of its partition where it has one. */
export interface MailBoxStream {
  readonly graph: Pick<TemporalGraph, 'numNodes' | 'features' | 'featureWidth'>;
  /** Nodes of the partition, ascending; null for the whole stream. */
  readonly ids: Int32Array | null;
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
  readonly #finder = new LatestFinder();
  #edgeFeatures: (() => Float32Array | null) | null;
  #store: StateStore;
  /** `numNodes` is the bound of ids. */
  #sizes: StateSizes;
  /** The change that was checked last; its commit follows. */
  #checked: { readonly delta: StateDelta; readonly plain: PlainDelta } | null = null;
  #pending: PlainDelta[] = [];
  #version = 0;
  readonly #listeners: ((nodes: readonly Int32Array[] | null) => void)[] = [];

  constructor(options: MailBoxOptions) {
    checkOptionNames('SharedMailBox', options, {
      numNodes: true,
      memoryParam: true,
      dimEdgeFeat: true,
      edgeFeatures: true,
      dtype: true,
      startTime: true,
      store: true,
    });
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
    const sizes = { numNodes, width, slots, meanWidth, dtype, startTime };
    this.#edgeFeatures = options.edgeFeatures ?? null;
    this.#store = options.store?.(sizes, combine) ?? new LocalStore(sizes, combine);
    this.#sizes = { ...sizes, numNodes: this.#store.numNodes };
  }

  /** Ids are below this. */
  get numNodes(): number {
    return this.#sizes.numNodes;
  }

  get dtype(): 'f32' | 'f64' {
    return this.#sizes.dtype;
  }

  /** Bytes of all rows. */
  get bytes(): number {
    return this.#store.numRows * bytesPerNode(this.#sizes);
  }

  /** Bytes that this process holds: all of them, or a worker's share. */
  get localBytes(): number {
    return this.#store.bytes;
  }

  /** Number of commits; restored with a snapshot, so that a reader can tell whether its rows are current. */
  get version(): number {
    return this.#version;
  }

  /** Rows of memory and mail that are queued for `drain`. */
  get numPending(): number {
    return this.#pending.reduce((sum, delta) => sum + delta.nodes.length + delta.mailNodes.length, 0);
  }

  /** Empties all rows and the queue, as at the beginning of an epoch. */
  reset(): void {
    this.#store.reset();
    this.#pending = [];
    this.#checked = null;
    this.#version++;
    this.#changed(null);
  }

  /** Calls `listener` after every change of rows, with the nodes whose rows changed, or null for all. */
  onChange(listener: (nodes: readonly Int32Array[] | null) => void): void {
    this.#listeners.push(listener);
  }

  /** Makes room for new nodes, which start empty. */
  grow(numNodes: number): void {
    checkInteger('grow', 'numNodes', numNodes, this.numNodes, 2 ** 31 - 2);
    this.#store.grow(numNodes);
    this.#sizes = { ...this.#sizes, numNodes };
  }

  /**
   * Prepares the mailbox for the batches of a loader, which calls this. A mailbox with one row per node of the loader's partition
   * takes the global ids of its rows from it; one with a row per node of the stream stays as it is.
   */
  useStream({ graph, ids }: MailBoxStream): void {
    if (graph.featureWidth === this.dimEdgeFeat) this.#edgeFeatures ??= () => graph.features;
    const known = this.#store instanceof PartitionStore ? this.#store.nodes : null;
    if (known === null && (ids === null || this.numNodes >= graph.numNodes)) return;
    const isKnown = known !== null && known.length === ids?.length && known.every((id, i) => id === ids[i]);
    if (isKnown) return;
    if (known !== null || this.numNodes !== ids?.length || this.#store.collective) {
      const what =
        ids === null ? `${graph.numNodes} rows` : `${ids.length} rows (its partition) or ${graph.numNodes}`;
      const got = known === null ? this.numNodes : 'the rows of another partition';
      const advice = 'Make one mailbox per partition, with numNodes: pdata.ids.length.';
      throw new ShapeError(expected('TemporalLoader', what, 'mailbox', got, advice));
    }
    this.#store = new PartitionStore(this.#sizes, this.shape.combine, ids, graph.numNodes, this.#store);
    this.#sizes = { ...this.#sizes, numNodes: graph.numNodes };
  }

  // --- reading -------------------------------------------------------------------------------------------------------

  /**
   * Copies the rows of `ids`. Slots are in the order of the ring, not of time.
   * @param whole read mails together with the features of their events where a node has one mail (`wholeMail`).
   */
  read(ids: Int32Array, whole = false): MailBoxRows {
    return this.readEach([ids], whole)[0];
  }

  /** Copies the rows of several lists of ids: with several workers, in one exchange. */
  readEach(lists: readonly Int32Array[], whole = false): MailBoxRows[] {
    for (const ids of lists) {
      if (!(ids instanceof Int32Array)) throw new ValueError(expected('read', 'an Int32Array', 'ids', ids));
      checkNodes('read', 'ids', ids, this.numNodes);
    }
    return this.#store.read(lists, whole ? this.#wholeFeatures() : null);
  }

  /** Returns the features of the events of `rows`' mails [n·K, E], zeros for empty slots; null when events have none. */
  mailFeatures(rows: MailBoxRows): Tensor | null {
    return mailFeatures(rows, this.#features(), this.dimEdgeFeat, this.#sizes.dtype);
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

  /** Returns every node once, with the row of its greatest (time, event). */
  getUpdateMemory(ids: Int32Array, memory: Tensor, times: Float64Array, events?: Int32Array): MemoryDelta {
    const all = { nodes: ids, memory, memoryTime: times, memoryEvents: events ?? unknownEvents(ids) };
    return latestMemory('getUpdateMemory', this.#sizes, this.#finder, all);
  }

  /** Returns the mail of a batch of events; with `mail_combine: mean` all of it, otherwise the latest of every node. */
  getUpdateMail(events: MailEvents): MailDelta {
    const { deliverTo, combine } = this.shape;
    return makeMail(events, this.#sizes, deliverTo === 'neighbors', combine === 'last' ? this.#finder : null);
  }

  // --- changing ------------------------------------------------------------------------------------------------------

  /** Applies a change as a whole, or throws and leaves everything as it was. */
  commit(delta: StateDelta): void {
    const checked = this.#checked?.delta === delta ? this.#checked.plain : null;
    this.#apply('commit', checked ?? this.#check('commit', delta));
  }

  /** Throws what `commit` would throw, and changes nothing; the delta must not be modified until it is committed. */
  check(delta: StateDelta): void {
    const plain = this.#check('commit', delta);
    this.#store.check('commit', plain);
    this.#checked = { delta, plain };
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

  /** Queues a delta, for instance that of another worker. */
  commitAsync(delta: StateDelta): void {
    this.#queue(this.#check('commitAsync', delta));
  }

  /** Applies the queue as one commit, so the order of arrival has no effect. If that throws, the queue stays. */
  drain(): void {
    if (this.#pending.length > 0 || this.#store.collective) {
      this.#apply('drain', joinDeltas(this.#pending, this.#sizes.dtype));
      this.#pending = [];
    }
    this.#store.settle();
  }

  /** Empties the queue. */
  discardPending(): void {
    this.#pending = [];
  }

  // --- checkpoints ---------------------------------------------------------------------------------------------------

  snapshot(): MailBoxSnapshot {
    const pending = this.#store.gatherPending(joinDeltas(this.#pending, this.#sizes.dtype));
    return takeSnapshot(this.#store.copy(), this.#rowSizes(), this.#version, pending);
  }

  /** Restores a snapshot; one that does not fit throws and changes nothing. */
  restore(snapshot: MailBoxSnapshot): void {
    const pending = checkSnapshot(snapshot, this.#rowSizes(), this.#knownEvents(), this.numNodes);
    this.#store.load(snapshot.arrays);
    const isPending = pending.nodes.length + pending.mailNodes.length > 0 && this.#store.takesPending;
    this.#pending = isPending ? [pending] : [];
    this.#checked = null;
    this.#version = snapshot.version;
    this.#changed(null);
  }

  // --- internal ------------------------------------------------------------------------------------------------------

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

  #rowSizes(): StateSizes {
    return { ...this.#sizes, numNodes: this.#store.numRows };
  }

  #features(): Float32Array | null {
    return this.#edgeFeatures?.() ?? null;
  }

  /** As `mailFeatures`, but never null where events have features: the width of a mail must not depend on the events so far. */
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
    const features = this.dimEdgeFeat > 0 ? this.#features() : null;
    return features === null ? Infinity : Math.floor(features.length / this.dimEdgeFeat);
  }

  /** Returns features that can be read together with mails: those of one mail per node. */
  #wholeFeatures(): WholeFeatures | null {
    const { slots, meanWidth, dtype } = this.#sizes;
    if (slots !== 1 || meanWidth > 0 || dtype !== 'f32' || this.dimEdgeFeat === 0) return null;
    const features = this.#features();
    return features instanceof Float32Array ? { features, width: this.dimEdgeFeat } : null;
  }

  #queue(delta: PlainDelta): void {
    this.#pending.push(joinDeltas([delta], this.#sizes.dtype));
  }

  #apply(where: string, delta: PlainDelta): void {
    const { meanWidth } = this.#sizes;
    const needed = meanWidth > 0 && (delta.mailNodes.length > 0 || this.#store.collective);
    const features = needed ? this.#features() : null;
    if (needed && features === null && delta.mailNodes.length > 0) {
      const advice = 'The mean of mails needs the features of their events.';
      throw new StateError(expected(where, 'features of events', 'edgeFeatures', null, advice));
    }
    this.#checked = null;
    this.#store.write(where, delta, features);
    this.#version++;
    this.#changed([delta.nodes, delta.mailNodes]);
  }

  #changed(nodes: readonly Int32Array[] | null): void {
    for (const listener of this.#listeners) listener(nodes);
  }
}

function unknownEvents(ids: Int32Array): Int32Array {
  return new Int32Array(ids.length).fill(-1);
}
