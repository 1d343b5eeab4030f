/** The rows of a mailbox in the memory of this process. */
import type { TypedArray } from '../../native/index.js';
import { checkClock, latestSlot, type PlainDelta } from './check-delta.js';
import { LatestFinder } from './merge.js';
import { pickDelta } from './pick-delta.js';
import { readRows } from './read-rows.js';
import type { MailBoxRows } from './rows.js';
import {
  allocateState,
  bytesPerNode,
  copyState,
  resetState,
  type StateArrays,
  type StateName,
  type StateSizes,
  stateNames,
} from './state.js';
import type { StateStore, WholeFeatures } from './state-store.js';
import { StateWriter } from './state-writer.js';

export class LocalStore implements StateStore {
  readonly collective = false;
  readonly takesPending = true;
  readonly #writer: StateWriter;
  readonly #nameOf: (node: number) => number;
  #sizes: StateSizes;
  #capacity: number;
  #state: StateArrays;

  /** @param nameOf the id by which messages name a node. */
  constructor(
    sizes: StateSizes,
    combine: 'last' | 'mean',
    nameOf: (node: number) => number = (node) => node,
  ) {
    this.#sizes = sizes;
    this.#capacity = sizes.numNodes;
    this.#state = allocateState(sizes, sizes.numNodes);
    this.#writer = new StateWriter(new LatestFinder(), combine);
    this.#nameOf = nameOf;
  }

  get numNodes(): number {
    return this.#sizes.numNodes;
  }

  get numRows(): number {
    return this.#sizes.numNodes;
  }

  get bytes(): number {
    return this.#sizes.numNodes * bytesPerNode(this.#sizes);
  }

  reset(): void {
    resetState(this.#state, this.#sizes.startTime);
  }

  grow(numNodes: number): void {
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

  read(lists: readonly Int32Array[], whole: WholeFeatures | null): MailBoxRows[] {
    return lists.map((ids) => this.readAs(ids, ids.slice(), whole));
  }

  /** Reads rows under the ids of `nodes`, which is kept. */
  readAs(rows: Int32Array, nodes: Int32Array, whole: WholeFeatures | null): MailBoxRows {
    return readRows(this.#state, this.#sizes, rows, nodes, whole);
  }

  check(where: string, delta: PlainDelta): void {
    checkClock(where, this.#state, this.#sizes.slots, delta, this.#nameOf);
  }

  write(where: string, delta: PlainDelta, features: Float32Array | null): void {
    this.check(where, delta);
    this.#writer.write(this.#state, this.#sizes, delta, features);
  }

  /** Returns the rows of a delta that are not earlier than the stored ones. */
  current(delta: PlainDelta): PlainDelta {
    const state = this.#state;
    const { slots } = this.#sizes;
    const { nodes, memoryTime, mailNodes, mailTime } = delta;
    const rowsWhere = (ids: Int32Array, keep: (row: number) => boolean): Int32Array =>
      Int32Array.from(ids.keys()).filter(keep);
    const memory = rowsWhere(nodes, (row) => memoryTime[row] >= state.memoryTime[nodes[row]]);
    const mail = rowsWhere(mailNodes, (row) => {
      const node = mailNodes[row];
      return state.count[node] === 0 || mailTime[row] >= state.mailTime[latestSlot(state, slots, node)];
    });
    return pickDelta(delta, memory, mail);
  }

  settle(): void {}

  copy(): Record<StateName, TypedArray> {
    return copyState(this.#state, this.#sizes);
  }

  load(arrays: Readonly<Record<string, TypedArray>>): void {
    // Room beyond numNodes must be empty for nodes to come.
    this.reset();
    for (const name of stateNames) (this.#state[name] as Float64Array).set(arrays[name] as Float64Array);
  }

  gatherPending(delta: PlainDelta): PlainDelta {
    return delta;
  }
}
