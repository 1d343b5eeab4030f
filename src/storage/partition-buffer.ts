/**
 * The part of a table that is in memory: `capacity` partitions in one contiguous block per column, exchanged one swap
 * at a time along a given sequence of states.
 *
 * A partition's rows lie at its slot: local id = slot · size + offset in the partition. A partition that is shorter
 * than the others leaves a hole behind its rows; nothing reads, trains or samples there (`localRanges`). With
 * `prefetch` the next partitions are read and the evicted ones written while training goes on. The caller stops using
 * rows before a swap, a flush or an unload, and asks for `block` again after `load`.
 */
import { expected, StateError, ValueError } from '../util/errors.js';
import { checkOptionNames } from '../util/option-names.js';
import { BufferRows } from './buffer-rows.js';
import { allocateBlock, type ColumnBlock, checkBlock } from './column-block.js';
import { followStates } from './orderings/assign.js';
import { checkStates } from './orderings/custom.js';
import type { PartitionLayout } from './partition-layout.js';
import { type PartitionImage, SwapIo } from './swap-io.js';
import type { TableFiles } from './table-files.js';
import {
  columnRowBytes,
  type FileKind,
  fileKinds,
  type TableColumn,
  type TableManifest,
} from './table-manifest.js';

export interface PartitionBufferOptions {
  /** Read the next partitions and write the evicted ones in the background. Default true. */
  readonly prefetch?: boolean;
}

/** Rows of one resident partition. */
export interface LocalRange {
  readonly partition: number;
  readonly slot: number;
  readonly rows: number;
  readonly globalStart: number;
  readonly localStart: number;
}

export class PartitionBuffer {
  readonly files: TableFiles;
  readonly layout: PartitionLayout;
  /** Slots: the capacity asked for, at most the number of partitions. */
  readonly capacity: number;
  readonly columns: readonly TableColumn[];
  /** The partition in each slot, −1 for none. */
  readonly slots: Int32Array;
  /** The slot of each partition, −1 for one that is not in memory. */
  readonly slotOf: Int32Array;
  readonly rows: BufferRows;
  readonly #prefetch: boolean;
  readonly #dirty: Uint8Array;
  readonly #io: SwapIo;
  #blocks: ColumnBlock[] = [];
  #states: readonly Int32Array[] = [];
  /** The state in memory, −1 before `load`. */
  #at = -1;
  #broken = false;

  constructor(files: TableFiles, capacity: number, options: PartitionBufferOptions = {}) {
    checkOptionNames('PartitionBuffer', options, { prefetch: true });
    const { layout, columns } = files;
    this.files = files;
    this.layout = layout;
    this.columns = columns;
    if (!Number.isInteger(capacity) || capacity < 1) {
      throw new ValueError(expected('PartitionBuffer', 'a whole number of at least 1', 'capacity', capacity));
    }
    this.capacity = Math.min(capacity, layout.partitions);
    for (const column of columns) checkBlock(column, this.capacity * layout.size);
    this.slots = new Int32Array(this.capacity).fill(-1);
    this.slotOf = new Int32Array(layout.partitions).fill(-1);
    this.#dirty = new Uint8Array(this.capacity);
    this.#prefetch = (options.prefetch ?? true) && this.capacity < layout.partitions;
    this.#io = new SwapIo(files);
    this.rows = new BufferRows(this);
    this.setOrdering([Int32Array.from({ length: this.capacity }, (_, i) => i)]);
  }

  /** The states to run through, each a full set of partitions. `load` then brings the first into memory. */
  setOrdering(states: readonly ArrayLike<number>[]): void {
    const { partitions } = this.layout;
    this.#states = followStates(
      checkStates('PartitionBuffer.setOrdering', states, partitions, this.capacity),
    );
    this.#at = -1;
  }

  /**
   * Brings the first state of the ordering into memory. Partitions that are in their slot already stay, changes and all;
   * others that changed are written first.
   */
  async load(): Promise<void> {
    this.#checkWhole('load');
    await this.#io.discard();
    await this.#io.settle();
    this.#allocate();
    const state = this.#states[0];
    const moving = [...state.keys()].filter((slot) => this.slots[slot] !== state[slot]);
    // All writes before any read: a partition may come back in another slot.
    for (const slot of moving) await this.#write(slot);
    for (const slot of moving) {
      this.#occupy(slot, -1);
      await this.files.readPartition(state[slot], this.#views(slot, state[slot]));
      this.#occupy(slot, state[slot]);
    }
    this.#at = 0;
    this.#prefetchNext();
  }

  get loaded(): boolean {
    return this.#at >= 0;
  }

  /** Number of the state in memory. */
  get state(): number {
    return this.#at;
  }

  hasSwap(): boolean {
    return this.#at >= 0 && this.#at + 1 < this.#states.length;
  }

  /** The partitions that the next swap brings in, ascending; empty after the last. */
  getNextAdmit(): number[] {
    return this.#difference(this.#at + 1, this.#at);
  }

  /** The partitions that the next swap writes back, ascending. */
  getNextEvict(): number[] {
    return this.#difference(this.#at, this.#at + 1);
  }

  /** Goes on to the next state. */
  async performNextSwap(): Promise<void> {
    this.#checkLoaded('performNextSwap');
    if (!this.hasSwap()) {
      const advice = 'Ask hasSwap() first, or set a new ordering.';
      throw new StateError(`PartitionBuffer.performNextSwap: the last state is in memory. ${advice}`);
    }
    this.#io.throwFailure();
    const next = this.#states[this.#at + 1];
    const changed = [...next.keys()].filter((slot) => next[slot] !== this.slots[slot]);
    // Reads first: when one fails, nothing has changed yet.
    const images = this.#prefetch ? await this.#io.take(changed.map((slot) => next[slot])) : null;
    this.#broken = true;
    for (let i = 0; i < changed.length; i++) {
      const slot = changed[i];
      await this.#evict(slot);
      if (images !== null) this.#copyIn(slot, next[slot], images[i]);
      else await this.files.readPartition(next[slot], this.#views(slot, next[slot]));
      this.#occupy(slot, next[slot]);
    }
    this.#broken = false;
    this.#at++;
    this.#prefetchNext();
  }

  /** All slots of a column, one after the other: `capacity` · size rows. */
  block(column: string | number = 0): ColumnBlock {
    if (this.#blocks.length === 0) throw this.#notLoaded('block');
    return this.#blocks[typeof column === 'number' ? column : this.columnIndex(column)];
  }

  columnIndex(name: string): number {
    const index = this.columns.findIndex((column) => column.name === name);
    if (index >= 0) return index;
    const names = this.columns.map((column) => column.name).join(', ');
    throw new ValueError(expected('PartitionBuffer', `one of ${names}`, 'column', name));
  }

  /** Rows in memory, holes not counted. */
  get numResidentRows(): number {
    return this.localRanges().reduce((sum, range) => sum + range.rows, 0);
  }

  /** The rows in memory, slot by slot. */
  localRanges(): LocalRange[] {
    return [...this.slots].flatMap((partition, slot) =>
      partition < 0
        ? []
        : {
            partition,
            slot,
            rows: this.layout.rowsOf(partition),
            globalStart: this.layout.start(partition),
            localStart: slot * this.layout.size,
          },
    );
  }

  /** For every row of the table its local id in the current (or the next) state, −1 when it is not in memory. */
  getGlobalToLocalMap(current = true): Int32Array {
    this.#checkLoaded('getGlobalToLocalMap');
    const map = new Int32Array(this.layout.rows).fill(-1);
    const state = current || !this.hasSwap() ? this.slots : this.#states[this.#at + 1];
    state.forEach((partition, slot) => {
      const start = this.layout.start(partition);
      const local = slot * this.layout.size;
      for (let i = this.layout.rowsOf(partition) - 1; i >= 0; i--) map[start + i] = local + i;
    });
    return map;
  }

  /** Notes that rows changed, so that their partitions are written back; all of them without ids. */
  markDirty(localIds?: Int32Array): void {
    this.#checkLoaded('markDirty');
    if (localIds === undefined) {
      this.#dirty.fill(1);
      return;
    }
    const { size } = this.layout;
    let clean = this.#dirty.reduce((sum, flag) => sum + (flag === 0 ? 1 : 0), 0);
    for (let i = 0; i < localIds.length && clean > 0; i++) {
      const slot = Math.floor(localIds[i] / size);
      if (this.#dirty[slot] === 0) {
        this.#dirty[slot] = 1;
        clean--;
      }
    }
  }

  toGlobal(localIds: Int32Array): Int32Array {
    return this.rows.toGlobal(localIds);
  }

  toLocal(globalIds: Int32Array): Int32Array {
    return this.rows.toLocal(globalIds);
  }

  indexRead(localIds: Int32Array, column: string | number = 0): Float32Array {
    return this.rows.read(localIds, column);
  }

  indexAdd(localIds: Int32Array, values: Float32Array, column: string | number = 0): void {
    this.rows.add(localIds, values, column);
  }

  indexPut(localIds: Int32Array, values: Float32Array, column: string | number = 0): void {
    this.rows.put(localIds, values, column);
  }

  /** Writes every partition that changed as a new version, so that `files.manifest()` describes this instant. */
  async flush(): Promise<void> {
    this.#checkWhole('flush');
    await this.#io.settle();
    for (let slot = 0; slot < this.capacity; slot++) await this.#write(slot);
  }

  /** Waits until evicted partitions are written; then the files of all that are not in memory are up to date. */
  async settle(): Promise<void> {
    this.#checkWhole('settle');
    await this.#io.settle();
  }

  /**
   * Hands a partition that is not in memory to `use`, as one array per column, and writes it as a new version when
   * `use` returns true. For the odd row outside the buffer: it reads the whole partition.
   */
  async visitAbsent(k: number, use: (columns: readonly ColumnBlock[]) => boolean): Promise<void> {
    this.#checkWhole('visitAbsent');
    await this.#io.discard();
    await this.#io.settle();
    const rows = this.layout.rowsOf(k);
    const columns = this.columns.map(({ dtype, width }) =>
      dtype === 'f32' ? new Float32Array(rows * width) : new Uint16Array(rows * width),
    );
    const views = columns.map((values) => new Uint8Array(values.buffer));
    await this.files.readPartition(k, views);
    if (use(columns)) await this.files.writePartition(k, views);
    this.#prefetchNext();
  }

  /** Flushes, makes the files durable, and returns what a checkpoint has to keep. */
  async checkpoint(): Promise<TableManifest> {
    await this.flush();
    await this.files.sync();
    return this.files.manifest();
  }

  /** Becomes the table that `checkpoint` described; what changed since then is dropped. `load` reads it. */
  async restore(manifest: TableManifest): Promise<void> {
    await this.unload(false);
    await this.files.restore(manifest);
  }

  /** Ends all transfers and gives the memory back. Without `write`, changes that are still in memory are dropped. */
  async unload(write = true): Promise<void> {
    try {
      if (write) await this.flush();
    } finally {
      await this.#io.close();
      this.#blocks = [];
      this.slots.fill(-1);
      this.slotOf.fill(-1);
      this.#dirty.fill(0);
      this.#at = -1;
      this.#broken = false;
    }
  }

  #prefetchNext(): void {
    if (!this.#prefetch || !this.hasSwap() || this.#broken) return;
    const next = this.#states[this.#at + 1];
    const admitted = [...next.keys()].filter((slot) => next[slot] !== this.slots[slot]);
    this.#io.prefetch(admitted.map((slot) => next[slot]));
  }

  /** Writes what a slot holds, if it changed. */
  async #write(slot: number): Promise<void> {
    const partition = this.slots[slot];
    if (this.#dirty[slot] === 0 || partition < 0) return;
    await this.files.writePartition(partition, this.#views(slot, partition));
    this.#dirty[slot] = 0;
  }

  async #evict(slot: number): Promise<void> {
    const partition = this.slots[slot];
    if (partition >= 0 && this.#dirty[slot] === 1) {
      if (this.#prefetch)
        await this.#io.writeBack(partition, (image) => this.#copyOut(slot, partition, image));
      else await this.files.writePartition(partition, this.#views(slot, partition));
    }
    this.#occupy(slot, -1);
  }

  #occupy(slot: number, partition: number): void {
    if (this.slots[slot] >= 0) this.slotOf[this.slots[slot]] = -1;
    this.slots[slot] = partition;
    if (partition >= 0) this.slotOf[partition] = slot;
    this.#dirty[slot] = 0;
  }

  #copyOut(slot: number, partition: number, image: Uint8Array): void {
    let offset = 0;
    for (const view of this.#views(slot, partition, 'writable')) {
      image.set(view, offset);
      offset += view.length;
    }
    image.fill(0, offset);
  }

  #copyIn(slot: number, partition: number, images: PartitionImage): void {
    for (const kind of fileKinds) {
      let offset = 0;
      for (const view of this.#views(slot, partition, kind)) {
        view.set((images[kind] as Uint8Array).subarray(offset, offset + view.length));
        offset += view.length;
      }
    }
  }

  /** The bytes of a partition's columns in its slot. */
  #views(slot: number, partition: number, kind?: FileKind): Uint8Array[] {
    const rows = this.layout.rowsOf(partition);
    return this.columns.flatMap((column, i) => {
      if (kind !== undefined && column.writable !== (kind === 'writable')) return [];
      const block = this.#blocks[i];
      const rowBytes = columnRowBytes(column);
      const start = block.byteOffset + slot * this.layout.size * rowBytes;
      return new Uint8Array(block.buffer, start, rows * rowBytes);
    });
  }

  #allocate(): void {
    if (this.#prefetch) {
      const swaps = this.#states.map((_, s) => this.#difference(s, s - 1).length);
      this.#io.reserve(Math.max(...swaps.slice(1), 0));
    }
    if (this.#blocks.length > 0) return;
    this.#blocks = this.columns.map((column) => allocateBlock(column, this.capacity * this.layout.size));
  }

  /** Partitions of state `a` that are not in state `b`. */
  #difference(a: number, b: number): number[] {
    const from = this.#states[a] ?? [];
    const others = new Set(this.#states[b] ?? from);
    return [...from].filter((k) => !others.has(k)).sort((x, y) => x - y);
  }

  #checkLoaded(what: string): void {
    this.#checkWhole(what);
    if (this.#at < 0) throw this.#notLoaded(what);
  }

  #checkWhole(what: string): void {
    if (!this.#broken) return;
    const advice = 'Unload without writing and load again.';
    throw new StateError(`PartitionBuffer.${what}: a swap failed half-way. ${advice}`);
  }

  #notLoaded(what: string): StateError {
    return new StateError(`PartitionBuffer.${what}: no partition is in memory. Call load() first.`);
  }
}
