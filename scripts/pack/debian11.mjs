/**
 * Creates a Debian 11 in .cache/debian11 with debootstrap, whose compilers build the shipped addons: its C library
 * (2.31) is the oldest that the packages support, so a binary built there cannot require newer symbols. It has
 * compilers for all targets that can be cross-compiled.
 */
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { hasCommand } from '../build-addon.mjs';
import { root, run, StepError, tail } from '../steps.mjs';
import { makeWords } from './platforms.mjs';

const folder = join(root, '.cache', 'debian11');
const ready = join(folder, 'skein-ready');
const packages = ['make', 'g++', 'g++-aarch64-linux-gnu', 'g++-mingw-w64-x86-64-posix'];

function must(command, args, what) {
  const { code, output } = run(command, args);
  if (code !== 0) throw new StepError(`${what} failed:\n${tail(output)}`);
}

/** Creates the folder once: about 900 MB, three minutes. */
export function ensureDebian11() {
  if (existsSync(ready)) return;
  if (process.getuid?.() !== 0 || !hasCommand('debootstrap') || process.arch !== 'x64') {
    throw new StepError(
      'the shipped addons are built in a Debian 11 created by debootstrap, which needs root on an x64 Linux and the package ' +
        'debootstrap. Install it with: apt-get install debootstrap; or build with the compiler of this machine: --here',
      2,
    );
  }
  console.log('pack: creating a Debian 11 with its compilers in .cache/debian11 (once)');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  must('debootstrap', ['--variant=minbase', 'bullseye', folder], 'debootstrap');
  must('chroot', [folder, 'apt-get', 'install', '-y', '--no-install-recommends', ...packages], 'apt-get');
  writeFileSync(ready, '');
}

/** Compiles the addons of one platform there and copies them to `out`. */
export function buildInDebian11(platform, out) {
  const work = join(folder, 'skein');
  rmSync(join(work, 'native'), { recursive: true, force: true });
  cpSync(join(root, 'native'), join(work, 'native'), { recursive: true });
  const jobs = `-j${availableParallelism()}`;
  const words = makeWords(platform, `../${platform.name}`, platform.cross);
  must('chroot', [folder, 'make', '--no-print-directory', '-C', '/skein/native', jobs, ...words], 'make');
  const built = join(work, platform.name);
  for (const file of readdirSync(built).filter((name) => name.endsWith('.node'))) {
    cpSync(join(built, file), join(out, file));
  }
}
