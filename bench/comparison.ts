/** Summarises the rounds of two source trees: a ratio per case, means over suites and over all, a verdict. */
import {
  decideVerdict,
  type Estimate,
  estimate,
  logRatio,
  logRatioOfItself,
  median,
  type Round,
  spreadOf,
  type Verdict,
} from './statistics.js';

/** The rounds of one case on both trees. */
export interface CaseRounds {
  readonly suite: string;
  readonly name: string;
  readonly threads: number;
  readonly rounds: readonly Round[];
  /** The kernels' instruction set on each tree. */
  readonly way: string;
  readonly otherWay: string;
}

/** A case without a ratio, and the reason. */
export interface Unmeasured {
  readonly suite: string;
  readonly name: string;
  readonly reason: string;
}

export interface UnmeasuredCases {
  /** Cases that the other tree cannot run. */
  readonly notComparable: readonly Unmeasured[];
  /** Cases whose results differ on the other tree. */
  readonly different: readonly Unmeasured[];
  /** Cases that cannot run on this tree. */
  readonly failed: readonly Unmeasured[];
}

export interface Means {
  /** Time of the other tree over this one's: above 1 this tree is faster. */
  readonly time: Estimate;
  /** Time of this tree over its own repetition. */
  readonly itself: Estimate;
  /** Largest deviation of `itself` from 1: smaller differences are noise. */
  readonly spread: number;
}

export interface CaseComparison extends CaseRounds, Means {
  /** Medians over the rounds. */
  readonly thisMs: number;
  readonly otherMs: number;
}

export interface Comparison {
  readonly cases: readonly CaseComparison[];
  readonly unmeasured: UnmeasuredCases;
  /** Differing results are not held against this tree. */
  readonly allowDifferent: boolean;
  readonly suites: ReadonlyMap<string, Means>;
  /** Null if no case was compared. */
  readonly overall: Means | null;
  readonly verdict: Verdict;
}

function meansOf(cases: readonly CaseRounds[]): Means {
  const itself = estimate(cases.map(({ rounds }) => rounds.map(logRatioOfItself)));
  return {
    time: estimate(cases.map(({ rounds }) => rounds.map(logRatio))),
    itself,
    spread: spreadOf(itself),
  };
}

function compareCase(one: CaseRounds): CaseComparison {
  return {
    ...one,
    ...meansOf([one]),
    thisMs: median(one.rounds.flatMap(({ first, again }) => [first, again])),
    otherMs: median(one.rounds.map(({ other }) => other)),
  };
}

/**
 * @param measured cases with the same number of rounds each
 * @param allowDifferent differing results are not held against this tree, for example after a bug fix
 */
export function conclude(
  measured: readonly CaseRounds[],
  unmeasured: UnmeasuredCases,
  allowDifferent = false,
): Comparison {
  const cases = measured.map(compareCase);
  const names = [...new Set(measured.map(({ suite }) => suite))];
  const overall = measured.length === 0 ? null : meansOf(measured);
  return {
    cases,
    unmeasured,
    allowDifferent,
    suites: new Map(names.map((name) => [name, meansOf(measured.filter(({ suite }) => suite === name))])),
    overall,
    verdict: decideVerdict(overall?.time ?? null, cases, {
      failed: unmeasured.failed.map(({ name }) => name),
      different: allowDifferent ? [] : unmeasured.different.map(({ name }) => name),
    }),
  };
}
