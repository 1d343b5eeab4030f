/**
 * Runs the kernel tests on emulated systems: a cross compiler builds the platform package, and vitest runs in that
 * system's Node.js, so that the assertions are checked there. Slow, and no measure of speed.
 *
 * Node.js and the two native packages of vitest come from npm; they are installed with the package in .cache/<system>
 * and found through NODE_PATH, which `require` searches last.
 */
import { spawn } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { hasCommand } from './build-addon.mjs';
import { makeWords, platforms } from './pack/platforms.mjs';
import { root, run, StepError, tail } from './steps.mjs';
import { reportArguments, succeeded } from './test-report.mjs';

export const kernelTests = ['test/kernels', 'test/ops', 'test/smoke.test.ts'];

const home = (system) => join(root, '.cache', system.name);
export const modulesOf = (system) => join(home(system), 'node_modules');

/** Returns what is missing to run a system's tests, as a sentence with the remedy; null if nothing is. */
export function missingFor({ tools }) {
  if (process.platform !== 'linux') return 'other systems are emulated on Linux only';
  const missing = tools.filter(([command]) => !hasCommand(command));
  if (missing.length === 0) return null;
  const [commands, packages] = [0, 1].map((at) => missing.map((pair) => pair[at]).join(' '));
  return `not found: ${commands}. Install with: sudo apt-get install ${packages}`;
}

function installPackages(system) {
  const version = (name) =>
    JSON.parse(readFileSync(join(root, 'node_modules', name, 'package.json'), 'utf8')).version;
  const dependencies = {
    [`node-${system.node}`]: '22',
    [`@rolldown/binding-${system.binding}`]: version('rolldown'),
    [`lightningcss-${system.binding}`]: version('lightningcss'),
  };
  const manifest = `${JSON.stringify({ private: true, dependencies }, null, 2)}\n`;
  const file = join(home(system), 'package.json');
  const present = Object.keys(dependencies).every((name) => existsSync(join(modulesOf(system), name)));
  if (present && readFileSync(file, 'utf8') === manifest) return;
  mkdirSync(home(system), { recursive: true });
  writeFileSync(file, manifest);
  const [os, cpu] = system.name.split('-');
  const args = [
    'install',
    '--no-audit',
    '--no-fund',
    '--force',
    '--ignore-scripts',
    `--os=${os}`,
    `--cpu=${cpu}`,
  ];
  const { code, output } = run('npm', [...args, '--libc=glibc'], { cwd: home(system) });
  if (code !== 0) throw new StepError(`packages for ${system.name} could not be installed:\n${tail(output)}`);
}

/** Builds the platform package in the folder that the loader searches. */
function buildPackage(system) {
  const folder = join(modulesOf(system), '@skein', system.name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), `{ "name": "@skein/${system.name}", "version": "0.0.0" }\n`);
  const platform = platforms.find(({ name }) => name === system.name);
  const compiler = `${hasCommand('ccache') ? 'ccache ' : ''}${platform.cross}`;
  const words = makeWords(platform, `../.cache/${system.name}/node_modules/@skein/${system.name}`, compiler);
  const { code, output } = run('make', ['-C', 'native', `-j${availableParallelism()}`, ...words]);
  if (code !== 0) throw new StepError(`the addon for ${system.name} could not be compiled:\n${tail(output)}`);
}

/** Installs and builds everything that a run needs. */
export function prepare(system) {
  const missing = missingFor(system);
  if (missing !== null) throw new StepError(missing, 2);
  installPackages(system);
  buildPackage(system);
  system.setUp?.(modulesOf(system));
}

/**
 * Runs a program that writes a report of vitest, and returns its exit code. Node.js under Wine may hang during exit: a
 * program that still runs `grace` milliseconds after the report appeared is killed, and the report decides the result.
 */
export async function runReporting(command, args, { report, env = {}, stdio = 'inherit', grace = 30_000 }) {
  const child = spawn(command, args, { cwd: root, stdio, env: { ...process.env, ...env } });
  let reported = Infinity;
  let killed = false;
  const watch = setInterval(() => {
    if (reported === Infinity && existsSync(report)) reported = performance.now();
    if (performance.now() - reported >= grace) killed = child.kill('SIGKILL') || killed;
  }, 200);
  const code = await new Promise((resolve) => {
    child.on('error', () => resolve(127));
    child.on('exit', (status) => resolve(status ?? 1));
  });
  clearInterval(watch);
  if (!killed) return code;
  console.log(`killed a program that still ran ${grace / 1000} s after its report`);
  return succeeded(report) ? 0 : 1;
}

/**
 * Runs vitest with `args`, which include the report, at one level of the kernels; a level that does not load fails a
 * test. Returns its exit code.
 */
export async function runVitest(system, level, args, report) {
  const [command, ...before] = system.command(modulesOf(system));
  const env = {
    NODE_PATH: system.path(modulesOf(system)),
    SKEIN_NATIVE: level,
    SKEIN_TEST_PROGRAMS: 'none',
    ...system.env?.(home(system)),
  };
  // Programs of the system cannot be started by path, so test files run on threads instead of in processes.
  const vitest = [
    'node_modules/vitest/vitest.mjs',
    'run',
    '--pool=threads',
    '--testTimeout=1200000',
    '--hookTimeout=600000',
  ];
  const all = [...before, ...vitest, ...args];
  if (!system.writesToFiles) return runReporting(command, all, { report, env });
  const log = join(home(system), 'output.txt');
  const file = openSync(log, 'w');
  const code = await runReporting(command, all, { report, env, stdio: ['ignore', file, file] });
  closeSync(file);
  process.stdout.write(readFileSync(log));
  return code;
}

/** The main function of a system's script: `node scripts/test-<system>.mjs [vitest's arguments]`. */
export async function test(system) {
  prepare(system);
  const chosen = process.argv.slice(2);
  const report = join(home(system), 'vitest-report.json');
  for (const level of system.levels) {
    console.log(`\n== ${system.name}, kernels of level ${level}`);
    rmSync(report, { force: true });
    const args = [...(chosen.length > 0 ? chosen : kernelTests), ...reportArguments(report)];
    const code = await runVitest(system, level, args, report);
    if (code !== 0) process.exitCode = code;
  }
}
