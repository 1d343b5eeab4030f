/** The build output dist/, for tests of files that only the build writes. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url));

/** Brings dist/ up to date; fast if it already is. */
export function buildDist(): void {
  execFileSync(process.execPath, [join(root, 'scripts/build-js.mjs')], { stdio: 'pipe' });
}

export interface Entry {
  /** Import specifier, such as `skein/data`. */
  readonly name: string;
  readonly node: string;
  readonly browser: string;
}

/** Returns the imports that resolve to another file in browsers. */
export function browserEntries(): readonly Entry[] {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    exports: Record<string, string | { readonly browser?: string; readonly default: string }>;
  };
  return Object.entries(manifest.exports).flatMap(([path, target]) =>
    typeof target === 'string' || target.browser === undefined
      ? []
      : [{ name: path.replace('.', 'skein'), node: target.default, browser: target.browser }],
  );
}

export function load(file: string): Promise<Readonly<Record<string, unknown>>> {
  return import(pathToFileURL(join(root, file)).href);
}
