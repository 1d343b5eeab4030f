/**
 * The folder where one worker of one job puts its files. Another job with the same folder would read and overwrite them,
 * so a living process has it for itself. What somebody else put there is neither read nor removed.
 */
import { closeSync, existsSync, openSync, rmdirSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf, storing } from '../../storage/atomic-file.js';
import { makeFolder } from '../../storage/make-folder.js';
import { lockForProcess, type ProcessLock } from '../../storage/process-lock.js';
import { expected, StateError, ValueError } from '../../util/errors.js';

export class WorkerFolder {
  readonly path: string;
  readonly #where: string;
  /** Names of files that the owner writes by itself. */
  readonly #reserved: readonly string[];
  /** Names that were saved by request. */
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
        `${where}: expected a folder that no other job works in, got ${path} of ${owner}. Wait for it, or give every job a folder of its own.`,
        { path, pid },
      );
    });
    // A job that was killed leaves such files and its lock; without the lock they are somebody's.
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

  /** Refuses the use of a folder that was given up: it may be another's by now. */
  checkOpen(): void {
    if (this.#closed) throw new StateError(`${this.#where}: used after delete(). Make another one.`);
  }

  /** What was saved by request and is there still. */
  get labels(): string[] {
    return [...this.#saved].filter((label) => existsSync(this.file(label))).sort();
  }

  /** Whether a file of the owner's is there; its own names may be asked for. */
  has(label: string): boolean {
    const isOwn = this.#reserved.includes(label);
    if (!isOwn) this.checkLabel(label);
    return !this.#closed && (isOwn || this.#saved.has(label)) && existsSync(this.file(label));
  }

  save(label: string, bytes: Uint8Array): string {
    this.checkOpen();
    this.checkLabel(label);
    const path = this.file(label);
    const file = storing('write', path, () => openSync(path, 'w'));
    this.#saved.add(label);
    try {
      storing('write', path, () => writeFileSync(file, bytes));
    } finally {
      closeSync(file);
    }
    return path;
  }

  /** Removes what the owner wrote, by itself and by request. */
  clear(): void {
    this.checkOpen();
    this.#remove([...this.#reserved, ...this.#saved]);
    this.#saved.clear();
  }

  /** Removes own files, gives the folder up, and removes it when nothing else is there. */
  close(): void {
    if (this.#closed) return;
    this.clear();
    this.#giveUp();
  }

  /** At the end of the process: state that nobody can use any more goes, what was saved by request stays. Never throws. */
  abandon(): void {
    if (this.#closed) return;
    try {
      this.#remove(this.#reserved);
      this.#giveUp();
    } catch {
      // The lock of a process that is gone counts for nothing.
    }
  }

  #giveUp(): void {
    this.#closed = true;
    this.#lock.release();
    try {
      rmdirSync(this.path);
    } catch {
      // Something of others is there, or the folder above is not ours to change.
    }
  }

  #remove(labels: readonly string[]): void {
    for (const path of labels.map((label) => this.file(label)))
      storing('write', path, () => {
        try {
          unlinkSync(path);
        } catch (error) {
          if (codeOf(error) !== 'ENOENT') throw error;
        }
      });
  }

  /** Refuses what is no name for a file, and the owner's own names. */
  checkLabel(label: string): void {
    if (typeof label !== 'string' || !/^\w[\w.-]*$/.test(label))
      throw new ValueError(
        expected(
          this.#where,
          'a name of letters, digits, _, and behind the first also . and -',
          'label',
          label,
        ),
      );
    // Some file systems do not tell capitals from small letters.
    if (this.#reserved.includes(label.toLowerCase()))
      throw new ValueError(
        expected(
          this.#where,
          `another name than ${this.#reserved.join(' and ')}`,
          'label',
          label,
          'Files of these names hold the state of the worker.',
        ),
      );
  }
}
