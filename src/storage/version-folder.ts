/**
 * Which files of a table's folder are still needed. Versions that a manifest refers to are pinned; a version that
 * nothing refers to becomes a spare, and the next new version is written over it: the disk does not have to find room
 * again, and nothing has to be discarded, which more than doubles the rate of writing.
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

  /** Keeps at most `maxSpares` files to be written over. */
  constructor(folder: string, maxSpares: number) {
    this.folder = folder;
    this.#maxSpares = maxSpares;
  }

  /**
   * Takes over what is there. Versions of a run that was cut short stay until `removeUnreferenced`, also those that were
   * half written; new versions must not meet them: a file of another length would keep its end.
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

  /** New versions are at least this. */
  startFrom(version: number): void {
    this.#nextVersion = Math.max(this.#nextVersion, version);
  }

  pin(names: Iterable<string>): void {
    for (const name of names) {
      this.#pinned.add(name);
      this.startFrom(versionInName(name) + 1);
    }
  }

  /** Moves a spare to `name`, if there is one. */
  async reuse(name: string): Promise<boolean> {
    const spare = this.#spares.pop();
    if (spare === undefined) return false;
    await rename(join(this.folder, spare), join(this.folder, name));
    return true;
  }

  /** Called for a version that was replaced: a spare, unless it is pinned. */
  async retire(name: string): Promise<void> {
    if (this.#pinned.has(name)) return;
    if (this.#spares.length >= this.#maxSpares) return this.#remove(name);
    const spare = `spare-${this.#nextSpare++}.bin`;
    await rename(join(this.folder, name), join(this.folder, spare));
    this.#spares.push(spare);
  }

  /** Retires all versions but the pinned ones, which are now `keep`, and those that `current` gives. */
  async removeUnreferenced(
    keep: Iterable<string>,
    current: () => string[],
    writing: () => boolean,
  ): Promise<void> {
    const names = await readdir(this.folder);
    // Only now: a version that was completed while the folder was read is in the list and is needed.
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

/** The number after the highest. Numbers beyond 2^53, whose successor would be the same number, are ignored. */
function after(numbers: readonly number[]): number {
  return 1 + numbers.reduce((most, n) => (n > most && n <= highestVersion ? n : most), 0);
}
