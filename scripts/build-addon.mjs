/**
 * Builds the native addon: `make -C native`, which writes build/skein-<level>.node and does nothing when all is up to date.
 *
 * Three callers: `npm run build` (a failure is an error), scripts/setup.mjs (imports `buildAddon`), and npm's install step
 * on a user's machine (`--install`). An installation never fails because of the addon: without a compiler the reference
 * kernels run, slower and with the same results within tolerance. Plain Node, no dependencies.
 */
import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { delimiter, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Whether `name` (a command or a path) can be executed, found as a shell would find it. */
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

/** Compilers to try, best first; a set CXX is the user's word. */
function compilers() {
  const chosen = process.env.CXX?.trim();
  return chosen ? [chosen] : ['g++', 'c++', 'clang++'];
}

/** What a build needs and this machine lacks, as words for a message; empty when a build can start. */
export function missingTools() {
  const missing = [];
  if (!hasCommand('make')) missing.push('make');
  const names = compilers().map((compiler) => compiler.split(/\s+/)[0]);
  if (!names.some(hasCommand)) missing.push(`a C++ compiler (${names.join(', ')})`);
  return missing;
}

/** Folder of the N-API headers seen from native/, wherever the package manager has put them; null when not installed. */
function headers() {
  try {
    const manifest = createRequire(import.meta.url).resolve('node-api-headers/package.json');
    return relative(join(root, 'native'), join(dirname(manifest), 'include'));
  } catch {
    return null;
  }
}

/**
 * Runs make. Returns `{ status: 'built' | 'skipped' | 'failed', reason }`; `skipped` means that nothing was tried.
 * `quiet` keeps make's output back and hands over its last lines as the reason of a failure.
 */
export function buildAddon({ quiet = false, target = 'all' } = {}) {
  if (!existsSync(join(root, 'native', 'Makefile')))
    return { status: 'skipped', reason: 'native/Makefile is missing' };
  const missing = missingTools();
  if (missing.length > 0) return { status: 'skipped', reason: `${missing.join(' and ')} not found` };
  const include = headers();
  if (include === null)
    return { status: 'failed', reason: 'the package node-api-headers is missing; run npm install' };
  const compiler = compilers().find((name) => hasCommand(name.split(/\s+/)[0]));
  const where = [
    quiet ? '--silent' : '--no-print-directory',
    '-C',
    'native',
    `-j${availableParallelism()}`,
    target,
  ];
  const stdio = quiet ? 'pipe' : ['ignore', 'inherit', 'inherit'];
  const run = spawnSync('make', [...where, `HEADERS=${include}`, `CXX=${compiler}`], {
    cwd: root,
    encoding: 'utf8',
    stdio,
  });
  if (run.status === 0) return { status: 'built', reason: '' };
  const tail = quiet ? `\n${`${run.stdout}${run.stderr}`.trimEnd().split('\n').slice(-12).join('\n')}` : '';
  const how = run.error ? run.error.message : `make ended with ${run.status ?? run.signal}`;
  return { status: 'failed', reason: `${how}${tail}` };
}

/** The install step: one note when the addon could not be built, and success in any case. */
function install() {
  const { status, reason } = buildAddon({ quiet: true });
  if (status === 'built') return;
  console.log(`skein: native kernels not built: ${reason}`);
  console.log(
    'skein: the slower reference kernels will run; install make and g++, then `npm rebuild skein`.',
  );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (process.argv.includes('--install')) {
    install();
  } else {
    const { status, reason } = buildAddon();
    if (status !== 'built') {
      console.error(
        `build-addon: the native addon was not built: ${reason}. Run \`npm run setup\` to install the tools.`,
      );
      process.exitCode = 1;
    }
  }
}
