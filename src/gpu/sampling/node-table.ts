/**
 * The entries by which a batch finds the rows of its nodes: one per node of the graph, kept between batches and emptied
 * after each, or a hash table made for the batch.
 */
import { checkInteger, expected, ValueError } from '../../util/errors.js';
import type { GpuBuffer } from '../device/gpu-buffer.js';
import type { GpuDevice } from '../device/gpu-device.js';
import { grid } from '../device/program.js';
import type { HopBuffers } from './hop-buffers.js';
import { groupSize, type HopParams, hopWords } from './hop-wgsl.js';
import { enterRowsPrograms, forgetRows, type TableKind } from './reindex-programs.js';

/** A hash table has at least this many places. */
const fewestPlaces = 64;

/** The form that fits: entries for all nodes where they can be bound, otherwise a hash table. */
export function chooseTable(where: string, device: GpuDevice, numNodes: number, wish: unknown): TableKind {
  const bytes = 4 * checkInteger(where, 'numNodes', numNodes);
  const { maxStorageBufferBindingSize: most } = device.limits;
  if (wish === undefined) return bytes <= most ? 'dense' : 'hash';
  if (wish !== 'dense' && wish !== 'hash')
    throw new ValueError(expected(where, "'dense' or 'hash'", 'table', wish));
  if (wish === 'dense' && bytes > most)
    throw new ValueError(expected(where, `'hash' (${bytes} bytes cannot be bound)`, 'table', wish));
  return wish;
}

export class NodeTable {
  readonly kind: TableKind;
  readonly #device: GpuDevice;
  #entries: GpuBuffer | null = null;
  #keys: GpuBuffer | null = null;
  /** Places of the hash table, less one. */
  mask = 0;

  constructor(device: GpuDevice, kind: TableKind, numNodes: number) {
    this.#device = device;
    this.kind = kind;
    if (kind === 'hash') return;
    this.#entries = device.buffer(4 * numNodes, 'entries of nodes');
    device.clear(this.#entries);
  }

  /** For the programs: entries[, keys]. */
  get buffers(): readonly GpuBuffer[] {
    return this.#keys === null ? [this.entries] : [this.entries, this.#keys];
  }

  get entries(): GpuBuffer {
    return this.#entries as GpuBuffer;
  }

  /** Records that the first `rows` nodes of a batch have their rows; `most` nodes may come in all. */
  enter(buffers: HopBuffers, hop: HopParams, rows: number, most: number): void {
    if (this.kind === 'hash') this.#remake(most);
    const program = enterRowsPrograms[this.kind];
    const words = hopWords(hop, 0, rows, this.mask);
    this.#device.run(program, [buffers.nodeIds, ...this.buffers], words, grid(rows, groupSize));
  }

  /** Records that a batch is over; `last` has the number of hops, and there are `most` rows or fewer. */
  leave(buffers: HopBuffers, last: HopParams, most: number): void {
    if (this.kind === 'hash') return;
    const used = [buffers.state, buffers.nodeIds, this.entries];
    this.#device.run(forgetRows, used, hopWords(last), grid(most, groupSize));
  }

  /** After a batch that was not finished: nothing may be left of it. */
  reset(): void {
    if (this.#entries !== null) this.#device.clear(this.#entries);
  }

  release(): void {
    this.#entries?.release();
    this.#keys?.release();
    this.#entries = null;
    this.#keys = null;
  }

  /** An empty hash table that is at most half full with `most` nodes. */
  #remake(most: number): void {
    const places = 2 ** Math.ceil(Math.log2(Math.max(2 * most, fewestPlaces)));
    if (places - 1 !== this.mask || this.#entries === null) {
      this.#device.flush();
      this.release();
      this.#entries = this.#device.buffer(4 * places, 'entries of nodes');
      this.#keys = this.#device.buffer(4 * places, 'keys of nodes');
      this.mask = places - 1;
    }
    this.#device.clear(this.#entries);
    if (this.#keys !== null) this.#device.clear(this.#keys);
  }
}
