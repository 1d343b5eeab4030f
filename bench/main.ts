/**
 * `npm run bench -- <suite>`: our kernels and steps against the same work in PyTorch and against the machine's limits.
 * With `--json` stdout carries one line a case and nothing else; people read stderr then.
 */
import { type Options, parseArguments, UsageError, usage } from './arguments.js';
import { type Limits, measureLimits } from './limits.js';
import { findPeer, installHint, type Peer } from './peer.js';
import { jsonLine, limitsLine, machine, peerLines, save, tableHead, tableLine } from './report.js';
import { oneCaseFlag, type Result, runCase } from './runner.js';
import type { Suite } from './suite.js';
import { loadSuite, suites } from './suites/index.js';

function listSuites(): void {
  console.log(`${usage}\n\nsuites:`);
  for (const { name, about } of suites) console.log(`  ${name.padEnd(12)}${about}`);
}

/** Our side of one case, in the process that runner.ts started for it. */
async function oneCase([suite, name, threads]: readonly string[]): Promise<void> {
  const { measureCase } = await import('./one-case.js');
  const entry = (await loadSuite(suite)).cases.find((one) => one.name === name);
  if (entry === undefined) throw new UsageError(`bench: expected a case of ${suite}, got "${name}".`);
  console.log(JSON.stringify(await measureCase(entry, Number(threads))));
}

/** What the peer's product reached is possible too, so a disturbed probe cannot put the limit below it. */
function limitsOrNull(options: Options, peer: Peer | null, say: (line: string) => void): Limits | null {
  const probed = measureLimits(options.threads);
  if (typeof probed === 'string') {
    say(`limits: not measured, ${probed}`);
    return null;
  }
  const limits = { ...probed, gemm: Math.max(probed.gemm, peer?.cores.chosen.gflops ?? 0) };
  say(limitsLine(limits));
  return limits;
}

function peerOrNull(options: Options, say: (line: string) => void): Peer | null {
  if (!options.peer) return null;
  const peer = findPeer(options.python, options.threads);
  if (peer === null) say(installHint);
  else for (const line of peerLines(peer)) say(line);
  return peer;
}

/** A BLAS that stays far below the arithmetic of the machine is a badly set up one, not a slow one. */
function warnOfSlowPeer(peer: Peer | null, limits: Limits | null, say: (line: string) => void): void {
  if (peer === null || limits === null || peer.cores.chosen.gflops >= 0.4 * limits.gemm) return;
  const share = ((100 * peer.cores.chosen.gflops) / limits.gemm).toFixed(0);
  say(
    `warning: the peer's matrix product reaches ${share} % of the machine's arithmetic; its ratios are not to be trusted.`,
  );
}

async function runSuite(suite: Suite, options: Options): Promise<void> {
  const say = (line: string): void => (options.json ? console.error(line) : console.log(line));
  const cases = suite.cases.filter((entry) => options.only === null || options.only.test(entry.name));
  if (cases.length === 0) {
    throw new UsageError(
      `bench: expected a pattern that matches a case of ${suite.name} for --only, got ${options.only}.`,
    );
  }
  const facts = machine(options.threads);
  say(
    Object.entries(facts)
      .map(([key, value]) => `${key} ${value}`)
      .join(', '),
  );
  const peer = peerOrNull(options, say);
  const limits = limitsOrNull(options, peer, say);
  warnOfSlowPeer(peer, limits, say);
  const results: Result[] = [];
  say(tableHead);
  for (const entry of cases) {
    const result = await runCase(suite, entry, peer, options, limits);
    results.push(result);
    say(tableLine(result));
    if (options.json) console.log(jsonLine(result));
  }
  if (options.save)
    say(
      `saved to ${save(suite.name, results, { ...facts, peer: peer?.version ?? null, peer_core: peer?.cores.chosen.core ?? null, rounds: options.rounds, limits })}`,
    );
  if (results.some((result) => result.error !== null)) process.exitCode = 1;
}

async function main(words: readonly string[]): Promise<void> {
  if (words[0] === oneCaseFlag) return oneCase(words.slice(1));
  const options = parseArguments(
    words,
    suites.map((suite) => suite.name),
  );
  if (options.suite === null) return listSuites();
  return runSuite(await loadSuite(options.suite), options);
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  console.error(error.message);
  process.exitCode = 2;
}
