/**
 * The resident partitions of a table: `capacity` partitions in one contiguous block per column, exchanged one swap at a
 * time along a given sequence of buffer states.
 *
 * A partition is in a slot: local id = slot · size + offset in the partition. A partition that is shorter than the
 * others leaves a gap after its rows, which is never read, trained or sampled (`localRanges`). With `prefetch` the next
 * partitions are read and the evicted ones written during training. The caller must not use rows during a swap, a flush
 * or an unload, and must get `block` again after `load`.
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
  /** The number of slots: the requested capacity, at most the number of partitions. */
  readonly capacity: number;
  readonly columns: readonly TableColumn[];
  /** The partition in each slot; −1 if it is empty. */
  readonly slots: Int32Array;
  /** The slot of each partition; −1 if it is not resident. */
  readonly slotOf: Int32Array;
  readonly rows: BufferRows;
  readonly #prefetch: boolean;
  readonly #dirty: Uint8Array;
  readonly #io: SwapIo;
  #blocks: ColumnBlock[] = [];
  #states: readonly Int32Array[] = [];
  /** The index of the current buffer state; −1 before `load`. */
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

  /** Sets the sequence of buffer states, each a full set of partitions; `load` reads the first. */
  setOrdering(states: readonly ArrayLike<number>[]): void {
    const { partitions } = this.layout;
    this.#states = followStates(
      checkStates('PartitionBuffer.setOrdering', states, partitions, this.capacity),
    );
    this.#at = -1;
  }

  /**
   * Reads the first state of the ordering. Partitions that are in their slot already stay, with their changes; others
   * that changed are written first.
   */
  async load(): Promise<void> {
    this.#checkWhole('load');
    await this.#io.discard();
    await this.#io.settle();
    this.#allocate();
    const state = this.#states[0];
    const moving = [...state.keys()].filter((slot) => this.slots[slot] !== state[slot]);
    // All writes before any read: a partition may return in another slot.
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

  /** The index of the current buffer state. */
  get state(): number {
    return this.#at;
  }

  hasSwap(): boolean {
    return this.#at >= 0 && this.#at + 1 < this.#states.length;
  }

  /** Returns the partitions that the next swap reads, ascending; none after the last. */
  getNextAdmit(): number[] {
    return this.#difference(this.#at + 1, this.#at);
  }

  /** Returns the partitions that the next swap evicts, ascending. */
  getNextEvict(): number[] {
    return this.#difference(this.#at, this.#at + 1);
  }

  /** Swaps to the next state. */
  async performNextSwap(): Promise<void> {
    this.#checkLoaded('performNextSwap');
    if (!this.hasSwap()) {
      const advice = 'Check hasSwap() first, or set a new ordering.';
      throw new StateError(`PartitionBuffer.performNextSwap: the last state is in memory. ${advice}`);
    }
    this.#io.throwFailure();
    const next = this.#states[this.#at + 1];
    const changed = [...next.keys()].filter((slot) => next[slot] !== this.slots[slot]);
    // Reads first: if one fails, nothing has changed yet.
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

  /** Returns all slots of a column: `capacity` · size rows. */
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

  /** The number of resident rows, without gaps. */
  get numResidentRows(): number {
    return this.localRanges().reduce((sum, range) => sum + range.rows, 0);
  }

  /** Returns the resident rows by slot. */
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

  /** Returns the local id of every row of the table in the current (or the next) state; −1 if it is not resident. */
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

  /** Marks the partitions of changed rows to be written back; without ids, all resident ones. */
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

  /** Writes every changed partition as a new version, so that `files.manifest()` describes this instant. */
  async flush(): Promise<void> {
    this.#checkWhole('flush');
    await this.#io.settle();
    for (let slot = 0; slot < this.capacity; slot++) await this.#write(slot);
  }

  /** Waits until evicted partitions are written, so that the files of all that are not resident are up to date. */
  async settle(): Promise<void> {
    this.#checkWhole('settle');
    await this.#io.settle();
  }

  /**
   * Passes a partition that is not resident to `use`, as one array per column, and writes it as a new version if `use`
   * returns true. For occasional rows outside the buffer: it reads the whole partition.
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

  /** Flushes, makes the files durable, and returns the manifest for a checkpoint. */
  async checkpoint(): Promise<TableManifest> {
    await this.flush();
    await this.files.sync();
    return this.files.manifest();
  }

  /** Restores the table of a manifest from `checkpoint`; later changes are dropped. `load` reads it. */
  async restore(manifest: TableManifest): Promise<void> {
    await this.unload(false);
    await this.files.restore(manifest);
  }

  /** Ends all transfers and releases the memory. Without `write`, changes that are only in memory are dropped. */
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

  /** Writes the partition in a slot, if it changed. */
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

  /** Returns the bytes of a partition's columns in its slot. */
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

  /** Returns the partitions of state `a` that are not in state `b`. */
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
    throw new StateError(`PartitionBuffer.${what}: a swap failed. ${advice}`);
  }

  #notLoaded(what: string): StateError {
    return new StateError(`PartitionBuffer.${what}: no partition is in memory. Call load() first.`);
  }
}
