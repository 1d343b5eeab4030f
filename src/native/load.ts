/**
 * Finds and loads the native addon, or reports why it cannot and what to do.
 *
 * The addon comes from a platform package (`@skein/linux-x64`, …) that the package manager installed with Skein, or from
 * `build/`, where `skein build` and a clone's set-up compile it. Both hold one file for each instruction-set level and
 * `cpu.node`, which is compiled for the oldest processor and reports the best level of this one: nothing is opened before
 * that could end the process with an illegal instruction. `SKEIN_NATIVE` = `0` forces the TypeScript kernels, a level's
 * name forces that level. Nothing here imports a `node:` module statically, so that a browser can load this file; there
 * the TypeScript kernels run without a warning.
 */
import { ValueError } from '../util/errors.js';
import type { Kernels } from './kernels.js';
import {
  binaryOps,
  compareOps,
  queryKinds,
  reduceOps,
  relationOps,
  scoreOps,
  storageTypes,
  unaryOps,
} from './op-codes.js';
import type { PositionalKernels } from './record-kernels.js';

/** Levels of all architectures; a processor runs those of its architecture up to its best; they are in ascending order. */
export const levels = ['portable', 'avx2', 'avx512', 'neon'] as const;
export type Level = (typeof levels)[number];

export interface Addon {
  readonly kernels: PositionalKernels;
  /** The kernels on the addon's thread pool; they return promises. */
  readonly asyncKernels: PositionalKernels;
  /** Positions of the arrays whose memory an asynchronous call uses until it ends. */
  readonly heldArguments: Readonly<Record<keyof Kernels, readonly number[]>>;
  readonly codes: Readonly<
    Record<
      'unary' | 'binary' | 'compare' | 'reduce' | 'score' | 'relation' | 'query' | 'storage',
      readonly string[]
    >
  >;
  readonly level: Level;
  setThreads(count: number): void;
  /** Threads that the process uses, set by any of its JavaScript threads; 0 before the first call of setThreads. */
  getThreads(): number;
  /** Prepares a new block of memory and returns its address modulo 4096. */
  prepareBlock(block: Uint8Array): number;
  /** Returns memory to the system while its array stays usable; contents are lost. Returns the number of bytes. */
  releaseBlock(block: Uint8Array): number;
  /** Acquires the exclusive lock on an open file, or releases it. */
  lockFile(file: number, lock: boolean): void;
}

/** A location that was tried, and why no addon was loaded from it. */
export interface Attempt {
  readonly place: string;
  readonly problem: string;
}

export interface Loaded {
  readonly addon: Addon;
  /** The file of the addon. */
  readonly path: string;
  readonly bestLevel: Level;
  readonly reason: null;
  readonly tried: readonly Attempt[];
}

export interface NotLoaded {
  readonly addon: null;
  readonly path: null;
  readonly bestLevel: Level | null;
  readonly reason: string;
  /** Whether the TypeScript kernels were requested, or this is a browser: no warning then. */
  readonly forced: boolean;
  readonly tried: readonly Attempt[];
}

export type LoadResult = Loaded | NotLoaded;

/** The functions of Node.js that the loader needs. */
interface Host {
  readonly require: NodeJS.Require;
  readonly platform: string;
  readonly arch: string;
}

/** A folder with cpu.node and skein-<level>.node. */
interface Place {
  readonly name: string;
  /** Throws with a short reason when the location does not exist. */
  readonly folder: () => string;
}

const notLoaded = (reason: string, forced: boolean): NotLoaded => ({
  addon: null,
  path: null,
  bestLevel: null,
  reason,
  forced,
  tried: [],
});

/** @param names of the kernels that the addon must have */
export function loadAddon(choice: string | undefined, names: readonly string[]): LoadResult {
  if (choice === '0') return notLoaded('SKEIN_NATIVE=0 selects the TypeScript kernels', true);
  const forced = levels.find((level) => level === choice) ?? null;
  if (forced === null && choice !== undefined && choice !== '' && choice !== '1') {
    throw new ValueError(
      `SKEIN_NATIVE: expected 0, 1 or one of ${levels.join(', ')}, got ${JSON.stringify(choice)}.`,
    );
  }
  const builtin = globalThis.process?.getBuiltinModule;
  if (builtin === undefined) return notLoaded('this is not Node.js', true);
  const require = builtin('node:module').createRequire(import.meta.url);
  return search({ require, platform: process.platform, arch: process.arch }, forced, names);
}

function search(host: Host, forced: Level | null, names: readonly string[]): LoadResult {
  const tried: Attempt[] = [];
  let bestLevel: Level | null = null;
  for (const place of addonLocations(host)) {
    try {
      const folder = place.folder();
      const best = cpuLevel(host, folder);
      bestLevel = best;
      const { addon, path } = openBest(host, folder, best, forced, names, tried);
      return { addon, path, bestLevel: best, reason: null, tried };
    } catch (error) {
      if (error instanceof ValueError) throw error;
      tried.push({ place: place.name, problem: firstLine(error) });
    }
  }
  return { addon: null, path: null, bestLevel, reason: explain(host, tried), forced: false, tried };
}

/** The names of the platform packages for this machine; on Linux for both C libraries, of which one is installed. */
function platformPackages(platform: string, arch: string): readonly string[] {
  const name = `@skein/${platform}-${arch}`;
  return platform === 'linux' ? [name, `${name}-musl`] : [name];
}

function addonLocations({ require, platform, arch }: Host): readonly Place[] {
  const packages = platformPackages(platform, arch).map((name) => ({
    name,
    folder: (): string => {
      try {
        return require.resolve(`${name}/package.json`).replace(/[\\/]package\.json$/, '');
      } catch {
        throw new Error('not installed');
      }
    },
  }));
  const build = {
    name: 'build/',
    folder: (): string => {
      try {
        return require.resolve('../../build/cpu.node').replace(/[\\/]cpu\.node$/, '');
      } catch {
        throw new Error('not built');
      }
    },
  };
  return [...packages, build];
}

function cpuLevel(host: Host, folder: string): Level {
  const { bestLevel } = open(host, `${folder}/cpu.node`) as { readonly bestLevel: Level };
  return bestLevel;
}

/** Loads a library. A truncated one would end the process with SIGBUS when it is mapped, so its length is checked first. */
function open({ require }: Host, path: string): unknown {
  const { closeSync, fstatSync, openSync, readSync } = process.getBuiltinModule('node:fs');
  const file = openSync(path, 'r');
  try {
    const header = Buffer.alloc(64);
    const isElf = readSync(file, header, 0, 64, 0) === 64 && header.readUInt32BE(0) === 0x7f454c46;
    // The table of sections is the last thing in the file: its start, the size of an entry, their number.
    const end = Number(header.readBigUInt64LE(0x28)) + header.readUInt16LE(0x3a) * header.readUInt16LE(0x3c);
    if (isElf && fstatSync(file).size < end) throw new Error(`${path} is incomplete`);
  } finally {
    closeSync(file);
  }
  return require(path);
}

/** Opens the forced level, or else the best one that exists and can be opened. */
function openBest(
  host: Host,
  folder: string,
  best: Level,
  forced: Level | null,
  names: readonly string[],
  tried: Attempt[],
): { readonly addon: Addon; readonly path: string } {
  const runnable = best === 'neon' ? [best] : levels.slice(0, levels.indexOf(best) + 1).reverse();
  if (forced !== null && !runnable.includes(forced)) {
    throw new ValueError(`SKEIN_NATIVE: this processor cannot run level ${forced}; its best is ${best}.`);
  }
  const wanted = forced === null ? runnable : [forced];
  const file = (level: Level): string => `${folder}/skein-${level}.node`;
  const found = wanted.filter((level) => isFile(host, file(level)));
  const asked = forced === null ? '' : ', which SKEIN_NATIVE selects';
  if (found.length === 0) throw new Error(`no file skein-${wanted.join('.node or skein-')}.node${asked}`);
  const failures: unknown[] = [];
  for (const level of found) {
    const path = file(level);
    try {
      const addon = check(open(host, path) as Addon, level, names);
      tried.push(...failures.map((error, i) => ({ place: file(found[i]), problem: firstLine(error) })));
      return { addon, path };
    } catch (error) {
      failures.push(error);
    }
  }
  throw failures[0];
}

function isFile({ require }: Host, path: string): boolean {
  try {
    require.resolve(path);
    return true;
  } catch {
    return false;
  }
}

/**
 * Operations are passed to the addon as numbers, and kernels may have been added: an addon built from other sources must not
 * be used.
 */
function check(addon: Addon, level: Level, names: readonly string[]): Addon {
  const other = `the ${level} addon was built from another version of the sources`;
  if (typeof addon.getThreads !== 'function') throw new Error(other);
  const missing = names.find((name) => !Object.hasOwn(addon.kernels, name));
  if (missing !== undefined) throw new Error(`${other} (no kernel ${missing})`);
  const lists = {
    unary: unaryOps,
    binary: binaryOps,
    compare: compareOps,
    reduce: reduceOps,
    score: scoreOps,
    relation: relationOps,
    query: queryKinds,
    storage: storageTypes,
  };
  for (const [name, list] of Object.entries(lists)) {
    if (addon.codes[name as keyof Addon['codes']]?.join() !== list.join()) {
      throw new Error(`${other} (${name} codes differ)`);
    }
  }
  return addon;
}

const firstLine = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).split('\n')[0] ?? '';

/** Returns one paragraph: platform, what was tried and why each attempt failed, what to do. */
function explain({ platform, arch }: Host, tried: readonly Attempt[]): string {
  const attempts = tried.map(({ place, problem }) => `${place} (${problem})`).join(', ');
  return (
    `no native kernels for ${platform}-${arch}, Node.js ${process.versions.node}: tried ${attempts}. ` +
    'Either let the package manager install optional dependencies and install Skein again, or compile the kernels for this ' +
    'machine: `npx skein build` (in a clone: `npm run setup`), which needs make and a C++17 compiler. ' +
    '`npx skein doctor` shows the details'
  );
}
