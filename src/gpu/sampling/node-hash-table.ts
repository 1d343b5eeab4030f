/**
 * Lookup from node id to row of a batch: a hash table that is filled per batch, or, where it can be bound, the
 * direct-address form of it with one entry per node of the graph, which is kept between batches and cleared after each.
 */
import { checkInteger, expected, ValueError } from '../../util/errors.js';
import type { GpuBuffer } from '../device/gpu-buffer.js';
import type { GpuDevice } from '../device/gpu-device.js';
import { grid } from '../device/program.js';
import type { HopBuffers } from './hop-buffers.js';
import { groupSize, type HopParams, hopWords } from './hop-wgsl.js';
import { enterRowsPrograms, forgetRows, type TableKind } from './reindex-programs.js';

/** Minimum number of entries of a hash table. */
const minEntries = 64;

/** Returns the form to use: one entry per node if that can be bound, otherwise a hash table. */
export function chooseTable(
  where: string,
  device: GpuDevice,
  numNodes: number,
  requested: unknown,
): TableKind {
  const bytes = 4 * checkInteger(where, 'numNodes', numNodes);
  const { maxStorageBufferBindingSize: most } = device.limits;
  if (requested === undefined) return bytes <= most ? 'dense' : 'hash';
  if (requested !== 'dense' && requested !== 'hash')
    throw new ValueError(expected(where, "'dense' or 'hash'", 'table', requested));
  if (requested === 'dense' && bytes > most)
    throw new ValueError(expected(where, `'hash' (${bytes} bytes cannot be bound)`, 'table', requested));
  return requested;
}

export class NodeHashTable {
  readonly kind: TableKind;
  readonly #device: GpuDevice;
  #entries: GpuBuffer | null = null;
  #keys: GpuBuffer | null = null;
  /** Number of entries of the hash table, minus one. */
  mask = 0;

  constructor(device: GpuDevice, kind: TableKind, numNodes: number) {
    this.#device = device;
    this.kind = kind;
    if (kind === 'hash') return;
    this.#entries = device.buffer(4 * numNodes, 'entries of nodes');
    device.clear(this.#entries);
  }

  /** Bindings for the programs: entries[, keys]. */
  get buffers(): readonly GpuBuffer[] {
    return this.#keys === null ? [this.entries] : [this.entries, this.#keys];
  }

  get entries(): GpuBuffer {
    return this.#entries as GpuBuffer;
  }

  /** Records that the first `rows` nodes of a batch have their rows; the batch has at most `most` nodes. */
  enter(buffers: HopBuffers, hop: HopParams, rows: number, most: number): void {
    if (this.kind === 'hash') this.#remake(most);
    const program = enterRowsPrograms[this.kind];
    const words = hopWords(hop, 0, rows, this.mask);
    this.#device.run(program, [buffers.nodeIds, ...this.buffers], words, grid(rows, groupSize));
  }

  /** Records the end of a batch; `last` has the number of hops, and there are at most `most` rows. */
  leave(buffers: HopBuffers, last: HopParams, most: number): void {
    if (this.kind === 'hash') return;
    const used = [buffers.state, buffers.nodeIds, this.entries];
    this.#device.run(forgetRows, used, hopWords(last), grid(most, groupSize));
  }

  /** Clears all entries after a batch that was not finished. */
  reset(): void {
    if (this.#entries !== null) this.#device.clear(this.#entries);
  }

  release(): void {
    this.#entries?.release();
    this.#keys?.release();
    this.#entries = null;
    this.#keys = null;
  }

  /** Creates an empty hash table that is at most half full with `most` nodes. */
  #remake(most: number): void {
    const entries = 2 ** Math.ceil(Math.log2(Math.max(2 * most, minEntries)));
    if (entries - 1 !== this.mask || this.#entries === null) {
      this.#device.flush();
      this.release();
      this.#entries = this.#device.buffer(4 * entries, 'entries of nodes');
      this.#keys = this.#device.buffer(4 * entries, 'keys of nodes');
      this.mask = entries - 1;
    }
    this.#device.clear(this.#entries);
    if (this.#keys !== null) this.#device.clear(this.#keys);
  }
}
