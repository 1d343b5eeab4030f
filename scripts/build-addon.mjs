/**
 * Builds the native addons with `make -C native`, which does nothing if everything is up to date: build/cpu.node, which
 * detects the best instruction-set level of this processor, build/skein-<level>.node for that level, and
 * build/mpi.node. Only one process builds at a time; others wait for it.
 *
 * Callers: `npm run build`, scripts/setup.mjs, scripts/test.mjs, and `skein build`, which compiles for the user's
 * machine from the files of the installed package. Plain Node.js without dependencies: it must run before `npm ci`.
 */
import { spawn, spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, readdirSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { delimiter, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { withLock, withLockAsync } from './build-lock.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const native = join(root, 'native');
const build = join(root, 'build');

/** Levels of an architecture, slowest first. */
const levelsOf = { x64: ['portable', 'avx2', 'avx512'], arm64: ['neon'] };
export const allLevels = levelsOf[process.arch] ?? ['portable'];

/** Returns whether `name` (a command or a path) can be executed, searched as by a shell. */
export function hasCommand(name) {
  const places = name.includes('/')
    ? [name]
    : (process.env.PATH ?? '').split(delimiter).map((dir) => join(dir || '.', name));
  return places.some((path) => {
    try {
      accessSync(path, constants.X_OK);
      return statSync(path).isFile();
    } catch {
      return false;
    }
  });
}

/** Returns the compilers to try, best first; CXX overrides them. */
function compilers() {
  const chosen = process.env.CXX?.trim();
  return chosen ? [chosen] : ['g++', 'c++', 'clang++'];
}

/** Returns the missing build tools, as text for a message; empty if a build can start. */
export function missingTools() {
  const missing = [];
  if (!hasCommand('make')) missing.push('make');
  const names = compilers().map((compiler) => compiler.split(/\s+/)[0]);
  if (!names.some(hasCommand)) missing.push(`a C++ compiler (${names.join(', ')})`);
  return missing;
}

/**
 * Returns the folder of the Node-API headers relative to native/: those of the Node.js installation, else the bundled
 * copy.
 */
function headers() {
  const own = join(dirname(process.execPath), '..', 'include', 'node');
  return existsSync(join(own, 'node_api.h')) ? relative(native, own) : 'include';
}

/** Returns the compiler command, with ccache if it is installed, so that a second clone builds in seconds. */
function compilerCommand() {
  const compiler = compilers().find((name) => hasCommand(name.split(/\s+/)[0]));
  return !process.env.CXX && hasCommand('ccache') ? `ccache ${compiler}` : compiler;
}

const make = (words) => ({
  command: 'make',
  args: [
    '--no-print-directory',
    '-C',
    'native',
    `-j${availableParallelism()}`,
    `HEADERS=${headers()}`,
    `CXX=${compilerCommand()}`,
    ...words,
  ],
});

/** Returns the last lines of make's output, which usually contain the compiler's first error. */
const lastLines = (text) => text.trimEnd().split('\n').slice(-12).join('\n');

function runMake(words) {
  const { command, args } = make(words);
  const options = { cwd: root, encoding: 'utf8', maxBuffer: 1 << 26 };
  const done = withLock(build, () => spawnSync(command, args, options));
  if (done.status === 0) return null;
  const how = done.error ? done.error.message : `make ended with ${done.status ?? done.signal}`;
  return `${how}\n${lastLines(`${done.stdout ?? ''}${done.stderr ?? ''}`)}`;
}

/** Runs make like runMake and calls `onFile(name)` for every file that is compiled. */
function watchMake(words, onFile) {
  const { command, args } = make(words);
  const started = (resolve) => {
    const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    const read = (text) => {
      output += text;
      for (const [, file] of text.matchAll(/^ {2}compiling (?:\S+ )?(\S+)$/gm)) onFile(file);
    };
    child.stdout.setEncoding('utf8').on('data', read);
    child.stderr.setEncoding('utf8').on('data', read);
    child.on('error', (error) => resolve(error.message));
    child.on('close', (code, signal) =>
      resolve(code === 0 ? null : `make ended with ${code ?? signal}\n${lastLines(output)}`),
    );
  };
  return withLockAsync(build, () => new Promise(started));
}

/** Returns how many files a clean build compiles for one level, for a progress display. */
export function countSources() {
  return ['kernels', 'binding', 'platform']
    .filter((folder) => existsSync(join(native, folder)))
    .flatMap((folder) => readdirSync(join(native, folder), { recursive: true }))
    .filter((file) => file.endsWith('.cpp')).length;
}

/**
 * Returns the best level of this processor according to build/cpu.node, which is built first. Throws if it cannot be
 * built.
 */
export function bestLevel() {
  const problem = runMake(['cpu']);
  if (problem !== null) throw new Error(problem);
  return createRequire(import.meta.url)(join(build, 'cpu.node')).bestLevel;
}

/** Returns the reason why a build is not possible, or null. */
function cannotBuild() {
  if (!existsSync(join(native, 'Makefile'))) return 'native/Makefile is missing';
  const missing = missingTools();
  return missing.length > 0 ? `${missing.join(' and ')} not found` : null;
}

const skipped = (reason) => ({ status: 'skipped', reason });
const ended = (problem) =>
  problem === null ? { status: 'built', reason: '' } : { status: 'failed', reason: problem };

/**
 * Builds the kernels. `levels` defaults to the best one of this processor; `target` is a target of the Makefile (`all`,
 * `sanitize`, `mpi`). Returns `{ status: 'built' | 'skipped' | 'failed', reason }`; `skipped` means that no build was
 * tried.
 */
export function buildAddon({ target = 'all', levels } = {}) {
  const obstacle = cannotBuild();
  if (obstacle !== null) return skipped(obstacle);
  try {
    return ended(runMake([target, `LEVELS=${(levels ?? [bestLevel()]).join(' ')}`]));
  } catch (error) {
    return ended(error.message);
  }
}

/** Builds like buildAddon without blocking, and calls `onFile(name)` for every file that is compiled. */
export async function buildAddonWatched({ target = 'all', levels, onFile }) {
  const obstacle = cannotBuild();
  if (obstacle !== null) return skipped(obstacle);
  try {
    return ended(await watchMake([target, `LEVELS=${(levels ?? [bestLevel()]).join(' ')}`], onFile));
  } catch (error) {
    return ended(error.message);
  }
}

/** Whether an MPI library with its compiler wrapper is installed, so that mpi.node can be built. */
export function hasMpi() {
  return process.env.MPI_LIBS !== undefined || hasCommand(process.env.MPICC ?? 'mpicc');
}

/** Builds build/mpi.node if an MPI library is installed. */
export function buildMpi() {
  if (!hasMpi()) return skipped('no MPI library with mpicc was found');
  return buildAddon({ target: 'mpi', levels: [] });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const levels = process.argv.includes('--all-levels') ? allLevels : undefined;
  for (const [name, work] of [
    ['the native addon', () => buildAddon({ levels })],
    ['mpi.node', buildMpi],
  ]) {
    const { status, reason } = work();
    if (status === 'built' || (name === 'mpi.node' && status === 'skipped')) continue;
    console.error(`build-addon: ${name} was not built: ${reason}.`);
    process.exitCode = 1;
  }
}
