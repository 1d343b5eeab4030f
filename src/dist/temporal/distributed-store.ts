/**
 * The rows of a mailbox, distributed over workers: the owner of a node holds its row. A read fetches all rows of a step from their
 * owners in one exchange. A delta is reduced to one row per node, each row is sent to its owner only, and the owner merges the rows
 * by the greatest (time, event). So reads and stored rows have the bits that one worker would have.
 *
 * All calls are collective. A delta that an owner rejects ends that worker with the reason, and so the job.
 */
import type { TypedArray } from '../../native/index.js';
import type { PlainDelta } from '../../temporal/mailbox/check-delta.js';
import { LocalStore } from '../../temporal/mailbox/local-store.js';
import { LatestFinder } from '../../temporal/mailbox/merge.js';
import { latestRows } from '../../temporal/mailbox/pick-delta.js';
import { type ReadArrays, readRows } from '../../temporal/mailbox/read-rows.js';
import { disposeRows, type MailBoxRows } from '../../temporal/mailbox/rows.js';
import { type StateName, type StateSizes, stateWidths } from '../../temporal/mailbox/state.js';
import type { StateStore, WholeFeatures } from '../../temporal/mailbox/state-store.js';
import { NodeIndex } from '../../temporal/node-index.js';
import { checkOptionNames } from '../../util/option-names.js';
import type { CommHandle, Communicator } from '../comm/communicator.js';
import type { NodeOwners } from './node-owners.js';
import { gatherDelta, gatherOwned, ownedSizes, pickNodes } from './owned-arrays.js';
import { routeDelta } from './route-delta.js';
import { exchangeOffsets, startRows } from './row-exchange.js';

/** Rows that this worker has sent to others. */
export interface StoreTraffic {
  /** Rows that other workers requested. */
  readonly readRows: number;
  readonly memoryRows: number;
  readonly mailRows: number;
}

export interface DistributedStoreOptions {
  readonly comm: Communicator;
  readonly owners: NodeOwners;
}

export class DistributedStore implements StateStore {
  readonly collective = true;
  readonly #comm: Communicator;
  readonly #owners: NodeOwners;
  readonly #combine: 'last' | 'mean';
  readonly #local: LocalStore;
  readonly #index: NodeIndex;
  readonly #finder = new LatestFinder();
  #sizes: StateSizes;
  #routed: { readonly delta: PlainDelta; readonly own: PlainDelta } | null = null;
  #traffic = { readRows: 0, memoryRows: 0, mailRows: 0 };

  constructor(sizes: StateSizes, combine: 'last' | 'mean', options: DistributedStoreOptions) {
    checkOptionNames('DistributedStore', options, { comm: true, owners: true });
    const { comm, owners } = options;
    this.#comm = comm;
    this.#owners = owners;
    this.#combine = combine;
    this.#sizes = ownedSizes('DistributedStore', sizes, owners, owners.count(comm.rank));
    this.#index = new NodeIndex(this.numNodes);
    const own = { ...sizes, numNodes: owners.count(comm.rank) };
    this.#local = new LocalStore(own, combine, (row) => owners.nodesOf(comm.rank)[row]);
  }

  get numNodes(): number {
    return this.#sizes.numNodes;
  }

  get numRows(): number {
    return this.#sizes.numNodes;
  }

  get bytes(): number {
    return this.#local.bytes;
  }

  get takesPending(): boolean {
    return this.#comm.rank === 0;
  }

  get traffic(): StoreTraffic {
    return { ...this.#traffic };
  }

  reset(): void {
    this.#local.reset();
    this.#routed = null;
  }

  grow(numNodes: number): void {
    this.#owners.grow(numNodes);
    this.#local.grow(this.#owners.count(this.#comm.rank));
    this.#sizes = { ...this.#sizes, numNodes };
  }

  read(lists: readonly Int32Array[], whole: WholeFeatures | null): MailBoxRows[] {
    // With one worker the rows are the nodes.
    if (this.#comm.size === 1) return this.#local.read(lists, whole);
    const { nodes, positions } = this.#index.unique(lists);
    const { rows, offsets, positions: order } = this.#owners.split(nodes);
    const arrays = this.#fetch(rows, offsets);
    return lists.map((ids, i) => {
      const at = positions[i].map((position) => order[position]);
      return readRows(arrays, this.#sizes, at, ids.slice(), whole);
    });
  }

  check(where: string, delta: PlainDelta): void {
    const own = this.#route(delta);
    this.#local.check(where, own);
    this.#routed = { delta, own };
  }

  write(where: string, delta: PlainDelta, features: Float32Array | null): void {
    const own = this.#routed?.delta === delta ? this.#routed.own : this.#route(delta);
    this.#routed = null;
    this.#local.write(where, own, features);
  }

  settle(): void {}

  copy(): Record<StateName, TypedArray> {
    return gatherOwned(this.#comm, this.#owners, this.#sizes, this.#local.copy());
  }

  load(arrays: Readonly<Record<string, TypedArray>>): void {
    this.#local.load(pickNodes(this.#sizes, arrays, this.#owners.nodesOf(this.#comm.rank)));
    this.#routed = null;
  }

  gatherPending(delta: PlainDelta): PlainDelta {
    return gatherDelta(this.#comm, delta);
  }

  /** Fetches rows of the owners' arrays, in the order of the request. */
  #fetch(rows: Int32Array, offsets: Int32Array): ReadArrays {
    const comm = this.#comm;
    const [requested] = exchangeOffsets(comm, [offsets]);
    const ids = startRows(comm, { rows, offsets, width: 1 }, requested);
    ids.handle.wait();
    this.#traffic.readRows += ids.into.length - (requested[comm.rank + 1] - requested[comm.rank]);
    const [read] = this.#local.read([ids.into], null);
    const widths = stateWidths(this.#sizes);
    const handles: CommHandle[] = [];
    const send = <T extends TypedArray>(name: StateName, from: T): T => {
      const out = { rows: from as unknown as Float32Array, offsets: requested, width: widths[name] };
      const { into, handle } = startRows(comm, out, offsets);
      handles.push(handle);
      return into as unknown as T;
    };
    const arrays: ReadArrays = {
      memory: send('memory', read.memory.floats),
      memoryTime: send('memoryTime', read.memoryTime),
      mail: send('mail', read.mail.floats),
      mailTime: send('mailTime', read.mailTime),
      mailEvents: send('mailEvents', read.mailEvents),
      count: send('count', read.mailCount),
      mailFeatures:
        read.mailFeatures === undefined
          ? new Float32Array(0)
          : send('mailFeatures', read.mailFeatures.floats),
    };
    for (const handle of handles) handle.wait();
    disposeRows(read);
    return arrays;
  }

  #route(delta: PlainDelta): PlainDelta {
    if (this.#comm.size === 1) return delta;
    const latest = this.#combine === 'last' ? latestRows(delta, this.#finder) : delta;
    const { own, memoryRows, mailRows } = routeDelta(this.#comm, this.#owners, this.#sizes.width, latest);
    this.#traffic.memoryRows += memoryRows;
    this.#traffic.mailRows += mailRows;
    return own;
  }
}
