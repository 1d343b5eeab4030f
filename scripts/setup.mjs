/**
 * Prepares a fresh checkout: npm packages, native addon, JavaScript. Every step checks first and does only what is
 * missing, so a second run takes seconds. With `--tests` also installs the system packages that the tests use: MPI,
 * METIS, Chromium (scripts/system-libraries.mjs); `npm start` does not need them.
 *
 * The addon needs no npm package, so it compiles while the packages are installed. Plain Node.js: this runs before `npm
 * ci`.
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bestLevel, buildAddonWatched, buildMpi, hasMpi, missingTools } from './build-addon.mjs';
import { main, root, run, StepError, since, tail } from './steps.mjs';
import { ensureSystemLibraries, installAdvice } from './system-libraries.mjs';

const forTests = process.argv.includes('--tests');

function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major < 20 || (major === 20 && minor < 19)) {
    throw new StepError(
      `expected Node.js 20.19 or newer, got ${process.version}. Install a newer one from nodejs.org.`,
      2,
    );
  }
  return process.version;
}

/** Installs the locked packages unless node_modules matches this package-lock.json and platform. */
function installPackages() {
  const stamp = join(root, 'node_modules', '.skein-setup');
  const lock = readFileSync(join(root, 'package-lock.json'));
  const wanted = `${createHash('sha256').update(lock).digest('hex')} ${process.platform}-${process.arch}\n`;
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return 'up to date';
  const npm = run('npm', ['ci', '--no-audit', '--no-fund', '--ignore-scripts']);
  if (npm.code !== 0) throw new StepError(`npm ci failed:\n${tail(npm.output)}`);
  writeFileSync(stamp, wanted);
  return 'installed';
}

/** Starts the compiler; the returned function waits for the build and reports its result. */
function startNative() {
  const start = performance.now();
  const missing = missingTools();
  if (missing.length > 0) {
    throw new StepError(
      `${missing.join(' and ')} not found; the native kernels need them. Install with: ${installAdvice(missing)}`,
      2,
    );
  }
  const level = bestLevel();
  let files = 0;
  const built = buildAddonWatched({
    levels: [level],
    onFile: () => {
      files += 1;
    },
  });
  return async () => {
    const { status, reason } = await built;
    if (status !== 'built') throw new StepError(`the native addon does not build: ${reason}`);
    const work = files === 0 ? 'up to date' : `${files} files compiled in parallel with the other steps`;
    return `level ${level}, ${work}, ${since(start)} since the start`;
  };
}

function mpiAddon() {
  if (!hasMpi()) return 'no MPI library found; distributed training is off';
  const { status, reason } = buildMpi();
  return status === 'built' ? 'ready' : `not built, distributed training is off: ${reason}`;
}

async function step(name, work) {
  const start = performance.now();
  process.stdout.write(`setup: ${name}: `);
  try {
    console.log(`${await work()} (${since(start)})`);
  } catch (error) {
    console.log(`failed (${since(start)})`);
    throw error;
  }
}

await main('setup', async () => {
  const start = performance.now();
  await step('Node.js', checkNode);
  // A missing compiler comes from the system packages, so these are installed first in that case.
  const early = !forTests || missingTools().length === 0;
  let native = early ? startNative() : null;
  if (forTests) await step('system libraries', ensureSystemLibraries);
  native ??= startNative();
  await step('npm packages', installPackages);
  await step('JavaScript', async () => {
    // Imported here: it uses packages that the previous step has installed.
    const { buildJs } = await import('./build-js.mjs');
    buildJs();
    return 'ready';
  });
  await step('native addon', native);
  await step('mpi.node', mpiAddon);
  console.log(`setup: done in ${since(start)}`);
});
