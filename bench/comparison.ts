/** What the rounds of two source trees come to: a ratio for each case, means over suites and over all, a verdict. */
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

/** A case without a ratio, and why. */
export interface Unmeasured {
  readonly suite: string;
  readonly name: string;
  readonly reason: string;
}

export interface UnmeasuredCases {
  /** Cases that the other tree cannot run. */
  readonly notComparable: readonly Unmeasured[];
  /** Cases with other results on the other tree. */
  readonly different: readonly Unmeasured[];
  /** Cases that this tree itself cannot run. */
  readonly failed: readonly Unmeasured[];
}

export interface Means {
  /** Time of the other tree over this one's: above 1 this tree is faster. */
  readonly time: Estimate;
  /** The same for this tree against itself. */
  readonly itself: Estimate;
  /** How far `itself` reaches from 1: a smaller difference means nothing. */
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
  /** Other results do not count against this tree. */
  readonly allowDifferent: boolean;
  readonly suites: ReadonlyMap<string, Means>;
  /** Null when nothing was compared. */
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
 * @param allowDifferent other results do not count against this tree: a mended defect explains them
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
