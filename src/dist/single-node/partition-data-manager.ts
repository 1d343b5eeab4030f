/**
 * Training on one machine whose memory does not hold the state of all workers: only the holder of a lock computes, and
 * the state of the others is on disk while they wait (SAR's single-node mode, `PartitionDataManager`).
 *
 * A worker that has to wait for another writes the memory of its tensors to its folder, returns the pages to the system
 * and releases the lock; afterwards it takes the lock and reads everything back to the same addresses. Arrays keep
 * their memory, so no other code is affected. Partition data, masks, labels and features are written once and must not
 * change; tensors created after the manager are written each time. Memory that communication is using at that moment
 * stays. The folder belongs to this manager while it exists; other files in it are left alone.
 *
 * @example
 * const manager = new PartitionDataManager(rank, lock, { folder: '/scratch/partition_rank_' });
 * manager.partitionData = loadPartitionData(json, { rank });
 * manager.features = suffixKeyLookup(manager.partitionData, 'features');
 * const graph = constructFullGraph(manager.partitionData, { partitionDataManager: manager, lock });
 */
import { readFileSync } from 'node:fs';
import { releaseBlock } from '../../native/index.js';
import { withStorageErrors } from '../../storage/atomic-file.js';
import { inFile } from '../../storage/safetensors-file.js';
import { Tensor } from '../../tensor/index.js';
import { watchBlocks, watchedBlocks } from '../../tensor/pool.js';
import { decodeSafetensors, encodeSafetensors } from '../../tensor/safetensors.js';
import { checkInteger, expected, StateError, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import type { CommHandle } from '../comm/communicator.js';
import type { PartitionData } from '../partition/partition-data.js';
import type { Lock } from './lock.js';
import { readSegments, type Segment, writeSegments } from './spill-file.js';
import { WorkerFolder } from './worker-folder.js';

export interface PartitionDataManagerOptions {
  /** Path to which the rank is appended (default 'partition_rank_'); only one job at a time can use it. */
  readonly folder?: string;
  /** Arrays of fewer bytes stay in memory (default 65,536). */
  readonly minBytes?: number;
}

export interface SpillStats {
  /** Number of times this worker's state was written to disk. */
  readonly spills: number;
  readonly bytesWritten: number;
  readonly bytesRead: number;
  /** Bytes returned to the system at the last spill, and the maximum over all spills. */
  readonly lastReleased: number;
  readonly mostReleased: number;
}

type Values = Tensor | Int32Array | Float32Array | Uint8Array;

const name = 'PartitionDataManager';

export class PartitionDataManager {
  readonly rank: number;
  readonly lock: Lock;
  /** The folder of this worker's files. */
  readonly folder: string;
  partitionData: PartitionData | null = null;
  /** Masks of training, validation and test nodes, by name. */
  masks: Record<string, Values> = {};
  labels: Values | null = null;
  features: Values | null = null;
  #isDeleted = false;
  readonly #minBytes: number;
  readonly #files: WorkerFolder;
  readonly #registered = new Map<string, Values>();
  /** Segments in the file of constant arrays. */
  #constant: readonly Segment[] = [];
  /** Segments that are only on disk; null when the state is in memory. */
  #spilled: { readonly constant: readonly Segment[]; readonly changing: readonly Segment[] } | null = null;
  #stats = { spills: 0, bytesWritten: 0, bytesRead: 0, lastReleased: 0, mostReleased: 0 };

  constructor(rank: number, lock: Lock, options: PartitionDataManagerOptions = {}) {
    checkOptionNames('PartitionDataManager', options, { folder: true, minBytes: true });
    this.rank = checkInteger(name, 'rank', rank);
    if (typeof lock?.acquire !== 'function')
      throw new ValueError(expected(name, 'a lock', 'lock', lock, 'Use FileLock between processes.'));
    this.lock = lock;
    this.folder = `${options.folder ?? 'partition_rank_'}${rank}`;
    this.#minBytes = checkInteger(name, 'minBytes', options.minBytes ?? 65_536);
    this.#files = new WorkerFolder(name, this.folder, ['partition', 'tensors']);
    watchBlocks(true);
    // Before the communicator's exit handler, which waits for workers that may need the lock.
    process.prependListener('exit', this.#atExit);
  }

  readonly #atExit = (): void => {
    if (this.lock.held) this.lock.release();
    this.#files.abandon();
  };

  get stats(): SpillStats {
    return { ...this.#stats };
  }

  /** Whether this worker's state is on disk and not in memory. */
  get isSpilled(): boolean {
    return this.#spilled !== null;
  }

  /** Whether `delete` was called. */
  get isDeleted(): boolean {
    return this.#isDeleted;
  }

  /** Adds arrays that do not change, under a unique name. */
  register(label: string, values: Values): void {
    this.#registered.set(label, values);
  }

  /** Call before waiting for others: writes the state to disk, then releases the lock. `busy` are buffers in use. */
  precallFunc(busy: ReadonlySet<ArrayBufferLike> = new Set()): void {
    this.save(busy);
    if (this.lock.held) this.lock.release();
  }

  /** Call after `precallFunc`: waits for `handle`, acquires the lock, and reads the state back. */
  callbackFunc(handle?: CommHandle): void {
    this.#files.checkOpen();
    handle?.wait();
    if (!this.lock.held) this.lock.acquire();
    this.load();
  }

  /** Writes all state to disk and releases its memory, which must not be accessed until `load`. */
  save(busy: ReadonlySet<ArrayBufferLike> = new Set()): void {
    if (this.#spilled !== null)
      throw new StateError(
        `${name}: expected one save() before load(), got a second one. Call load() first.`,
      );
    this.#files.checkOpen();
    const large = ({ bytes }: Segment) => bytes.length >= this.#minBytes;
    const constant = this.#constantSegments().filter(large);
    const known = new Set<ArrayBufferLike>(constant.map(({ bytes }) => bytes.buffer));
    const blocks = watchedBlocks().filter(({ bytes }) => !busy.has(bytes.buffer) && !known.has(bytes.buffer));
    const changing = blocks
      .filter(({ live }) => live)
      .map(({ bytes }, i): Segment => ({ name: `tensor-${i}`, bytes }))
      .filter(large);
    this.#writeConstant(constant);
    this.#stats.bytesWritten += writeSegments(this.#files.file('tensors'), changing);
    const free = constant.filter(({ bytes }) => !busy.has(bytes.buffer));
    let released = 0;
    for (const { bytes } of [...free, ...changing, ...blocks.filter(({ live }) => !live)])
      released += releaseBlock(bytes);
    this.#spilled = { constant: free, changing };
    this.#stats.spills++;
    this.#stats.lastReleased = released;
    this.#stats.mostReleased = Math.max(this.#stats.mostReleased, released);
  }

  /** Reads back the state that `save` wrote; does nothing if the state is in memory. */
  load(): void {
    if (this.#spilled === null) return;
    const { constant, changing } = this.#spilled;
    this.#stats.bytesRead += readSegments(this.#files.file('tensors'), changing);
    // Segments that were in use at the time stayed in memory; reading them again is harmless, because they do not
    // change.
    if (constant.length > 0)
      this.#stats.bytesRead += readSegments(this.#files.file('partition'), this.#constant);
    this.#spilled = null;
  }

  /**
   * Reads the state back, removes this manager's files, and the folder if it is empty; lock and folder are free
   * afterwards.
   */
  delete(): void {
    this.load();
    this.#isDeleted = true;
    try {
      this.#constant = [];
      this.#files.close();
      watchBlocks(false);
      process.removeListener('exit', this.#atExit);
    } finally {
      if (this.lock.held) this.lock.release();
    }
  }

  /** Saves a tensor under a name in a separate file. */
  saveTensor(label: string, tensor: Tensor): string {
    return this.#files.save(label, encodeSafetensors({ [label]: tensor }));
  }

  /** Loads a tensor that this manager saved; other files are ignored. */
  loadTensor(label: string): Tensor {
    this.#files.checkLabel(label);
    if (!this.doesFileExist(label)) {
      const known = this.#files.labels.join(', ') || 'none';
      throw new ValueError(
        expected(`${name}.loadTensor`, 'a saved name', 'label', label, `There are: ${known}.`),
      );
    }
    const path = this.#files.file(label);
    const bytes = withStorageErrors('read', path, () => new Uint8Array(readFileSync(path)));
    return inFile(path, () => decodeSafetensors(bytes).tensors[label]);
  }

  doesFileExist(label: string): boolean {
    return this.#files.has(label);
  }

  /** Removes the files of this worker, not its folder. Throws while they are the only copy of the state. */
  removeFiles(): void {
    if (this.#spilled !== null)
      throw new StateError(
        `${name}: expected the state in memory, got state that is only in these files. Call load() first.`,
      );
    this.#constant = [];
    this.#files.clear();
  }

  /** Returns all constant arrays, each once. */
  #constantSegments(): Segment[] {
    const segments: Segment[] = [];
    const seen = new Map<ArrayBufferLike, Set<string>>();
    const add = (label: string, values: Values | null) => {
      if (values === null || values === undefined) return;
      const { buffer, byteOffset, byteLength } = values instanceof Tensor ? values.storage.data : values;
      const views = seen.get(buffer) ?? new Set();
      seen.set(buffer, views);
      const position = `${byteOffset} ${byteLength}`;
      if (!views.has(position))
        segments.push({ name: label, bytes: new Uint8Array(buffer, byteOffset, byteLength) });
      views.add(position);
    };
    const { partitionData: pd } = this;
    for (const [q, shard] of pd?.allShardEdges.entries() ?? []) {
      for (const key of ['src', 'dst', 'edgeIds', 'edgeTypes'] as const) add(`shard-${q}/${key}`, shard[key]);
      for (const [key, rows] of Object.entries(shard.edgeFeatures)) add(`shard-${q}/${key}`, rows);
    }
    for (const [key, rows] of Object.entries(pd?.nodeFeatures ?? {})) add(`nodes/${key}`, rows);
    add('node-types', pd?.nodeTypes ?? null);
    for (const [key, ids] of Object.entries(this.masks)) add(`masks/${key}`, ids);
    add('labels', this.labels);
    add('features', this.features);
    for (const [key, values] of this.#registered) add(`registered/${key}`, values);
    return segments;
  }

  /** Writes them if they differ from the last ones. */
  #writeConstant(segments: readonly Segment[]): void {
    const same =
      segments.length === this.#constant.length &&
      segments.every(({ bytes }, i) => isSameView(bytes, this.#constant[i].bytes));
    if (same) return;
    // If writing fails, the file holds neither the old segments nor the new ones.
    this.#constant = [];
    this.#stats.bytesWritten += writeSegments(this.#files.file('partition'), segments);
    this.#constant = segments;
  }
}

function isSameView(a: Uint8Array, b: Uint8Array): boolean {
  return a.buffer === b.buffer && a.byteOffset === b.byteOffset && a.length === b.length;
}
