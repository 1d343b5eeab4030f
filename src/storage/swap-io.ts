/**
 * The side memory of a partition buffer, for partitions that are prefetched and written back during training. Allocated
 * once for the largest swap and reused.
 *
 * Failures in the background are stored and thrown by the next call that waits; there are no unhandled rejections. A
 * partition is read only after its write has ended.
 */
import { alignedBytes } from './direct-io.js';
import type { TableFiles } from './table-files.js';
import { type FileKind, fileKinds } from './table-manifest.js';

/** The number of concurrent reads. */
const parallel = 4;

/** The bytes of a whole partition's files. */
export type PartitionImage = Readonly<Record<FileKind, Uint8Array | null>>;

interface WriteSlot {
  readonly image: Uint8Array;
  busy: Promise<void>;
}

interface Reading {
  readonly partitions: readonly number[];
  /** Resolves to the failure, or null. */
  readonly done: Promise<unknown>;
}

export class SwapIo {
  readonly #files: TableFiles;
  #images: PartitionImage[] = [];
  #slots: WriteSlot[] = [];
  #nextSlot = 0;
  #reading: Reading | null = null;
  readonly #pending = new Map<number, Promise<void>>();
  #failure: unknown = null;

  constructor(files: TableFiles) {
    this.#files = files;
  }

  /** Allocates memory for swaps of `count` partitions. */
  reserve(count: number): void {
    const make = (kind: FileKind): Uint8Array | null => {
      const bytes = this.#files.maxFileBytes(kind);
      return bytes === 0 ? null : alignedBytes(bytes, 'PartitionBuffer');
    };
    while (this.#images.length < count) {
      this.#images.push({ writable: make('writable'), fixed: make('fixed') });
      const image = make('writable');
      if (image !== null) this.#slots.push({ image, busy: Promise.resolve() });
    }
  }

  /** Starts to read partitions; at most one such list is in flight. */
  prefetch(partitions: readonly number[]): void {
    let next = 0;
    let failure: unknown = null;
    // Several at a time, for groups of small partitions. All lanes end before the memory is reused.
    const lane = async (): Promise<void> => {
      while (next < partitions.length && failure === null) {
        const i = next++;
        await this.#read(partitions[i], this.#images[i]).catch((error: unknown) => {
          failure ??= error;
        });
      }
    };
    const lanes = Array.from({ length: Math.min(parallel, partitions.length) }, lane);
    const done = Promise.all(lanes).then(() => failure);
    this.#reading = { partitions, done };
  }

  async #read(k: number, images: PartitionImage): Promise<void> {
    await this.#pending.get(k);
    for (const kind of fileKinds) {
      const image = images[kind];
      if (image !== null)
        await this.#files.readImage(kind, k, image.subarray(0, this.#files.fileBytes(kind, k)));
    }
  }

  /** Returns the images of these partitions, read now unless they were prefetched. */
  async take(partitions: readonly number[]): Promise<readonly PartitionImage[]> {
    if (this.#reading?.partitions.join() !== partitions.join()) {
      await this.discard();
      this.prefetch(partitions);
    }
    const failure = await this.#reading?.done;
    this.#reading = null;
    if (failure) throw failure;
    return this.#images;
  }

  /** Waits for the prefetch in flight and drops it. */
  async discard(): Promise<void> {
    await this.#reading?.done;
    this.#reading = null;
  }

  /** Calls `fill` to copy a partition to side memory, and writes it in the background. */
  async writeBack(k: number, fill: (image: Uint8Array) => void): Promise<void> {
    const slot = this.#slots[this.#nextSlot];
    this.#nextSlot = (this.#nextSlot + 1) % this.#slots.length;
    await slot.busy;
    this.throwFailure();
    const image = slot.image.subarray(0, this.#files.fileBytes('writable', k));
    fill(image);
    const write = this.#files.writeImage(k, image).then(
      () => {
        this.#pending.delete(k);
      },
      (error: unknown) => {
        // The pending entry stays: the old version of this partition must not be read.
        this.#failure ??= error;
      },
    );
    slot.busy = write;
    this.#pending.set(k, write);
  }

  /** Waits for all writes. */
  async settle(): Promise<void> {
    await Promise.all(this.#pending.values());
    this.throwFailure();
  }

  /** Throws the failure of a background transfer, if any; a failed write is never dropped. */
  throwFailure(): void {
    if (this.#failure !== null) throw this.#failure;
  }

  /** Waits for all transfers, then drops failures and releases the memory. */
  async close(): Promise<void> {
    await this.discard();
    await Promise.all(this.#pending.values());
    this.#pending.clear();
    this.#failure = null;
    this.#images = [];
    this.#slots = [];
    this.#nextSlot = 0;
  }
}
