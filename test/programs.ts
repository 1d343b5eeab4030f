/**
 * Programs that tests start as separate processes or threads, as JavaScript: a process that compiles TypeScript while it
 * starts takes four times as long to do so. scripts/test-programs.mjs writes them before the tests of a run.
 */
import { fileURLToPath } from 'node:url';

/** The checkout, without a slash at the end. */
export const root = fileURLToPath(new URL('..', import.meta.url)).replace(/[\\/]$/, '');

/** Where the compiled files of test/ are. The package's own name leads from there to dist/. */
const compiledTests = `${root}/.cache/programs/test`;

/** The compiled form of a source, `src/….ts` or `test/….ts`. */
export function program(source: string): string {
  const [folder, ...rest] = source.replace(/\.ts$/, '.js').split('/');
  return [folder === 'src' ? `${root}/dist` : compiledTests, ...rest].join('/');
}

/** Arguments for Node.js to run the command line: `spawn(process.execPath, [...skein, 'train', …])`. */
export const skein: readonly string[] = [program('src/cli/main.ts')];
