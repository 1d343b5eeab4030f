/**
 * Builds the page of `skein ui` into dist/web with Vite. Does nothing if neither its sources nor the packages have changed since.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { root, run, StepError } from './steps.mjs';

const stamp = join(root, '.cache', 'page.sha256');

/** Files that the page is made of: its own, and the charts that it shares with `skein plot`. */
function inputs() {
  const folders = ['web', 'src/plot'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name)),
  );
  return [...folders.sort(), join(root, 'package-lock.json')];
}

export function buildPage() {
  const hash = createHash('sha256');
  for (const file of inputs()) hash.update(file.slice(root.length)).update(readFileSync(file));
  const wanted = hash.digest('hex');
  const isBuilt = existsSync(join(root, 'dist/web/index.html'));
  if (isBuilt && existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return;
  const vite = run(process.execPath, [
    join(root, 'node_modules/vite/bin/vite.js'),
    'build',
    '--config',
    join(root, 'web/vite.config.ts'),
  ]);
  if (vite.code !== 0) throw new StepError(`the page does not build:\n${vite.output.trimEnd()}`);
  mkdirSync(dirname(stamp), { recursive: true });
  writeFileSync(stamp, wanted);
}
