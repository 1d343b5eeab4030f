/**
 * Manages the versions in a table's folder. Versions that a manifest refers to are pinned; a version without a
 * reference becomes a spare, which the next new version overwrites: the file system neither allocates nor frees blocks,
 * which more than doubles the rate of writing.
 */
import { readdir, rename, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { storageError } from './atomic-file.js';
import { highestVersion, versionInName, versionUsed } from './table-manifest.js';

export class VersionFolder {
  readonly folder: string;
  readonly #maxSpares: number;
  #pinned = new Set<string>();
  #spares: string[] = [];
  #nextVersion = 1;
  #nextSpare = 1;

  /** @param maxSpares the most files to keep for reuse. */
  constructor(folder: string, maxSpares: number) {
    this.folder = folder;
    this.#maxSpares = maxSpares;
  }

  /**
   * Reads the versions in the folder. Those of an interrupted run stay until `removeUnreferenced`, including incomplete
   * ones; new versions must not reuse their names: a longer file would keep its end.
   */
  async adopt(): Promise<void> {
    const names = await readdir(this.folder).catch((error: unknown) => {
      throw storageError('read', this.folder, error);
    });
    const spares = names.filter((name) => name.startsWith('spare-'));
    this.#spares = this.#maxSpares === 0 ? [] : spares;
    this.#nextSpare = after(spares.map((name) => Number.parseInt(name.slice(6), 10) || 0));
    this.#nextVersion = after(names.map(versionUsed));
  }

  newVersion(): number {
    return this.#nextVersion++;
  }

  get nextVersion(): number {
    return this.#nextVersion;
  }

  /** Sets the least new version. */
  startFrom(version: number): void {
    this.#nextVersion = Math.max(this.#nextVersion, version);
  }

  pin(names: Iterable<string>): void {
    for (const name of names) {
      this.#pinned.add(name);
      this.startFrom(versionInName(name) + 1);
    }
  }

  /** Renames a spare to `name`, if there is one. */
  async reuse(name: string): Promise<boolean> {
    const spare = this.#spares.pop();
    if (spare === undefined) return false;
    await rename(join(this.folder, spare), join(this.folder, name));
    return true;
  }

  /** Makes a replaced version a spare, unless it is pinned. */
  async retire(name: string): Promise<void> {
    if (this.#pinned.has(name)) return;
    if (this.#spares.length >= this.#maxSpares) return this.#remove(name);
    const spare = `spare-${this.#nextSpare++}.bin`;
    await rename(join(this.folder, name), join(this.folder, spare));
    this.#spares.push(spare);
  }

  /** Pins the versions in `keep`, and retires all others except those that `current` returns. */
  async removeUnreferenced(
    keep: Iterable<string>,
    current: () => string[],
    writing: () => boolean,
  ): Promise<void> {
    const names = await readdir(this.folder);
    // Evaluated after reading the folder: a version that was completed meanwhile is in the list and is needed.
    this.#pinned = new Set(keep);
    const needed = new Set([...current(), ...this.#pinned]);
    for (const name of names) {
      if (versionInName(name) >= 0 && !needed.has(name)) await this.retire(name);
      else if (name.endsWith('.tmp') && !writing()) await this.#remove(name);
      else if (this.#maxSpares === 0 && name.startsWith('spare-')) await this.#remove(name);
    }
  }

  async removeSpares(): Promise<void> {
    const spares = this.#spares;
    this.#spares = [];
    for (const name of spares) await this.#remove(name);
  }

  async #remove(name: string): Promise<void> {
    await unlink(join(this.folder, name)).catch((error: unknown) => {
      throw storageError('write', join(this.folder, name), error);
    });
  }
}

/** Returns the successor of the highest number. Numbers beyond 2^53 are ignored: they have no exact successor. */
function after(numbers: readonly number[]): number {
  return 1 + numbers.reduce((most, n) => (n > most && n <= highestVersion ? n : most), 0);
}
