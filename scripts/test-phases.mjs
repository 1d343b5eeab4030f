/**
 * The phases of the tests: vitest's arguments, environment and preparation. None takes longer than 40 minutes on two
 * cores, so that each can be run separately: `npm run test:full -- --phase=<name>`.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { allLevels, buildAddon } from './build-addon.mjs';
import { kernelTests, missingFor, prepare, runVitest } from './emulation.mjs';
import { root, run, StepError } from './steps.mjs';
import { arm64 } from './test-arm64.mjs';
import { windows } from './test-windows.mjs';

/**
 * @typedef {object} Phase
 * @property {string} name
 * @property {string} about one line
 * @property {string[]} args for vitest
 * @property {Record<string, string> | (() => Record<string, string>)} [env]
 * @property {() => string | null} [prepare] returns what could not be prepared, or null
 * @property {(args: string[], report: string) => Promise<number>} [start] runs vitest in another way and returns its exit code
 * @property {string | null} [missing] why the phase cannot run on this machine
 */

const opTests = ['test/ops', 'test/smoke.test.ts'];
const wide = { SKEIN_TEST_WIDE: '1' };
/** Environment without the addon: the TypeScript kernels. */
const referenceOnly = { SKEIN_NATIVE: '0' };
const long = (...files) => [
  '--config',
  'vitest.full.config.ts',
  ...files.map((file) => `test/full/${file}.test.ts`),
];

/** Returns the folders of tests in src and test except those named, as vitest filters. */
function foldersWithout(...apart) {
  const folders = ['src', 'test'].flatMap((top) =>
    readdirSync(join(root, top), { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && !apart.includes(entry.name))
      .map((entry) => `${top}/${entry.name}/`),
  );
  return [...folders, 'test/smoke.test.ts'];
}

/** Messages between workers and GPU results depend neither on kernels nor on threads, and take long. */
const otherMachinery = ['dist', 'gpu', 'interop', 'full', 'pack'];

/**
 * Returns folders of tests whose outcome depends on kernels and threads. Commands, readers of files and documentation are
 * tested by the default suite, and without the addon.
 */
function computing() {
  const others = [
    'bench',
    'browser',
    'cli',
    'compat',
    'data',
    'docs',
    'faults',
    'scripts',
    'server',
    'sources',
  ];
  return foldersWithout(...otherMachinery, ...others);
}

/** Returns tests outside test/dist that have more cases in the long suite. */
function wideTests() {
  return readdirSync(join(root, 'test'), { recursive: true })
    .map((file) => `test/${file.replaceAll('\\', '/')}`)
    .filter((file) => /^test\/(?!dist\/).*\.test\.ts$/.test(file))
    .filter((file) => readFileSync(join(root, file), 'utf8').includes("/wide.js'"));
}

/** Processor features of a level, as named in /proc/cpuinfo; native/cpu/cpu.cpp checks the same ones. */
const featuresOf = {
  avx2: ['avx2', 'fma', 'bmi2'],
  avx512: ['avx2', 'fma', 'bmi2', 'avx512f', 'avx512bw', 'avx512dq', 'avx512vl'],
};

/** Returns why the processor that `info` (/proc/cpuinfo) describes cannot run a level, or null. */
export function missingForLevel(level, info) {
  const words = new Set(info.split(/\s+/));
  const missing = (featuresOf[level] ?? []).filter((feature) => !words.has(feature));
  return missing.length === 0 ? null : `this processor cannot run level ${level}: no ${missing.join(', ')}`;
}

/** Returns why a program cannot be run, or null. */
function missingProgram(name, args) {
  const { error } = spawnSync(name, args, { stdio: 'ignore' });
  return error === undefined ? null : `${name} is not installed`;
}

/** Builds one level of the addon; by default a machine has only its best level. */
function prepareLevel(level) {
  const { status, reason } = buildAddon({ levels: [level] });
  return status === 'built' ? null : `the addon of level ${level} was not built: ${reason}`;
}

/** Builds the addon with sanitizers and a copy of the checkout around it, since the addon is loaded from build/. */
function prepareSanitizers() {
  const { status, reason } = buildAddon({ target: 'sanitize' });
  if (status !== 'built') return `the addon with sanitizers was not built: ${reason}`;
  const copy = join(root, '.cache', 'sanitize');
  rmSync(copy, { recursive: true, force: true });
  mkdirSync(copy, { recursive: true });
  const files = ['package.json', 'tsconfig.json', 'tsconfig.build.json', 'vitest.config.ts'];
  for (const name of ['src', 'test', 'scripts', ...files])
    cpSync(join(root, name), join(copy, name), { recursive: true });
  cpSync(join(root, 'build', 'asan'), join(copy, 'build'), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  return null;
}

/** Returns an environment that preloads the sanitizer's runtime, since Node itself is not built with it. */
function sanitizerEnv() {
  const library = (name) => run(process.env.CXX ?? 'g++', [`-print-file-name=${name}`]).output.trim();
  return {
    LD_PRELOAD: `${library('libasan.so')} ${library('libstdc++.so')}`,
    ASAN_OPTIONS: 'detect_leaks=0',
    UBSAN_OPTIONS: 'print_stacktrace=1',
  };
}

/** @returns {Phase} */
function sanitizers(name, about, tests) {
  // Instrumented code is many times slower.
  const args = ['--root', join(root, '.cache', 'sanitize'), '--testTimeout=900000', ...tests];
  return { name, about, args, prepare: prepareSanitizers, env: sanitizerEnv };
}

/**
 * Returns phases for the kernel tests in the Node.js of another system, if its tools are installed. @returns {Phase[]}
 */
function emulated(system) {
  return system.levels.map((level) => ({
    name: `${system.name}-${level}`,
    about: `kernels of level ${level} on an emulated ${system.name}`,
    args: kernelTests,
    missing: missingFor(system),
    prepare: () => {
      try {
        prepare(system);
        return null;
      } catch (error) {
        if (error instanceof StepError) return error.message;
        throw error;
      }
    },
    start: (args, report) => runVitest(system, level, args, report),
  }));
}

/** The phases of `npm test`. @returns {Phase[]} */
export function defaultPhases() {
  return [
    { name: 'default', about: 'the default suite', args: [] },
    {
      name: 'reference',
      about: 'operations on the TypeScript kernels alone (SKEIN_NATIVE=0)',
      args: opTests,
      env: referenceOnly,
    },
  ];
}

/** Returns the phase of `npm run test:gpu`; the default suite includes its tests too. @returns {Phase} */
export function gpuPhase() {
  return {
    name: 'gpu',
    about: 'GPUs, hot and cold features, interop',
    args: [
      ...['src/gpu', 'test/gpu', 'test/interop', 'test/storage/hot-cold-store.test.ts'],
      ...['test/sample/hotness.test.ts', 'test/sample/partition-feature.test.ts'],
    ],
  };
}

/** Phases that install packages of their own. @type {Phase[]} */
const packages = [
  {
    name: 'pack',
    about: 'the packed package in an empty project',
    args: ['--config', 'vitest.full.config.ts', 'test/pack'],
  },
  {
    name: 'site',
    about: 'the documentation as a site: installed, built, and opened in Chromium',
    args: long('site'),
  },
];

/** Returns all phases, in order. @returns {Phase[]} */
export function allPhases() {
  const info = existsSync('/proc/cpuinfo') ? readFileSync('/proc/cpuinfo', 'utf8') : '';
  const all = [
    ...defaultPhases(),
    {
      name: 'reference-models',
      about: 'layers, models and training on the TypeScript kernels',
      args: foldersWithout(...otherMachinery, 'docs').filter(
        (folder) => !/test\/(ops|kernels|temporal|train)\//.test(folder),
      ),
      env: referenceOnly,
    },
    {
      name: 'reference-runs',
      about: 'temporal models and whole runs on the TypeScript kernels',
      args: ['test/temporal/', 'test/train/', 'test/kernels/'],
      env: referenceOnly,
    },
    { name: 'wide', about: 'more sizes, families and batches', args: wideTests(), env: wide },
    { name: 'workers', about: 'training on more numbers of workers', args: ['test/dist/'], env: wide },
    ...allLevels.map((level) => ({
      name: `level-${level}`,
      about: `the kernels of level ${level}`,
      args: computing(),
      env: { SKEIN_NATIVE: level },
      missing: missingForLevel(level, info),
      prepare: () => prepareLevel(level),
    })),
    ...['1', '4'].map((count) => ({
      name: `threads-${count}`,
      about: `SKEIN_THREADS=${count}`,
      args: computing(),
      env: { SKEIN_THREADS: count },
    })),
    {
      name: 'long-kills',
      about: 'runs of one process, killed repeatedly',
      args: long('kill-resume', 'temporal-kill-resume'),
    },
    {
      name: 'long-kills-streams',
      about: 'durable streams and servers of streams under load, killed 200 times each',
      args: long('stream-kill', 'serve-kill'),
    },
    {
      name: 'brokers',
      about: 'NATS JetStream as a source of a stream: restarts of the broker, kills of the consumer',
      args: long('broker-nats'),
      missing: missingProgram('nats-server', ['--version']),
    },
    {
      name: 'long-kills-workers',
      about: 'runs of several workers, one of which is killed repeatedly',
      args: long('dist-kill-resume', 'dist-temporal-kill-resume'),
    },
    {
      name: 'long-hosts',
      about: 'two hosts in network namespaces, messages of 2 GB',
      args: long('dist-hosts', 'dist-large'),
    },
    {
      name: 'long-memory',
      about: 'memory over 19,000 steps and 10 million edges, bytes for 1, 2 and 4 threads',
      args: long('memory', 'preprocess-memory', 'determinism'),
    },
    {
      name: 'databases',
      about: 'PostgreSQL and MariaDB as sources, against servers that the tests start',
      args: long('databases'),
    },
    {
      name: 'long-accuracy',
      about: 'published accuracy, five seeds',
      args: long('accuracy', 'tgb-protocol'),
    },
    sanitizers('sanitizers', 'address and undefined-behaviour sanitizers on every kernel', ['test/kernels']),
    sanitizers('sanitizers-ops', 'address and undefined-behaviour sanitizers on every operation', opTests),
    ...packages,
    ...emulated(arm64),
    ...emulated(windows),
  ];
  return all.filter(({ name }) => process.platform === 'linux' || !name.startsWith('sanitizers'));
}
