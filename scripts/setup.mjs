/**
 * Makes a fresh checkout ready to run: system libraries, npm packages, native addon, JavaScript. Every step looks first
 * and does only what is missing, so a second run takes seconds. Plain Node: it must work before `npm ci`.
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildAddon } from './build-addon.mjs';
import { buildJs } from './build-js.mjs';
import { main, root, run, StepError, since, tail } from './steps.mjs';
import { ensureSystemLibraries } from './system-libraries.mjs';

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

/** Installs the locked packages when node_modules was not made from this package-lock.json on this platform. */
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

function buildNative() {
  if (!existsSync(join(root, 'build', 'skein-portable.node'))) {
    process.stdout.write('compiling for each instruction set, one to three minutes … ');
  }
  const { status, reason } = buildAddon({ quiet: true });
  if (status === 'failed') throw new StepError(`the native addon does not build: ${reason}`);
  return status === 'built' ? 'ready' : `skipped: ${reason}; the reference kernels will run`;
}

function buildJavaScript() {
  buildJs();
  return 'ready';
}

const steps = [
  ['Node.js', checkNode],
  ['system libraries', ensureSystemLibraries],
  ['npm packages', installPackages],
  ['native addon', buildNative],
  ['JavaScript', buildJavaScript],
];

await main('setup', () => {
  for (const [name, step] of steps) {
    const start = performance.now();
    process.stdout.write(`setup: ${name}: `);
    try {
      console.log(`${step()} (${since(start)})`);
    } catch (error) {
      console.log(`failed (${since(start)})`);
      throw error;
    }
  }
});
