/**
 * Finds and installs the system packages that the tests use: a compiler and make, METIS, MPI, Chromium (whose
 * SwiftShader driver also serves Node.js) and the Vulkan loader.
 *
 * On Debian and Ubuntu missing packages are installed with apt-get; on other systems the command to run is printed.
 * Compiler and make are required; a missing library only disables the feature that uses it, so a failed installation is
 * a warning.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { hasCommand, missingTools } from './build-addon.mjs';
import { root, run, StepError, tail } from './steps.mjs';

const hasFile = (folders, names) =>
  folders.some((folder) => names.some((name) => existsSync(join(folder, name))));
const hasTool = (word) => () => !missingTools().some((missing) => missing.includes(word));

/**
 * Describes a package: its names for apt-get, dnf, pacman and apk, a check for its presence, and the feature that uses
 * it.
 */
function need(packages, present, part) {
  const [apt, dnf, pacman, apk] = packages.split(' ');
  return { apt, dnf, pacman, apk, present, part, required: part === undefined };
}

const gpuTests = 'GPU tests';
const hasChromium = () =>
  process.platform !== 'linux' || hasCommand('chromium') || hasCommand('google-chrome');
const triplet = { x64: 'x86_64', arm64: 'aarch64' }[process.arch];
const libraryFolders = ['/usr/lib', '/usr/lib64', '/usr/local/lib', `/usr/lib/${triplet}-linux-gnu`];
const hasMetis = () => hasFile([...libraryFolders, '/opt/homebrew/lib'], ['libmetis.so.5', 'libmetis.dylib']);
const hasVulkan = () => process.platform !== 'linux' || hasFile(libraryFolders, ['libvulkan.so.1']);

const needs = [
  need('make make make make', hasTool('make')),
  need('g++ gcc-c++ gcc g++', hasTool('compiler')),
  need('libmetis5 metis metis metis', hasMetis, 'METIS partitioning'),
  need(
    'libopenmpi-dev openmpi-devel openmpi openmpi-dev',
    () => hasCommand('mpicxx'),
    'distributed training',
  ),
  need('openmpi-bin openmpi openmpi openmpi', () => hasCommand('mpirun'), 'distributed training'),
  need('chromium chromium chromium chromium', hasChromium, gpuTests),
  need('libvulkan1 vulkan-loader vulkan-icd-loader vulkan-loader', hasVulkan, gpuTests),
];

const hints = { dnf: 'sudo dnf install', pacman: 'sudo pacman -S', apk: 'sudo apk add' };

/** Returns one command that installs `missing` on systems without apt-get. */
function installHint(missing) {
  if (process.platform === 'darwin') {
    const compiler = missing.some((library) => library.required) ? 'xcode-select --install; ' : '';
    return `${compiler}brew install metis open-mpi`;
  }
  const manager = Object.keys(hints).find(hasCommand);
  if (!manager)
    return `install with your package manager: ${missing.map((library) => library.apt).join(' ')}`;
  return `${hints[manager]} ${[...new Set(missing.map((library) => library[manager]))].join(' ')}`;
}

/** Returns the command that installs the tools in `missingTools()`. */
export function installAdvice(missing) {
  const wanted = needs.filter((library) => library.required && !library.present());
  if (missing.length === 0 || wanted.length === 0)
    return installHint(needs.filter((library) => library.required));
  return hasCommand('apt-get') ? `sudo apt-get install ${names(wanted)}` : installHint(wanted);
}

/** Returns the packages that neither their files nor dpkg's records show. */
function findMissing() {
  const unseen = needs.filter((library) => !library.present());
  if (unseen.length === 0 || !hasCommand('dpkg-query')) return unseen;
  const names = unseen.map((library) => library.apt);
  const { output } = run('dpkg-query', ['-W', '-f', `\${Package} \${db:Status-Status}\\n`, ...names]);
  const installed = new Set(
    output
      .split('\n')
      .filter((line) => line.endsWith(' installed'))
      .map((line) => line.split(' ')[0]),
  );
  return unseen.filter((library) => !installed.has(library.apt));
}

/** Returns the apt-get command with the required rights, or null if this user has none. */
function aptPrefix() {
  if (process.getuid?.() === 0) return ['env', 'DEBIAN_FRONTEND=noninteractive', 'apt-get'];
  if (!hasCommand('sudo')) return null;
  // Without a terminal sudo must not wait for a password.
  return ['sudo', ...(process.stdin.isTTY ? [] : ['-n']), 'env', 'DEBIAN_FRONTEND=noninteractive', 'apt-get'];
}

/** Installs `names` together first, then one by one, so that one unknown package does not block the others. */
function aptInstall(prefix, names) {
  const apt = (...args) => run(prefix[0], [...prefix.slice(1), ...args], { show: false });
  const update = apt('update', '-q');
  if (update.code !== 0)
    console.log(`apt-get update failed, trying to install anyway:\n${tail(update.output, 4)}`);
  const install = (packages) => apt('install', '-y', '-q', '--no-install-recommends', ...packages);
  const together = install(names);
  if (together.code === 0) return;
  for (const name of names) {
    const alone = install([name]);
    if (alone.code !== 0) console.log(`could not install ${name}:\n${tail(alone.output, 4)}`);
  }
}

const names = (missing) => missing.map((library) => library.apt).join(' ');

/** Optional packages that could not be installed are tried again after a day, not on every start. */
const attempt = {
  file: join(root, '.cache', 'setup-missing'),
  isFresh(missing) {
    if (!existsSync(this.file) || missing.some((library) => library.required)) return false;
    return (
      readFileSync(this.file, 'utf8') === names(missing) &&
      Date.now() - statSync(this.file).mtimeMs < 86_400_000
    );
  },
  remember(missing) {
    rmSync(this.file, { force: true });
    if (missing.length === 0) return;
    mkdirSync(join(root, '.cache'), { recursive: true });
    writeFileSync(this.file, names(missing));
  },
};

/** Installs missing system libraries as far as possible and returns the summary for the step's line. */
export function ensureSystemLibraries() {
  const before = findMissing();
  if (before.length === 0) return 'all present';
  let missing = before;
  const prefix = hasCommand('apt-get') ? aptPrefix() : null;
  const command = prefix ? `${prefix.join(' ')} install -y ${names(before)}` : '';
  if (prefix && !attempt.isFresh(before)) {
    console.log(`missing ${names(before)}; running: ${command}`);
    aptInstall(
      prefix,
      before.map((library) => library.apt),
    );
    missing = findMissing();
    attempt.remember(missing);
  }
  const advice = hasCommand('apt-get') ? `sudo apt-get install ${names(missing)}` : installHint(missing);
  const required = missing.filter((library) => library.required);
  if (required.length > 0) throw new StepError(`${names(required)} missing. Install with: ${advice}`, 2);
  for (const library of missing)
    console.log(`warning: ${library.apt} is missing; ${library.part} will not work.`);
  if (missing.length > 0) return `some missing; install with: ${advice}`;
  return `installed ${names(before)}`;
}
