/**
 * Locks that decide which worker computes when several share one machine's memory. The holder computes; the others wait
 * in `acquire`, which blocks the thread. Their communication continues, because it has separate threads.
 */
import { closeSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { lockFile } from '../../native/index.js';
import { storageError, withStorageErrors } from '../../storage/atomic-file.js';
import { makeFolder } from '../../storage/make-folder.js';
import { expected, SkeinError, StateError, ValueError } from '../../util/errors.js';

export interface Lock {
  readonly held: boolean;
  /** Blocks until no other worker holds the lock. */
  acquire(): void;
  release(): void;
}

/** A lock for a single process: it only detects wrong use. */
export class LocalLock implements Lock {
  #held = false;

  get held(): boolean {
    return this.#held;
  }

  acquire(): void {
    if (this.#held)
      throw new StateError('Lock: expected acquire() once, got a second call. Release it first.');
    this.#held = true;
  }

  release(): void {
    if (!this.#held) throw new StateError('Lock: expected acquire() before release(), got release() alone.');
    this.#held = false;
  }
}

/**
 * A lock between processes of one machine that use the same file (`flock`), like Python's `multiprocessing.Lock`. The
 * system releases it when its holder ends, however that happens.
 */
export class FileLock implements Lock {
  readonly path: string;
  #file: number | null = null;

  constructor(path: string) {
    if (typeof path !== 'string' || path === '' || path.includes('\0'))
      throw new ValueError(expected('FileLock', 'the name of a file', 'path', path));
    this.path = path;
  }

  get held(): boolean {
    return this.#file !== null;
  }

  acquire(): void {
    if (this.#file !== null)
      throw new StateError(
        `Lock: expected acquire() once for ${this.path}, got a second call. Release it first.`,
      );
    makeFolder(dirname(this.path));
    const file = withStorageErrors('write', this.path, () => openSync(this.path, 'a'));
    try {
      lockFile(file, true);
    } catch (error) {
      closeSync(file);
      throw error instanceof SkeinError ? error : storageError('write', this.path, error);
    }
    this.#file = file;
  }

  release(): void {
    if (this.#file === null)
      throw new StateError(`Lock: expected acquire() before release() of ${this.path}, got release() alone.`);
    lockFile(this.#file, false);
    closeSync(this.#file);
    this.#file = null;
  }
}
