/**
 * The folder in which one worker of one job stores its files. Another job with the same folder would read and overwrite
 * them, so it is locked by one live process. Files of other programs are neither read nor removed.
 */
import { closeSync, existsSync, openSync, rmdirSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf, withStorageErrors } from '../../storage/atomic-file.js';
import { makeFolder } from '../../storage/make-folder.js';
import { lockForProcess, type ProcessLock } from '../../storage/process-lock.js';
import { expected, StateError, ValueError } from '../../util/errors.js';

export class WorkerFolder {
  readonly path: string;
  readonly #where: string;
  /** Names of files that the owner writes for its own use. */
  readonly #reserved: readonly string[];
  /** Names that were saved through `save`. */
  readonly #saved = new Set<string>();
  readonly #lock: ProcessLock;
  #closed = false;

  constructor(where: string, path: string, reserved: readonly string[]) {
    this.path = path;
    this.#where = where;
    this.#reserved = reserved;
    makeFolder(path);
    this.#lock = lockForProcess(join(path, 'manager.lock'), (pid) => {
      const owner = pid === process.pid ? 'this process already' : `process ${pid}`;
      return new StateError(
        `${where}: expected a folder that no other job works in, got ${path} of ${owner}. Wait for it, or use a separate folder for each job.`,
        { path, pid },
      );
    });
    // A job that was killed leaves such files and its lock; files without the lock belong to another program.
    const foreign = this.#lock.takenOver ? undefined : reserved.find((label) => existsSync(this.file(label)));
    if (foreign === undefined) return;
    this.#lock.release();
    throw new StateError(
      `${where}: expected a folder without ${foreign}.safetensors, got ${path}. Remove the file, or choose another folder.`,
      { path },
    );
  }

  file(label: string): string {
    return join(this.path, `${label}.safetensors`);
  }

  /** Throws if the folder was released: another job may use it by now. */
  checkOpen(): void {
    if (this.#closed)
      throw new StateError(
        `${this.#where}: expected a manager in use, got one after delete(). Create another one.`,
      );
  }

  /** Names that were saved through `save` and still exist. */
  get labels(): string[] {
    return [...this.#saved].filter((label) => existsSync(this.file(label))).sort();
  }

  /** Whether a file of this worker exists, saved or reserved. */
  has(label: string): boolean {
    const isOwn = this.#reserved.includes(label);
    if (!isOwn) this.checkLabel(label);
    return !this.#closed && (isOwn || this.#saved.has(label)) && existsSync(this.file(label));
  }

  save(label: string, bytes: Uint8Array): string {
    this.checkOpen();
    this.checkLabel(label);
    const path = this.file(label);
    const file = withStorageErrors('write', path, () => openSync(path, 'w'));
    this.#saved.add(label);
    try {
      withStorageErrors('write', path, () => writeFileSync(file, bytes));
    } finally {
      closeSync(file);
    }
    return path;
  }

  /** Removes all files of this worker. */
  clear(): void {
    this.checkOpen();
    this.#remove([...this.#reserved, ...this.#saved]);
    this.#saved.clear();
  }

  /** Removes this worker's files, unlocks the folder, and removes it if it is empty. */
  close(): void {
    if (this.#closed) return;
    this.clear();
    this.#giveUp();
  }

  /** Runs at the end of the process: removes the reserved files and keeps those saved through `save`. Never throws. */
  abandon(): void {
    if (this.#closed) return;
    try {
      this.#remove(this.#reserved);
      this.#giveUp();
    } catch {
      // The lock of a process that has ended is ignored.
    }
  }

  #giveUp(): void {
    this.#closed = true;
    this.#lock.release();
    try {
      rmdirSync(this.path);
    } catch {
      // The folder has other files, or its parent is not writable.
    }
  }

  #remove(labels: readonly string[]): void {
    for (const path of labels.map((label) => this.file(label)))
      withStorageErrors('write', path, () => {
        try {
          unlinkSync(path);
        } catch (error) {
          if (codeOf(error) !== 'ENOENT') throw error;
        }
      });
  }

  /** Throws if a label is not a valid file name or is reserved. */
  checkLabel(label: string): void {
    if (typeof label !== 'string' || !/^\w[\w.-]*$/.test(label))
      throw new ValueError(
        expected(
          this.#where,
          'a name of letters, digits, _, and after the first also . and -',
          'label',
          label,
        ),
      );
    // Some file systems are not case-sensitive.
    if (this.#reserved.includes(label.toLowerCase()))
      throw new ValueError(
        expected(
          this.#where,
          `a name other than ${this.#reserved.join(' and ')}`,
          'label',
          label,
          'These files hold the state of the worker.',
        ),
      );
  }
}
