/**
 * Memory and mail without exchange: every worker keeps rows of all nodes, changed by its own events only. `settle`, at the ends of
 * splits and before a checkpoint, replaces the rows of every node by those of its owner. Cheap, but a worker does not see events of
 * other workers in between; results depend on the number of workers.
 */
import type { TypedArray } from '../../native/index.js';
import type { PlainDelta } from '../../temporal/mailbox/check-delta.js';
import { LocalStore } from '../../temporal/mailbox/local-store.js';
import type { MailBoxRows } from '../../temporal/mailbox/rows.js';
import type { StateName, StateSizes } from '../../temporal/mailbox/state.js';
import type { StateStore, WholeFeatures } from '../../temporal/mailbox/state-store.js';
import { checkOptionNames } from '../../util/option-names.js';
import type { Communicator } from '../comm/communicator.js';
import type { DistributedStoreOptions } from './distributed-store.js';
import type { NodeOwners } from './node-owners.js';
import { gatherDelta, gatherOwned, ownedSizes, pickNodes } from './owned-arrays.js';

export class SeparateStore implements StateStore {
  readonly collective = true;
  readonly #comm: Communicator;
  readonly #owners: NodeOwners;
  readonly #local: LocalStore;
  #sizes: StateSizes;

  constructor(sizes: StateSizes, combine: 'last' | 'mean', options: DistributedStoreOptions) {
    checkOptionNames('SeparateStore', options, { comm: true, owners: true });
    const { comm, owners } = options;
    this.#comm = comm;
    this.#owners = owners;
    this.#sizes = ownedSizes('SeparateStore', sizes, owners, owners.count(comm.rank));
    this.#local = new LocalStore(this.#sizes, combine);
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

  reset(): void {
    this.#local.reset();
  }

  grow(numNodes: number): void {
    this.#owners.grow(numNodes);
    this.#local.grow(numNodes);
    this.#sizes = { ...this.#sizes, numNodes };
  }

  read(lists: readonly Int32Array[], whole: WholeFeatures | null): MailBoxRows[] {
    return this.#local.read(lists, whole);
  }

  check(where: string, delta: PlainDelta): void {
    this.#local.check(where, delta);
  }

  write(where: string, delta: PlainDelta, features: Float32Array | null): void {
    this.#local.write(where, delta, features);
  }

  settle(): void {
    this.copy();
  }

  copy(): Record<StateName, TypedArray> {
    const own = pickNodes(this.#sizes, this.#local.copy(), this.#owners.nodesOf(this.#comm.rank));
    const all = gatherOwned(this.#comm, this.#owners, this.#sizes, own);
    this.#local.load(all);
    return all;
  }

  load(arrays: Readonly<Record<string, TypedArray>>): void {
    this.#local.load(arrays);
  }

  gatherPending(delta: PlainDelta): PlainDelta {
    return gatherDelta(this.#comm, delta);
  }
}
