/**
 * Writes dist/ from src/ with tsc (incremental: takes a fraction of a second if nothing changed), the entries for browsers,
 * and the page.
 *
 * tsc has two gaps, closed here: it keeps the outputs of deleted or renamed sources in dist, and it does not rewrite a
 * deleted output while its build record lists it.
 */
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { browserEntries, writeBrowserEntries } from './browser-entries.mjs';
import { buildPage } from './build-page.mjs';
import { main, root, run, StepError } from './steps.mjs';

const outputs = ['.js', '.d.ts'];

/** Paths below `folder`, relative to it, with forward slashes. */
function filesIn(folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) =>
      join(entry.parentPath, entry.name)
        .slice(folder.length + 1)
        .replaceAll('\\', '/'),
    );
}

/** Builds dist; throws a StepError with the compiler's messages if a source has an error. */
export function buildJs() {
  const dist = join(root, 'dist');
  const expected = new Set(
    filesIn(join(root, 'src'))
      .filter((file) => /(?<!\.d|\.test|\.bench)\.ts$/.test(file) && !file.includes('/testing/'))
      .flatMap((file) => outputs.map((ending) => file.replace(/\.ts$/, ending))),
  );
  if (expected.size === 0) throw new StepError('expected TypeScript files in src, found none.');
  const written = new Set(['dist/.tsbuildinfo', ...browserEntries().map(({ browser }) => browser)]);
  const record = join(dist, '.tsbuildinfo');
  const present = filesIn(dist);
  for (const file of present) {
    if (!expected.has(file) && !written.has(`dist/${file}`) && !file.startsWith('web/'))
      rmSync(join(dist, file));
  }
  if (present.length < expected.size || [...expected].some((file) => !present.includes(file)))
    rmSync(record, { force: true });
  const tsc = run(process.execPath, [
    join(root, 'node_modules/typescript/bin/tsc'),
    '-p',
    'tsconfig.build.json',
    '--pretty',
    'false',
  ]);
  if (tsc.code !== 0) throw new StepError(`the sources do not compile:\n${tsc.output.trimEnd()}`);
  writeBrowserEntries();
  buildPage();
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main('build-js', buildJs);
