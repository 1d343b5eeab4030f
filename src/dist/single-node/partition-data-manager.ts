/**
 * Training on one machine whose memory does not hold the state of all workers: only the holder of a lock computes, and
 * what the others know is on disk while they wait (SAR's single-node mode, `PartitionDataManager`).
 *
 * A worker that has to wait for another writes the memory of its tensors to its folder, gives the pages back to the system and
 * releases the lock; afterwards it takes the lock and reads everything back to the same places. Arrays stay where they
 * are, so no other code notices. Partition data, masks, labels and features are written once and must not change; tensors
 * made after the manager are written each time. Memory that communication is using at that moment stays. The folder is
 * this manager's alone while it lives; files of others in it are left alone.
 *
 * @example
 * const manager = new PartitionDataManager(rank, lock, { folder: '/scratch/partition_rank_' });
 * manager.partitionData = loadPartitionData(json, { rank });
 * manager.features = suffixKeyLookup(manager.partitionData, 'features');
 * const graph = constructFullGraph(manager.partitionData, { partitionDataManager: manager, lock });
 */
import { readFileSync } from 'node:fs';
import { releaseBlock } from '../../native/index.js';
import { storing } from '../../storage/atomic-file.js';
import { inFile } from '../../storage/safetensors-file.js';
import { Tensor } from '../../tensor/index.js';
import { watchBlocks, watchedBlocks } from '../../tensor/pool.js';
import { decodeSafetensors, encodeSafetensors } from '../../tensor/safetensors.js';
import { checkInteger, expected, StateError, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import type { CommHandle } from '../comm/communicator.js';
import type { PartitionData } from '../partition/partition-data.js';
import type { Lock } from './lock.js';
import { type Piece, readPieces, writePieces } from './spill-file.js';
import { WorkerFolder } from './worker-folder.js';

export interface PartitionDataManagerOptions {
  /** Path that the rank is put behind (default 'partition_rank_'); one job at a time can use it. */
  readonly folder?: string;
  /** Arrays of fewer bytes stay in memory (default 65,536). */
  readonly minBytes?: number;
}

export interface SpillStats {
  /** How often this worker's state went to disk. */
  readonly spills: number;
  readonly bytesWritten: number;
  readonly bytesRead: number;
  /** Bytes given back to the system at the last spill, and the most at any. */
  readonly lastReleased: number;
  readonly mostReleased: number;
}

type Values = Tensor | Int32Array | Float32Array | Uint8Array;

const name = 'PartitionDataManager';

export class PartitionDataManager {
  readonly rank: number;
  readonly lock: Lock;
  /** Where this worker's files are. */
  readonly folder: string;
  partitionData: PartitionData | null = null;
  /** Nodes of training, validation, test, or whatever they are called. */
  masks: Record<string, Values> = {};
  labels: Values | null = null;
  features: Values | null = null;
  readonly #minBytes: number;
  readonly #files: WorkerFolder;
  readonly #registered = new Map<string, Values>();
  /** What the file of things that do not change holds. */
  #constant: readonly Piece[] = [];
  /** What is on disk only. */
  #away: { readonly constant: readonly Piece[]; readonly changing: readonly Piece[] } | null = null;
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
    // Before the communicator's own end, which waits for workers that may need the lock.
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
  get isAway(): boolean {
    return this.#away !== null;
  }

  /** More arrays that do not change, by a name of their own. */
  register(label: string, values: Values): void {
    this.#registered.set(label, values);
  }

  /** Before waiting for others: state to disk, then the lock to whoever can compute. `busy` are buffers in use. */
  precallFunc(busy: ReadonlySet<ArrayBufferLike> = new Set()): void {
    this.save(busy);
    if (this.lock.held) this.lock.release();
  }

  /** After it: waits for `handle`, takes the lock, and brings the state back. */
  callbackFunc(handle?: CommHandle): void {
    handle?.wait();
    if (!this.lock.held) this.lock.acquire();
    this.load();
  }

  /** Writes all state to disk and gives its memory back. Nothing of it may be read or written until `load`. */
  save(busy: ReadonlySet<ArrayBufferLike> = new Set()): void {
    if (this.#away !== null) throw new StateError(`${name}: saved twice. Call load() first.`);
    this.#files.checkOpen();
    const large = ({ bytes }: Piece) => bytes.length >= this.#minBytes;
    const constant = this.#constantPieces().filter(large);
    const known = new Set<ArrayBufferLike>(constant.map(({ bytes }) => bytes.buffer));
    const blocks = watchedBlocks().filter(({ bytes }) => !busy.has(bytes.buffer) && !known.has(bytes.buffer));
    const changing = blocks
      .filter(({ live }) => live)
      .map(({ bytes }, i): Piece => ({ name: `tensor-${i}`, bytes }))
      .filter(large);
    this.#writeConstant(constant);
    this.#stats.bytesWritten += writePieces(this.#files.file('tensors'), changing);
    const free = constant.filter(({ bytes }) => !busy.has(bytes.buffer));
    let released = 0;
    for (const { bytes } of [...free, ...changing, ...blocks.filter(({ live }) => !live)])
      released += releaseBlock(bytes);
    this.#away = { constant: free, changing };
    this.#stats.spills++;
    this.#stats.lastReleased = released;
    this.#stats.mostReleased = Math.max(this.#stats.mostReleased, released);
  }

  /** Brings back what `save` put away; nothing where nothing is away. */
  load(): void {
    if (this.#away === null) return;
    const { constant, changing } = this.#away;
    this.#stats.bytesRead += readPieces(this.#files.file('tensors'), changing);
    // Those that were in use at the time never left; reading them again does no harm, for they do not change.
    if (constant.length > 0)
      this.#stats.bytesRead += readPieces(this.#files.file('partition'), this.#constant);
    this.#away = null;
  }

  /** Ends it all: state comes back, own files go, and the folder if it is empty; lock and folder are free for others. */
  delete(): void {
    this.load();
    try {
      this.#constant = [];
      this.#files.close();
      watchBlocks(false);
      process.removeListener('exit', this.#atExit);
    } finally {
      if (this.lock.held) this.lock.release();
    }
  }

  /** A tensor under a name of its own, in a file of its own. */
  saveTensor(label: string, tensor: Tensor): string {
    return this.#files.save(label, encodeSafetensors({ [label]: tensor }));
  }

  /** What this manager saved; files that others left are not looked at. */
  loadTensor(label: string): Tensor {
    this.#files.checkLabel(label);
    if (!this.doesFileExist(label)) {
      const known = this.#files.labels.join(', ') || 'none';
      throw new ValueError(
        expected(`${name}.loadTensor`, 'a saved name', 'label', label, `There are: ${known}.`),
      );
    }
    const path = this.#files.file(label);
    const bytes = storing('read', path, () => new Uint8Array(readFileSync(path)));
    return inFile(path, () => decodeSafetensors(bytes).tensors[label]);
  }

  doesFileExist(label: string): boolean {
    return this.#files.has(label);
  }

  /** Removes the files of this worker, not its folder. Refused while state is there only. */
  removeFiles(): void {
    if (this.#away !== null)
      throw new StateError(`${name}: these files are the only copy of the state now. Call load() first.`);
    this.#constant = [];
    this.#files.clear();
  }

  /** Everything that does not change, each array once. */
  #constantPieces(): Piece[] {
    const pieces: Piece[] = [];
    const seen = new Map<ArrayBufferLike, Set<string>>();
    const add = (label: string, values: Values | null) => {
      if (values === null || values === undefined) return;
      const { buffer, byteOffset, byteLength } = values instanceof Tensor ? values.storage.data : values;
      const views = seen.get(buffer) ?? new Set();
      seen.set(buffer, views);
      const place = `${byteOffset} ${byteLength}`;
      if (!views.has(place))
        pieces.push({ name: label, bytes: new Uint8Array(buffer, byteOffset, byteLength) });
      views.add(place);
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
    return pieces;
  }

  /** Writes them when they are others than last time. */
  #writeConstant(pieces: readonly Piece[]): void {
    const same =
      pieces.length === this.#constant.length &&
      pieces.every(({ bytes }, i) => isSameView(bytes, this.#constant[i].bytes));
    if (same) return;
    // Should writing fail, the file holds neither the old nor the new.
    this.#constant = [];
    this.#stats.bytesWritten += writePieces(this.#files.file('partition'), pieces);
    this.#constant = pieces;
  }
}

function isSameView(a: Uint8Array, b: Uint8Array): boolean {
  return a.buffer === b.buffer && a.byteOffset === b.byteOffset && a.length === b.length;
}
