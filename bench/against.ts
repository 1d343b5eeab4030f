/**
 * Measures this source tree against another one. A round runs every case in three fresh processes: on this tree, on the
 * other one, and on this tree again; the difference of this tree from itself is the noise. The order changes from round
 * to round. A round covers all cases, so that a disturbance of minutes affects few rounds of each case and not all
 * rounds of a few.
 */
import { join } from 'node:path';
import type { Options } from './arguments.js';
import type { ChildTask } from './child.js';
import {
  type CaseRounds,
  type Comparison,
  conclude,
  type Unmeasured,
  type UnmeasuredCases,
} from './comparison.js';
import type { Measured } from './one-case.js';
import { measureIn } from './processes.js';
import { disagreement, type Round } from './statistics.js';
import type { Case, Suite } from './suite.js';
import { belongsTo, bundleTree, type Tree } from './trees.js';

type Place = keyof Round;

/**
 * Each order is followed by its reverse, so that a steady drift cancels; in six rounds each takes each position twice.
 */
export const orders: readonly (readonly Place[])[] = [
  ['first', 'again', 'other'],
  ['other', 'again', 'first'],
  ['again', 'first', 'other'],
  ['other', 'first', 'again'],
  ['first', 'other', 'again'],
  ['again', 'other', 'first'],
];

/** A tree as a program to run. */
interface Program {
  readonly tree: Tree;
  readonly file: string;
}

/** One case with its rounds so far. */
interface Running {
  readonly suite: string;
  readonly entry: Case;
  readonly threads: number;
  readonly rounds: Round[];
  ways: Readonly<Record<Place, string>> | null;
  problem: Problem | null;
}

/** Reason why a case cannot be compared. */
interface Problem {
  readonly kind: keyof UnmeasuredCases;
  readonly reason: string;
}

/** Returns the cases to measure: those with the same work of ours under two names are measured once. */
export function distinctCases(cases: readonly Case[]): Case[] {
  const names = new Set(cases.map((entry) => entry.name));
  return cases.filter((entry) => entry.sameAs === undefined || !names.has(entry.sameAs));
}

/** Returns why a measurement is invalid, or null. */
function objection(tree: Tree, { way, addons = [] }: Measured): string | null {
  if (process.env.SKEIN_NATIVE === '0') return null;
  if (way === 'reference') return `the native addon did not load. Run npm run setup in ${tree.folder}`;
  const foreign = addons.find((file) => !belongsTo(tree, file));
  return foreign === undefined ? null : `the addon ${foreign} does not belong to ${tree.folder}`;
}

async function measure({ tree, file }: Program, task: ChildTask): Promise<Measured> {
  const measured = await measureIn({
    file: process.execPath,
    args: [file, JSON.stringify(task)],
    env: { SKEIN_THREADS: `${task.threads}` },
  });
  const problem = objection(tree, measured);
  if (problem !== null) throw new Error(problem);
  return measured;
}

/** Adds a round to a case, or returns why it failed. */
async function measureRound(
  one: Running,
  round: number,
  programs: Readonly<Record<Place, Program>>,
): Promise<Problem | null> {
  const { suite, entry, threads } = one;
  // A process is short, since there are many rounds, and both trees are equally warm.
  const leastRepeats = entry.long === true ? 1 : 3;
  const task = { suite, name: entry.name, threads, warmUpMs: 100, leastRepeats, check: round === 0 };
  const results: Partial<Record<Place, Measured>> = {};
  for (const place of orders[round % orders.length]) {
    try {
      results[place] = await measure(programs[place], task);
    } catch (error) {
      const { message } = error as Error;
      return place === 'other'
        ? { kind: 'notComparable', reason: `other tree: ${message}` }
        : { kind: 'failed', reason: `this tree: ${message}` };
    }
  }
  const { first, again, other } = results as Record<Place, Measured>;
  one.rounds.push({ first: first.ms, again: again.ms, other: other.ms });
  if (round > 0) return null;
  one.ways = { first: first.way, again: again.way, other: other.way };
  // The other tree's own cases may name their figures differently; the order is the same.
  const theirs = other.checks.map((check, i) => ({ ...check, name: first.checks[i]?.name ?? check.name }));
  const different = disagreement(first.checks, theirs, entry.tolerance ?? 1e-4, 'the other tree');
  return different === null ? null : { kind: 'different', reason: different };
}

function finish(running: readonly Running[], allowDifferent: boolean): Comparison {
  const measured: CaseRounds[] = [];
  const unmeasured: Record<keyof UnmeasuredCases, Unmeasured[]> = {
    notComparable: [],
    different: [],
    failed: [],
  };
  for (const { suite, entry, threads, rounds, ways, problem } of running) {
    const { name } = entry;
    if (problem !== null) unmeasured[problem.kind].push({ suite, name, reason: problem.reason });
    else if (ways !== null)
      measured.push({ suite, name, threads, rounds, way: ways.first, otherWay: ways.other });
  }
  return conclude(measured, unmeasured, allowDifferent);
}

/** Guesses for the first estimate, from an idle machine with two cores; the first round replaces them. */
const processSeconds = { usual: 1, long: 3 };

const minutes = (seconds: number): string =>
  seconds < 90 ? `${Math.ceil(seconds)} s` : `${Math.round(seconds / 60)} min`;

/**
 * @param suites the cases to compare
 * @param folder for the bundles of both trees
 * @param say receives the estimate, problems and progress
 */
export async function compareTrees(
  [own, other]: readonly [Tree, Tree],
  suites: readonly Suite[],
  options: Options,
  folder: string,
  say: (line: string) => void,
): Promise<Comparison> {
  const running = suites.flatMap(({ name, cases }) =>
    cases.map((entry): Running => {
      const threads = entry.threads ?? options.threads;
      return { suite: name, entry, threads, rounds: [], ways: null, problem: null };
    }),
  );
  const guess = running.reduce((sum, { entry }) => sum + processSeconds[entry.long ? 'long' : 'usual'], 0);
  say(
    `${running.length} ${running.length === 1 ? 'case' : 'cases'} × ${options.rounds} rounds × 3 processes: about ${minutes(3 * options.rounds * guess)} on an idle machine`,
  );
  // Names of one length, because a program's arguments move its memory and thereby, a little, its times.
  const ours = { tree: own, file: await bundleTree(own, own, join(folder, 'a')) };
  const cases = options.theirCases ? other : own;
  const theirs = { tree: other, file: await bundleTree(other, cases, join(folder, 'b')) };
  const programs = { first: ours, again: ours, other: theirs };
  const start = performance.now();
  for (let round = 0; round < options.rounds; round++) {
    for (const one of running) {
      if (one.problem !== null) continue;
      const problem = await measureRound(one, round, programs);
      one.problem = problem;
      if (problem !== null)
        say(
          `${one.suite} ${one.entry.name}: ${problem.kind === 'different' ? 'results differ: ' : ''}${problem.reason}`,
        );
    }
    const seconds = (performance.now() - start) / 1000;
    const left = (seconds / (round + 1)) * (options.rounds - round - 1);
    say(`round ${round + 1} of ${options.rounds} after ${minutes(seconds)}, about ${minutes(left)} left`);
  }
  return finish(running, options.allowDifferent);
}
