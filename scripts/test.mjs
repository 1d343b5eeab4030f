/**
 * Runs the tests in phases and adds up their counts. `--full` adds the long phases: every kernel level, several thread
 * counts, the suites of test/full, the address sanitizer, the packed package in an empty project, and the kernel tests on
 * emulated systems. `--gpu` runs the tests of graphics processors alone, `--phase=word` only the phases with that word in
 * their name.
 *
 * Counts come from vitest's JSON report, written beside its usual output; they go to .cache/test-summary.json and, alone,
 * to the last line: `N passed, N failed`. A file that does not load and a crashed run count as failures.
 */
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildAddon } from './build-addon.mjs';
import { kernelTests, missingFor, prepare, runVitest } from './emulation.mjs';
import { root, run, StepError, since } from './steps.mjs';
import { arm64 } from './test-arm64.mjs';
import { windows } from './test-windows.mjs';

const cache = join(root, '.cache');
const opTests = ['test/ops', 'test/smoke.test.ts'];
const graphicsTests = [
  ...['src/gpu', 'test/gpu', 'test/interop', 'test/storage/hot-cold-store.test.ts'],
  ...['test/sample/hotness.test.ts', 'test/sample/partition-feature.test.ts'],
];

/** Levels of the addon that this build has and this processor can run, except the one that runs by default. */
function levels() {
  const flags = existsSync('/proc/cpuinfo') ? readFileSync('/proc/cpuinfo', 'utf8') : '';
  return flags.includes(' avx2 ') ? ['portable', 'avx2'] : [];
}

/** Builds the addon with sanitizers and a copy of the checkout around it, since the addon is loaded from build/. */
function prepareSanitizer() {
  const { status, reason } = buildAddon({ quiet: true, target: 'sanitize' });
  if (status !== 'built') return `the addon with sanitizers was not built: ${reason}`;
  const copy = join(cache, 'sanitize');
  rmSync(copy, { recursive: true, force: true });
  mkdirSync(copy, { recursive: true });
  for (const name of ['src', 'test', 'package.json', 'tsconfig.json', 'vitest.config.ts']) {
    cpSync(join(root, name), join(copy, name), { recursive: true });
  }
  cpSync(join(root, 'build', 'asan'), join(copy, 'build'), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  return null;
}

/** The sanitizer's runtime must be the first library of the process; Node itself is not built with it. */
function sanitizerEnv() {
  const library = (name) => run(process.env.CXX ?? 'g++', [`-print-file-name=${name}`]).output.trim();
  return {
    LD_PRELOAD: `${library('libasan.so')} ${library('libstdc++.so')}`,
    ASAN_OPTIONS: 'detect_leaks=0',
    UBSAN_OPTIONS: 'print_stacktrace=1',
  };
}

/** The kernel tests in the Node.js of another system, as far as its tools are installed. */
function emulated(system) {
  return system.levels.map((level) => ({
    name: `${system.name}, emulated, kernels of level ${level}`,
    args: kernelTests,
    skip: missingFor(system),
    prepare: () => {
      try {
        prepare(system);
        return null;
      } catch (error) {
        if (error instanceof StepError) return error.message;
        throw error;
      }
    },
    start: (args) => runVitest(system, level, args),
  }));
}

/**
 * A phase: its name, vitest's arguments, and what differs in its environment; `start` runs vitest in another way. `skip` is
 * true, or the reason in words.
 */
function phases(full, graphics) {
  if (graphics)
    return [{ name: 'graphics processors, hot and cold features, hand-over', args: graphicsTests }];
  const short = [
    { name: 'default suite', args: [] },
    { name: 'reference kernels (SKEIN_NATIVE=0)', args: opTests, env: { SKEIN_NATIVE: '0' } },
  ];
  if (!full) return short;
  const long = ['--config', 'vitest.full.config.ts'];
  // What workers say to each other and what graphics processors compute does not depend on the kernels' level or on
  // threads, and takes long.
  const apart = ['test/dist/**', 'test/gpu/**', 'test/interop/**', 'src/gpu/**'];
  const alone = apart.flatMap((pattern) => ['--exclude', pattern]);
  return [
    short[0],
    { ...short[1], args: alone },
    { name: 'all numbers of workers', args: ['test/dist'], env: { SKEIN_TEST_WORKERS: 'all' } },
    ...levels().map((level) => ({
      name: `kernels of level ${level}`,
      args: alone,
      env: { SKEIN_NATIVE: level },
    })),
    ...['1', '4'].map((count) => ({ name: `threads: ${count}`, args: alone, env: { SKEIN_THREADS: count } })),
    {
      name: 'long suites (test/full)',
      args: [...long, 'test/full'],
      skip: !existsSync(join(root, 'test/full')),
    },
    {
      name: 'address and undefined-behaviour sanitizers',
      // Checked memory takes many times as long.
      args: ['--root', join(cache, 'sanitize'), '--testTimeout=300000', 'test/kernels', ...opTests],
      prepare: prepareSanitizer,
      env: sanitizerEnv,
      skip: process.platform !== 'linux',
    },
    { name: 'packed package (test/pack)', args: [...long, 'test/pack'] },
    ...[arm64, windows].flatMap(emulated),
  ];
}

/** Counts of one vitest report; `code` is the exit code of the run that wrote it. */
function countReport(path, code) {
  if (!existsSync(path)) return { passed: 0, failed: 1, skipped: 0 };
  const report = JSON.parse(readFileSync(path, 'utf8'));
  const unloaded = report.testResults.filter(
    (file) => file.status === 'failed' && file.assertionResults.length === 0,
  );
  const { numTotalTests, numPassedTests, numFailedTests, numPendingTests, numTodoTests } = report;
  // Tests of a process that died have no result.
  const lost = numTotalTests - numPassedTests - numFailedTests - numPendingTests - numTodoTests;
  const failed = numFailedTests + unloaded.length + lost;
  return {
    passed: numPassedTests,
    failed: code !== 0 && failed === 0 ? 1 : failed,
    skipped: numPendingTests + numTodoTests,
  };
}

function runPhase({ name, args, env = {}, prepare, start: startVitest }) {
  const start = performance.now();
  console.log(`\n== ${name}`);
  const problem = prepare?.() ?? null;
  if (problem !== null) {
    console.log(problem);
    return { name, passed: 0, failed: 1, skipped: 0, duration: since(start) };
  }
  const report = join(cache, 'vitest-report.json');
  rmSync(report, { force: true });
  const all = [...args, '--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  const vitest = [join(root, 'node_modules/vitest/vitest.mjs'), 'run', ...all];
  const extra = typeof env === 'function' ? env() : env;
  const code = startVitest?.(all) ?? run(process.execPath, vitest, { show: true, env: extra }).code;
  return { name, ...countReport(report, code), duration: since(start) };
}

const describe = ({ passed, failed, skipped }) =>
  `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;

mkdirSync(cache, { recursive: true });
const summaryFile = join(cache, 'test-summary.json');
rmSync(summaryFile, { force: true });
const only = process.argv.find((word) => word.startsWith('--phase='))?.slice('--phase='.length) ?? '';
const chosen = phases(process.argv.includes('--full'), process.argv.includes('--gpu')).filter((phase) =>
  phase.name.includes(only),
);
for (const { name, skip } of chosen) {
  if (typeof skip === 'string') console.log(`not run: ${name}: ${skip}`);
}
const results = chosen.filter((phase) => !phase.skip).map(runPhase);
const sum = (key) => results.reduce((total, result) => total + result[key], 0);
const summary = { passed: sum('passed'), failed: sum('failed'), skipped: sum('skipped'), phases: results };
writeFileSync(summaryFile, `${JSON.stringify({ ...summary, line: describe(summary) }, null, 2)}\n`);

console.log('');
for (const result of results) console.log(`${result.name}: ${describe(result)} (${result.duration})`);
console.log(describe(summary));
process.exitCode = summary.failed > 0 ? 1 : 0;
