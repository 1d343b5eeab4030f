/**
 * `npm run bench -- <suite>...`: our kernels and steps against the same work in PyTorch and against the machine's
 * limits, or, with `--against`, against the same work in another source tree. With `--json` stdout carries one line per
 * case and nothing else; human-readable text goes to stderr.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Options, parseArguments, UsageError, usage } from './arguments.js';
import { keptFolderVariable } from './kept.js';
import { type Limits, measureLimits } from './limits.js';
import { findPeer, installHint, type Peer } from './peer.js';
import { startNeighbours } from './processes.js';
import { factsLine, jsonLine, limitsLine, machine, peerLines, save, tableHead, tableLine } from './report.js';
import { type Result, runCase } from './runner.js';
import type { Suite } from './suite.js';
import { loadSuite, suites } from './suites/index.js';

type Say = (line: string) => void;

function listSuites(): void {
  console.log(`${usage}\n\nsuites:`);
  for (const { name, about } of suites) console.log(`  ${name.padEnd(12)}${about}`);
}

/** Returns the limits. The product rate of the peer is a lower bound, so a disturbed probe cannot report less. */
function limitsOrNull(options: Options, peer: Peer | null, say: Say): Limits | null {
  const probed = measureLimits(options.threads);
  if (typeof probed === 'string') {
    say(`limits: not measured, ${probed}`);
    return null;
  }
  const limits = { ...probed, gemm: Math.max(probed.gemm, peer?.cores.chosen.gflops ?? 0) };
  say(limitsLine(limits));
  return limits;
}

function peerOrNull(options: Options, say: Say): Peer | null {
  if (!options.peer) return null;
  const peer = findPeer(options.python, options.threads);
  if (peer === null) say(installHint);
  else for (const line of peerLines(peer)) say(line);
  return peer;
}

/** Warns if the peer's BLAS is far below the machine's arithmetic, which indicates a wrong configuration. */
function warnOfSlowPeer(peer: Peer | null, limits: Limits | null, say: Say): void {
  if (peer === null || limits === null || peer.cores.chosen.gflops >= 0.4 * limits.gemm) return;
  const share = ((100 * peer.cores.chosen.gflops) / limits.gemm).toFixed(0);
  say(
    `warning: the peer's matrix product reaches ${share} % of the machine's arithmetic; its ratios are unreliable.`,
  );
}

/** Returns the requested suites with the cases that match `--only`; suites without any are omitted. */
async function chosenSuites({ suites: names, only }: Options): Promise<Suite[]> {
  const loaded = await Promise.all(names.map(loadSuite));
  const chosen = loaded.map(({ name, cases }) => ({
    name,
    cases: cases.filter((entry) => only === null || only.test(entry.name)),
  }));
  if (chosen.every(({ cases }) => cases.length === 0)) {
    throw new UsageError(
      `bench: expected a pattern that matches a case of ${names.join(', ')} for --only, got ${only}.`,
    );
  }
  return chosen.filter(({ cases }) => cases.length > 0);
}

/** Runs `work` while `count` busy processes run. */
async function withBusyNeighbours<T>(count: number, work: () => Promise<T>): Promise<T> {
  const neighbours = startNeighbours(count);
  try {
    return await work();
  } finally {
    neighbours.stop();
  }
}

async function runSuites(chosen: readonly Suite[], options: Options, say: Say): Promise<void> {
  const facts = { ...machine(options.threads), ...(options.busy === 0 ? {} : { busy: options.busy }) };
  say(factsLine(facts));
  const peer = peerOrNull(options, say);
  const limits = limitsOrNull(options, peer, say);
  warnOfSlowPeer(peer, limits, say);
  const runSuite = async (suite: Suite): Promise<void> => {
    const results: Result[] = [];
    say(tableHead);
    for (const entry of suite.cases) {
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
  };
  await withBusyNeighbours(options.busy, async () => {
    for (const suite of chosen) await runSuite(suite);
  });
}

async function runAgainst(
  path: string,
  chosen: readonly Suite[],
  options: Options,
  folder: string,
  say: Say,
): Promise<void> {
  const { compareTrees, distinctCases } = await import('./against.js');
  const { comparisonJson, comparisonLines, treeLines } = await import('./against-report.js');
  const { otherTree, thisTree } = await import('./trees.js');
  const trees = [thisTree(), otherTree(path)] as const;
  const [commit, other] = trees.map((tree) => tree.commit);
  const facts = { ...machine(options.threads), commit, other, busy: options.busy };
  for (const line of treeLines(...trees)) say(line);
  say(factsLine(facts));
  const compared = chosen.map(({ name, cases }) => ({ name, cases: distinctCases(cases) }));
  const kept = new Set(compared.flatMap(({ cases }) => cases));
  const twins = chosen.flatMap(({ cases }) => cases).filter((entry) => !kept.has(entry));
  for (const { name, sameAs } of twins) say(`${name}: the same work as ${sameAs}, measured there`);
  const comparison = await withBusyNeighbours(options.busy, () =>
    compareTrees(trees, compared, options, folder, say),
  );
  for (const line of comparisonLines(comparison)) say(line);
  if (options.json) for (const line of comparisonJson(comparison, facts)) console.log(line);
  if (comparison.verdict.word !== 'no slower') process.exitCode = 1;
}

/** Creates a folder for the files of this run, removed at exit. */
function workFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'skein-bench-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(130));
  return folder;
}

async function main(words: readonly string[]): Promise<void> {
  const options = parseArguments(
    words,
    suites.map((suite) => suite.name),
  );
  if (options.suites.length === 0) return listSuites();
  const say: Say = (line) => (options.json ? console.error(line) : console.log(line));
  const chosen = await chosenSuites(options);
  const folder = workFolder();
  process.env[keptFolderVariable] = folder;
  if (options.against === null) return runSuites(chosen, options, say);
  return runAgainst(options.against, chosen, options, folder, say);
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  console.error(error.message);
  process.exitCode = 2;
}
