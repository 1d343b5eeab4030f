/**
 * Compiles the programs that tests start as separate processes and threads (test/programs.ts): src/ to dist/ as in the
 * package, and the programs of test/ to .cache/programs/test/, file by file. Vitest calls it before a run, and before
 * each in watch mode.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './steps.mjs';

async function compile() {
  const { buildSync } = await import('esbuild');
  const { buildJs } = await import('./build-js.mjs');
  buildJs();
  const folder = join(root, 'test');
  const entryPoints = readdirSync(folder, { recursive: true })
    .filter((file) => /(?<!\.test)\.ts$/.test(file))
    .map((file) => join(folder, file));
  const outdir = join(root, '.cache', 'programs', 'test');
  buildSync({ entryPoints, outdir, outbase: folder, format: 'esm', target: 'node20', logLevel: 'error' });
}

/** @param {import('vitest/node').TestProject} project */
export default async function setup(project) {
  // An emulated system (emulation.mjs) cannot run the compilers; its tests start no programs.
  if (process.env.SKEIN_TEST_PROGRAMS === 'none') return;
  await compile();
  project.onTestsRerun(compile);
}
