/**
 * The runs below the folders that a page shows. Folders are searched again for every list, so that a run that has just begun
 * appears. Names are derived from paths and stay the same as long as the catalog lives.
 */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { isRunDirectory } from '../../train/find-run.js';
import { StateError } from '../../util/errors.js';

export interface CatalogRun {
  readonly name: string;
  readonly path: string;
}

/** Levels of folders that are searched below a given one. */
const depth = 4;
/** Folders that a search opens: a home directory by mistake must not take minutes. */
const mostFolders = 20_000;

const ignored = new Set(['node_modules', 'dist', 'build']);

export class RunCatalog {
  readonly roots: readonly string[];
  readonly #names = new Map<string, string>();

  /** @param roots runs, or folders with runs */
  constructor(roots: readonly string[]) {
    for (const root of roots)
      if (!existsSync(root) || !statSync(root).isDirectory())
        throw new StateError(
          `ui: expected the directory of a run, or a folder with runs, got ${root}, which ${existsSync(root) ? 'is a file' : 'does not exist'}. Check the path.`,
        );
    this.roots = roots.map((root) => resolve(root));
  }

  list(): CatalogRun[] {
    const budget = { folders: mostFolders };
    return this.roots.flatMap((root) =>
      findRuns(root, depth, budget).map((path) => ({ name: this.#nameOf(root, path), path })),
    );
  }

  /** Returns the run of a name; undefined if there is none. */
  find(name: string): CatalogRun | undefined {
    // A page asks about one run twice a second, and a search opens many folders.
    for (const [path, known] of this.#names)
      if (known === name && isRunDirectory(path)) return { name, path };
    return this.list().find((run) => run.name === name);
  }

  #nameOf(root: string, path: string): string {
    const known = this.#names.get(path);
    if (known !== undefined) return known;
    const inside = relative(root, path);
    // `fitLinks` and its siblings keep the run in a folder "run" of their directory.
    const named = basename(path) === 'run' && inside !== 'run' ? dirname(path) : path;
    const plain = (inside === '' ? basename(named) : relative(root, named))
      .normalize('NFC')
      .replace(/[^\p{L}\p{M}\p{N}_.-]+/gu, '-')
      .replace(/^[^\p{L}\p{N}]+/u, '');
    const short = Array.from(plain).slice(0, 60).join('') || 'run';
    const taken = new Set(this.#names.values());
    let name = short;
    for (let i = 2; taken.has(name); i++) name = `${short}-${i}`;
    this.#names.set(path, name);
    return name;
  }
}

/** Returns the runs in a folder and below it, by name. Checkpoints of a run are not runs. */
function findRuns(folder: string, levels: number, budget: { folders: number }): string[] {
  if (isRunDirectory(folder)) return [folder];
  if (levels === 0 || budget.folders-- <= 0) return [];
  return foldersIn(folder).flatMap((name) => findRuns(join(folder, name), levels - 1, budget));
}

function foldersIn(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.') && !ignored.has(entry.name))
      .map(({ name }) => name)
      .sort();
  } catch {
    // A folder that may not be read, or has just been removed, has no runs to show.
    return [];
  }
}
