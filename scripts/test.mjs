/**
 * Runs the tests in phases (test-phases.mjs) and sums their counts: `npm test` runs the short ones, `--full` all of
 * them, `--gpu` those of GPUs. `--phase=name` runs one of them, `--list` lists them.
 *
 * Counts come from vitest's JSON report, written in addition to its default output; they are written to
 * .cache/test-summary.json and to the last line: `N passed, N failed`. A file that does not load and a crashed run are
 * failures.
 */
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { main, root, run, StepError, since } from './steps.mjs';
import { allPhases, defaultPhases, gpuPhase } from './test-phases.mjs';
import { countReport, reportArguments } from './test-report.mjs';

const cache = join(root, '.cache');
const usage = 'Usage: npm test, or npm run test:full -- [--phase=<name>] [--list], or npm run test:gpu';
const summaryFile = join(cache, 'test-summary.json');

/** Returns the phases that the arguments select; throws for an unknown name. */
function chosenPhases(args) {
  const phases = args.includes('--gpu')
    ? [gpuPhase()]
    : args.includes('--full')
      ? allPhases()
      : defaultPhases();
  const only = args.find((word) => word.startsWith('--phase='))?.slice('--phase='.length);
  if (only === undefined) return phases;
  const named = [...phases, gpuPhase()];
  const found = named.find(({ name }) => name === only);
  if (found !== undefined) return [found];
  throw new StepError(
    `expected one of ${named.map(({ name }) => name).join(', ')} for --phase, got ${only}. Run with --list for descriptions.`,
    2,
  );
}

async function runPhase({ name, about, args, env = {}, prepare, start: startVitest, missing }) {
  const start = performance.now();
  console.log(`\n== ${name}: ${about}`);
  if (missing) {
    console.log(`not run: ${missing}`);
    return { name, passed: 0, failed: 0, skipped: 1, reasons: { [missing]: 1 }, duration: since(start) };
  }
  const problem = prepare?.() ?? null;
  if (problem !== null) {
    console.log(problem);
    return { name, passed: 0, failed: 1, skipped: 0, reasons: {}, duration: since(start) };
  }
  const report = join(cache, 'vitest-report.json');
  rmSync(report, { force: true });
  const all = [...args, ...reportArguments(report)];
  const vitest = [join(root, 'node_modules/vitest/vitest.mjs'), 'run', ...all];
  const extra = typeof env === 'function' ? env() : env;
  const ended = startVitest === undefined ? run(process.execPath, vitest, { show: true, env: extra }) : null;
  const code = ended === null ? await startVitest(all, report) : ended.code;
  if (!existsSync(report))
    console.log(`vitest left no report; it ended with ${ended?.signal ?? `code ${code}`}.`);
  return { name, ...countReport(report, code), duration: since(start) };
}

const describe = ({ passed, failed, skipped }) =>
  `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;

async function runAll(phases) {
  mkdirSync(cache, { recursive: true });
  rmSync(summaryFile, { force: true });
  const results = [];
  for (const phase of phases) results.push(await runPhase(phase));
  const sum = (key) => results.reduce((total, result) => total + result[key], 0);
  const summary = { passed: sum('passed'), failed: sum('failed'), skipped: sum('skipped'), phases: results };
  writeFileSync(summaryFile, `${JSON.stringify({ ...summary, line: describe(summary) }, null, 2)}\n`);

  console.log('');
  for (const { reasons, ...result } of results) {
    console.log(`${result.name}: ${describe(result)} (${result.duration})`);
    for (const [reason, count] of Object.entries(reasons)) console.log(`  skipped ${count}: ${reason}`);
  }
  console.log(describe(summary));
  process.exitCode = summary.failed > 0 ? 1 : 0;
}

await main('test', async () => {
  const args = process.argv.slice(2);
  if (args.includes('--help')) return console.log(usage);
  const unknown = args.find((arg) => !/^--(full|gpu|list|phase=.*)$/.test(arg));
  if (unknown !== undefined) throw new StepError(`expected an option, got ${unknown}.\n${usage}`, 2);
  const phases = chosenPhases(args);
  if (args.includes('--list'))
    for (const { name, about } of phases) console.log(`${name.padEnd(20)} ${about}`);
  else await runAll(phases);
});
