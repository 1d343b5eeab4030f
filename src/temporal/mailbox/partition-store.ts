/**
 * The rows of one partition's nodes in the memory of this process, addressed by the ids of the whole stream. Nodes of other
 * partitions have no row: they read as nodes without events, and changes to them are dropped. To exchange them, give the mailbox
 * a store of several workers (src/dist/temporal).
 */
import type { TypedArray } from '../../native/index.js';
import type { PlainDelta } from './check-delta.js';
import { LocalStore } from './local-store.js';
import { pickDelta } from './pick-delta.js';
import type { MailBoxRows } from './rows.js';
import { bytesPerNode, type StateName, type StateSizes, stateWidths } from './state.js';
import type { StateStore, WholeFeatures } from './state-store.js';

export class PartitionStore implements StateStore {
  readonly collective = false;
  readonly takesPending = true;
  /** Global ids of the rows. */
  readonly nodes: Int32Array;
  readonly #sizes: StateSizes;
  /** The rows, and one more that stays empty: the row of all other nodes. */
  readonly #local: LocalStore;
  #rowOf: Int32Array;
  /** The delta that `check` translated last. */
  #checked: { readonly delta: PlainDelta; readonly own: PlainDelta } | null = null;

  /**
   * @param sizes of the partition: `numNodes` is its number of rows
   * @param nodes global ids of the rows
   * @param numNodes of the whole stream
   * @param before the store whose rows these are so far
   */
  constructor(
    sizes: StateSizes,
    combine: 'last' | 'mean',
    nodes: Int32Array,
    numNodes: number,
    before: StateStore,
  ) {
    this.nodes = nodes.slice();
    this.#sizes = sizes;
    this.#local = new LocalStore({ ...sizes, numNodes: nodes.length + 1 }, combine, (row) => this.nodes[row]);
    this.#local.load(before.copy());
    this.#rowOf = new Int32Array(numNodes).fill(nodes.length);
    for (const [row, node] of nodes.entries()) this.#rowOf[node] = row;
  }

  get numNodes(): number {
    return this.#rowOf.length;
  }

  get numRows(): number {
    return this.nodes.length;
  }

  get bytes(): number {
    return this.numRows * bytesPerNode(this.#sizes);
  }

  reset(): void {
    this.#local.reset();
  }

  /** New nodes belong to no partition. */
  grow(numNodes: number): void {
    const rowOf = new Int32Array(numNodes).fill(this.numRows);
    rowOf.set(this.#rowOf);
    this.#rowOf = rowOf;
  }

  read(lists: readonly Int32Array[], whole: WholeFeatures | null): MailBoxRows[] {
    return lists.map((ids) => this.#local.readAs(this.#rowsOf(ids), ids.slice(), whole));
  }

  check(where: string, delta: PlainDelta): void {
    const own = this.#ownRows(delta);
    this.#local.check(where, own);
    this.#checked = { delta, own };
  }

  write(where: string, delta: PlainDelta, features: Float32Array | null): void {
    const own = this.#checked?.delta === delta ? this.#checked.own : this.#ownRows(delta);
    this.#checked = null;
    this.#local.write(where, own, features);
  }

  settle(): void {}

  copy(): Record<StateName, TypedArray> {
    const widths = stateWidths(this.#sizes);
    const all = Object.entries(this.#local.copy()) as [StateName, TypedArray][];
    const entries = all.map(([name, values]) => [name, values.slice(0, this.numRows * widths[name])]);
    return Object.fromEntries(entries) as Record<StateName, TypedArray>;
  }

  load(arrays: Readonly<Record<string, TypedArray>>): void {
    this.#local.load(arrays);
    this.#checked = null;
  }

  gatherPending(delta: PlainDelta): PlainDelta {
    return delta;
  }

  #rowsOf(ids: Int32Array): Int32Array {
    return ids.map((id) => this.#rowOf[id]);
  }

  /** Returns the rows of a delta that belong to this partition, with rows in place of ids. */
  #ownRows(delta: PlainDelta): PlainDelta {
    const own = (ids: Int32Array): Int32Array =>
      Int32Array.from(ids.keys()).filter((i) => this.#rowOf[ids[i]] < this.numRows);
    const picked = pickDelta(delta, own(delta.nodes), own(delta.mailNodes));
    return { ...picked, nodes: this.#rowsOf(picked.nodes), mailNodes: this.#rowsOf(picked.mailNodes) };
  }
}
