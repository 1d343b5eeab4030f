/**
 * Who may compute when several workers share one machine's memory. The holder does; the others wait in `acquire`, which
 * blocks the thread. Their communication goes on, for it has threads of its own.
 */
import { closeSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { lockFile } from '../../native/index.js';
import { storageError, storing } from '../../storage/atomic-file.js';
import { makeFolder } from '../../storage/make-folder.js';
import { expected, SkeinError, StateError, ValueError } from '../../util/errors.js';

export interface Lock {
  readonly held: boolean;
  /** Blocks until nobody else holds it. */
  acquire(): void;
  release(): void;
}

/** For a single process: nobody else asks, so it only notices mistakes. */
export class LocalLock implements Lock {
  #held = false;

  get held(): boolean {
    return this.#held;
  }

  acquire(): void {
    if (this.#held) throw new StateError('Lock: acquired twice. Release it first.');
    this.#held = true;
  }

  release(): void {
    if (!this.#held) throw new StateError('Lock: released while it was not held.');
    this.#held = false;
  }
}

/**
 * Between processes of one machine that name the same file (`flock`): what `multiprocessing.Lock` is to Python's. The
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
    if (this.#file !== null) throw new StateError(`Lock: ${this.path} acquired twice. Release it first.`);
    makeFolder(dirname(this.path));
    const file = storing('write', this.path, () => openSync(this.path, 'a'));
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
      throw new StateError(`Lock: ${this.path} released while this process does not hold it.`);
    lockFile(this.#file, false);
    closeSync(this.#file);
    this.#file = null;
  }
}
