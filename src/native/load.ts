/**
 * Finds and loads the native addon, or says why it cannot and what to do.
 *
 * The addon is built once per instruction-set level. The portable one is loaded first because it can run on any
 * processor and knows which level this one supports. `SKEIN_NATIVE` = `0` forces the TypeScript kernels, a level's
 * name forces that addon. Nothing here imports a `node:` module statically, so that a browser can load this file; there
 * the TypeScript kernels run without a warning.
 */
import { InternalError, ValueError } from '../util/errors.js';
import type { AsyncKernels, Kernels } from './kernels.js';
import {
  binaryOps,
  compareOps,
  reduceOps,
  relationOps,
  scoreOps,
  storageTypes,
  unaryOps,
} from './op-codes.js';

export const levels = ['portable', 'avx2', 'avx512'] as const;
export type Level = (typeof levels)[number];

export interface Addon {
  readonly kernels: Kernels;
  readonly asyncKernels: AsyncKernels;
  readonly codes: Readonly<
    Record<'unary' | 'binary' | 'compare' | 'reduce' | 'score' | 'relation' | 'storage', readonly string[]>
  >;
  readonly level: Level;
  readonly bestLevel: Level;
  setThreads(count: number): void;
  /** Takes a new block of memory into use and returns its address modulo 4096. */
  prepareBlock(block: Uint8Array): number;
  /** Gives memory back while its array lives on; contents are lost. Returns how many bytes. */
  releaseBlock(block: Uint8Array): number;
  /** Waits for the only lock on an open file, or gives it up. */
  lockFile(file: number, lock: boolean): void;
}

export type LoadResult =
  | { readonly addon: Addon; readonly reason: null }
  | { readonly addon: null; readonly reason: string; readonly forced: boolean };

/** @param names of the kernels that the addon must have */
export function loadAddon(choice: string | undefined, names: readonly string[]): LoadResult {
  if (choice === '0')
    return { addon: null, reason: 'SKEIN_NATIVE=0 asks for the TypeScript kernels', forced: true };
  if (choice !== undefined && choice !== '' && choice !== '1' && !levels.includes(choice as Level)) {
    throw new ValueError(
      `SKEIN_NATIVE: expected 0, 1 or one of ${levels.join(', ')}, got ${JSON.stringify(choice)}.`,
    );
  }
  const builtin = globalThis.process?.getBuiltinModule;
  if (builtin === undefined) return { addon: null, reason: 'this is not Node.js', forced: true };
  const require = builtin('node:module').createRequire(import.meta.url);
  const open = (level: Level): Addon =>
    withShortSpin(() => check(require(`../../build/skein-${level}.node`) as Addon, level, names));
  try {
    const forced = levels.includes(choice as Level) ? (choice as Level) : null;
    const portable = open('portable');
    const best = portable.bestLevel;
    if (forced !== null) {
      if (levels.indexOf(forced) > levels.indexOf(best)) {
        throw new ValueError(`SKEIN_NATIVE: this processor cannot run level ${forced}; its best is ${best}.`);
      }
      return { addon: forced === 'portable' ? portable : open(forced), reason: null };
    }
    return { addon: best === 'portable' ? portable : open(best), reason: null };
  } catch (error) {
    if (error instanceof InternalError || error instanceof ValueError) throw error;
    return { addon: null, reason: explain(error), forced: false };
  }
}

/**
 * The OpenMP runtime lets idle threads spin for milliseconds before they sleep. On a machine that does anything else the
 * spinning takes the core from the very thread that is waited for (a training step took 20 times as long beside four
 * busy processes). It reads its settings when the addon loads, so a short spin is set for that moment, unless the user
 * has chosen.
 */
function withShortSpin<T>(load: () => T): T {
  const { env } = process;
  if (env.GOMP_SPINCOUNT !== undefined || env.OMP_WAIT_POLICY !== undefined) return load();
  env.GOMP_SPINCOUNT = '20000';
  try {
    return load();
  } finally {
    delete env.GOMP_SPINCOUNT;
  }
}

/**
 * Codes cross the border as numbers, and a kernel may have been added since: an addon built from other sources must not be
 * trusted.
 */
function check(addon: Addon, level: Level, names: readonly string[]): Addon {
  const other = `the ${level} addon was built from another version of the sources`;
  const missing = names.find((name) => !Object.hasOwn(addon.kernels, name));
  if (missing !== undefined) throw new Error(`${other} (no kernel ${missing}): remove the folder build`);
  const lists = {
    unary: unaryOps,
    binary: binaryOps,
    compare: compareOps,
    reduce: reduceOps,
    score: scoreOps,
    relation: relationOps,
    storage: storageTypes,
  };
  for (const [name, list] of Object.entries(lists)) {
    if (addon.codes[name as keyof Addon['codes']]?.join() !== list.join()) {
      throw new Error(`${other} (${name} codes differ)`);
    }
  }
  return addon;
}

function explain(error: unknown): string {
  const { platform, arch, versions } = process;
  const cause = error instanceof Error ? error.message.split('\n')[0] : String(error);
  return (
    `platform ${platform}-${arch}, Node.js ${versions.node}; cause: ${cause}. ` +
    'To build it, install make and a C++17 compiler, then run `npm rebuild skein` (in the repository: `npm run setup`)'
  );
}
