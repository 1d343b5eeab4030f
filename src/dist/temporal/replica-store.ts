/**
 * Rows with their owners, except that the most active nodes (the shared ones) have a replica on every worker. A worker reads and
 * changes its replicas immediately and broadcasts only the changes that `SyncFilter` selects. A broadcast is in flight while the next
 * batch is computed and is applied after it, at the same step in every run: results repeat, but they depend on the number of workers,
 * and replicas may differ by any amount until `settle`.
 *
 * `settle` makes all replicas equal: the replica with the greatest (time, event) of memory, then of mail, replaces the others. This is
 * the opt-in stale mode, after Hotspot Memory Sharing (MemShare, PVLDB 18(9), 2025).
 */
import type { TypedArray } from '../../native/index.js';
import type { PlainDelta } from '../../temporal/mailbox/check-delta.js';
import { LocalStore } from '../../temporal/mailbox/local-store.js';
import { LatestFinder } from '../../temporal/mailbox/merge.js';
import { latestRows, pickDelta } from '../../temporal/mailbox/pick-delta.js';
import { readRows } from '../../temporal/mailbox/read-rows.js';
import { disposeRows, type MailBoxRows } from '../../temporal/mailbox/rows.js';
import { type StateName, type StateSizes, stateWidths } from '../../temporal/mailbox/state.js';
import type { StateStore, WholeFeatures } from '../../temporal/mailbox/state-store.js';
import type { SyncCounts } from '../../temporal/mailbox/sync-filter.js';
import { SyncFilter } from '../../temporal/mailbox/sync-filter.js';
import { NodeIndex } from '../../temporal/node-index.js';
import { fromTypedArray } from '../../tensor/index.js';
import { checkOptionNames } from '../../util/option-names.js';
import type { Communicator } from '../comm/communicator.js';
import { broadcastDelta, type PendingDelta } from './broadcast-delta.js';
import { DistributedStore, type DistributedStoreOptions } from './distributed-store.js';
import { joinRead } from './join-read.js';
import { latestReplicas } from './latest-replicas.js';
import { gatherDelta, type NamedArrays, ownedSizes, pickNodes, putNodes } from './owned-arrays.js';

export interface ReplicaStoreOptions extends DistributedStoreOptions {
  /** Nodes with a replica on every worker, each once. */
  readonly sharedNodes: Int32Array;
  /** As in `SyncFilter`. */
  readonly minDistance?: number;
  readonly maxSkip?: number;
}

/** A delta in two: rows of shared nodes, by their index in the list of shared nodes, and rows of others. */
interface Halves {
  readonly shared: PlainDelta;
  readonly others: PlainDelta;
}

export class ReplicaStore implements StateStore {
  readonly collective = true;
  readonly #comm: Communicator;
  readonly #owned: DistributedStore;
  readonly #shared: Int32Array;
  readonly #indexOf: Int32Array;
  readonly #replicas: LocalStore;
  readonly #filter: SyncFilter;
  readonly #combine: 'last' | 'mean';
  readonly #finder = new LatestFinder();
  readonly #index: NodeIndex;
  #sizes: StateSizes;
  #halves: (Halves & { readonly delta: PlainDelta }) | null = null;
  #incoming: PendingDelta | null = null;
  /** The features of the last `write`, for rows that arrive after it. */
  #features: Float32Array | null = null;

  constructor(sizes: StateSizes, combine: 'last' | 'mean', options: ReplicaStoreOptions) {
    checkOptionNames('ReplicaStore', options, {
      comm: true,
      owners: true,
      sharedNodes: true,
      minDistance: true,
      maxSkip: true,
    });
    const { comm, owners, sharedNodes, minDistance, maxSkip } = options;
    this.#comm = comm;
    this.#combine = combine;
    this.#shared = sharedNodes.slice();
    const foreign = sharedNodes.filter((node) => owners.ownerOf(node) !== comm.rank).length;
    this.#sizes = ownedSizes('ReplicaStore', sizes, owners, owners.count(comm.rank) + foreign);
    this.#owned = new DistributedStore(this.#sizes, combine, { comm, owners });
    this.#indexOf = new Int32Array(this.numNodes).fill(-1);
    for (const [index, node] of sharedNodes.entries()) this.#indexOf[node] = index;
    const own = { ...sizes, numNodes: sharedNodes.length };
    this.#replicas = new LocalStore(own, combine, (index) => sharedNodes[index]);
    this.#index = new NodeIndex(this.numNodes);
    this.#filter = new SyncFilter({
      ...{ numNodes: own.numNodes, sharedNodes: sharedNodes.map((_, index) => index), width: sizes.width },
      ...(minDistance === undefined ? {} : { minDistance }),
      ...(maxSkip === undefined ? {} : { maxSkip }),
    });
  }

  get numNodes(): number {
    return this.#sizes.numNodes;
  }

  get numRows(): number {
    return this.#sizes.numNodes;
  }

  get bytes(): number {
    return this.#owned.bytes + this.#replicas.bytes;
  }

  get takesPending(): boolean {
    return this.#comm.rank === 0;
  }

  /** Number of changes to shared nodes that this worker broadcast, and that it did not. */
  get counts(): SyncCounts {
    return this.#filter.counts;
  }

  get traffic(): DistributedStore['traffic'] {
    return this.#owned.traffic;
  }

  reset(): void {
    this.#incoming?.wait();
    this.#incoming = null;
    this.#halves = null;
    this.#owned.reset();
    this.#replicas.reset();
    this.#filter.reset();
  }

  /** New nodes are not shared. */
  grow(numNodes: number): void {
    this.#owned.grow(numNodes);
    this.#sizes = { ...this.#sizes, numNodes };
  }

  read(lists: readonly Int32Array[], whole: WholeFeatures | null): MailBoxRows[] {
    const { nodes, positions } = this.#index.unique(lists);
    const isShared = (node: number): boolean => this.#sharedIndex(node) >= 0;
    const others = nodes.filter((node) => !isShared(node));
    const [theirs] = this.#owned.read([others], null);
    const [replicas] = this.#replicas.read(
      [nodes.filter(isShared).map((node) => this.#sharedIndex(node))],
      null,
    );
    const arrays = joinRead(theirs, replicas);
    for (const rows of [theirs, replicas]) disposeRows(rows);
    let next = 0;
    let nextShared = others.length;
    const at = nodes.map((node) => (isShared(node) ? nextShared++ : next++));
    return lists.map((ids, i) => {
      const rows = positions[i].map((position) => at[position]);
      return readRows(arrays, this.#sizes, rows, ids.slice(), whole);
    });
  }

  check(where: string, delta: PlainDelta): void {
    const halves = this.#split(delta);
    this.#replicas.check(where, this.#replicas.current(halves.shared));
    this.#owned.check(where, halves.others);
    this.#halves = { ...halves, delta };
  }

  write(where: string, delta: PlainDelta, features: Float32Array | null): void {
    const { shared, others } = this.#halves?.delta === delta ? this.#halves : this.#split(delta);
    this.#halves = null;
    this.#features = features;
    this.#applyIncoming();
    this.#owned.write(where, others, features);
    this.#replicas.write(where, this.#replicas.current(shared), features);
    this.#incoming = broadcastDelta(this.#comm, this.#sizes.width, this.#selectChanges(shared));
  }

  settle(): void {
    this.#applyIncoming();
    const replicas = this.#replicas.copy();
    const sizes = { ...this.#sizes, numNodes: this.#shared.length };
    this.#setReplicas(latestReplicas(this.#comm, sizes, replicas));
  }

  copy(): Record<StateName, TypedArray> {
    this.settle();
    const all = this.#owned.copy();
    const replicas = this.#replicas.copy();
    const widths = stateWidths(this.#sizes);
    for (const name of Object.keys(all) as StateName[])
      putNodes(all[name], replicas[name], this.#shared, widths[name]);
    return all;
  }

  load(arrays: Readonly<Record<string, TypedArray>>): void {
    this.#incoming?.wait();
    this.#incoming = null;
    this.#halves = null;
    this.#owned.load(arrays);
    this.#setReplicas(pickNodes(this.#sizes, arrays, this.#shared));
  }

  gatherPending(delta: PlainDelta): PlainDelta {
    return gatherDelta(this.#comm, delta);
  }

  /** Sets replicas that are equal on all workers, and tells the filter so. */
  #setReplicas(arrays: NamedArrays): void {
    this.#replicas.load(arrays);
    const memory = Float32Array.from(arrays.memory as Float32Array);
    const indices = this.#shared.map((_, index) => index);
    this.#filter.markSent(indices, fromTypedArray(memory, [indices.length, this.#sizes.width]));
  }

  #sharedIndex(node: number): number {
    return node < this.#indexOf.length ? this.#indexOf[node] : -1;
  }

  #split(delta: PlainDelta): Halves {
    const latest = this.#combine === 'last' ? latestRows(delta, this.#finder) : delta;
    const rows = (ids: Int32Array, shared: boolean): Int32Array =>
      Int32Array.from(ids.keys()).filter((row) => this.#sharedIndex(ids[row]) >= 0 === shared);
    const { nodes, mailNodes } = latest;
    const shared = pickDelta(latest, rows(nodes, true), rows(mailNodes, true));
    const toIndices = (ids: Int32Array): Int32Array => ids.map((node) => this.#sharedIndex(node));
    return {
      shared: { ...shared, nodes: toIndices(shared.nodes), mailNodes: toIndices(shared.mailNodes) },
      others: pickDelta(latest, rows(nodes, false), rows(mailNodes, false)),
    };
  }

  /** Applies the rows that other workers broadcast at the last write, except those that are older than the replicas here. */
  #applyIncoming(): void {
    const incoming = this.#incoming;
    this.#incoming = null;
    if (incoming === null) return;
    this.#replicas.write('refresh', this.#replicas.current(incoming.wait()), this.#features);
  }

  /** Returns the rows that the filter selects, with the mail of their nodes; mail without a change of memory is always selected. */
  #selectChanges(shared: PlainDelta): PlainDelta {
    const merged = latestRows(shared, this.#finder);
    const memory = fromTypedArray(Float32Array.from(merged.memory), [merged.nodes.length, this.#sizes.width]);
    const selected = this.#filter.select(merged.nodes, memory);
    const unsent = new Set(merged.nodes);
    for (const row of selected) unsent.delete(merged.nodes[row]);
    const rowsOf = (ids: Int32Array): Int32Array =>
      Int32Array.from(ids.keys()).filter((row) => !unsent.has(ids[row]));
    return pickDelta(shared, rowsOf(shared.nodes), rowsOf(shared.mailNodes));
  }
}
