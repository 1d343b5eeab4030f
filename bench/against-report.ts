/** The comparison of two source trees as a table and as JSON lines. */
import type { CaseComparison, Comparison, Means, Unmeasured } from './comparison.js';
import type { Estimate } from './statistics.js';
import type { Tree } from './trees.js';

export function treeLines(own: Tree, other: Tree): string[] {
  const line = (name: string, { folder, commit }: Tree): string =>
    `${name}: ${folder}${commit === null ? '' : ` (${commit})`}`;
  return [line('this tree', own), line('other tree', other)];
}

const comparisonHead =
  `${'case'.padEnd(36)}${'this ms'.padStart(11)}${'other ms'.padStart(11)}` +
  `${'ratio'.padStart(8)}${'95 % interval'.padStart(18)}${'A/A spread'.padStart(13)}`;

const interval = ({ low, high }: Estimate): string => `${low.toFixed(3)} – ${high.toFixed(3)}`;

function ratioColumns({ time, spread }: Means): string {
  return (
    time.ratio.toFixed(3).padStart(8) +
    interval(time).padStart(18) +
    `± ${(spread * 100).toFixed(1)} %`.padStart(13)
  );
}

function caseLine(one: CaseComparison): string {
  const ways = one.way === one.otherWay ? '' : `  ${one.way}, other tree ${one.otherWay}`;
  return (
    one.name.padEnd(36) +
    one.thisMs.toFixed(3).padStart(11) +
    one.otherMs.toFixed(3).padStart(11) +
    ratioColumns(one) +
    ways
  );
}

const meanLine = (name: string, means: Means): string => name.padEnd(36 + 22) + ratioColumns(means);

function unmeasuredLines(what: string, cases: readonly Unmeasured[]): string[] {
  return cases.map(({ suite, name, reason }) => `${what}: ${suite} ${name}: ${reason}`);
}

/** Spread of the mean over all cases above which a verdict within one per cent is meaningless. */
const mostNoise = 0.02;

/** Returns the table, suite by suite, and its summary. */
export function comparisonLines(comparison: Comparison): string[] {
  const { cases, suites, overall, unmeasured, verdict } = comparison;
  const { notComparable, different, failed } = unmeasured;
  const lines = [comparisonHead];
  for (const [suite, means] of suites) {
    lines.push(...cases.filter((one) => one.suite === suite).map(caseLine));
    lines.push(meanLine(`geometric mean of ${suite}`, means));
  }
  if (overall !== null && suites.size > 1) lines.push(meanLine('geometric mean of all', overall));
  lines.push(
    ...unmeasuredLines('not comparable', notComparable),
    ...unmeasuredLines('results differ', different),
    ...unmeasuredLines('failed', failed),
  );
  if (overall !== null) {
    lines.push(
      'ratio: time of the other tree over time of this one; above 1 this tree is faster',
      'A/A spread: largest deviation from 1 of the interval of this tree against itself; smaller differences are noise',
    );
  }
  if (overall !== null && overall.spread > mostNoise) {
    const share = (overall.spread * 100).toFixed(0);
    lines.push(
      `warning: this tree differs from itself by up to ${share} %, so the verdict is unreliable. Repeat it on an idle machine or with more rounds.`,
    );
  }
  if (different.length > 0 && comparison.allowDifferent) {
    const names = different.map(({ name }) => name).join(', ');
    lines.push(`results differ, as allowed, and no times were compared: ${names}`);
  }
  lines.push(
    [`verdict: ${verdict.word}`, verdict.reasons.join('; ')].filter((text) => text !== '').join(': '),
  );
  return lines;
}

const round = (value: number, digits = 4): number => Number(value.toPrecision(digits));

function numbers({ time, itself, spread }: Means): Record<string, number> {
  return {
    ratio: round(time.ratio),
    low: round(time.low),
    high: round(time.high),
    aa_ratio: round(itself.ratio),
    aa_low: round(itself.low),
    aa_high: round(itself.high),
    aa_spread: round(spread),
  };
}

function caseObject(one: CaseComparison): Record<string, unknown> {
  const { suite, name, threads, way, otherWay, rounds } = one;
  return {
    suite,
    bench: name,
    this_ms: round(one.thisMs),
    other_ms: round(one.otherMs),
    ...numbers(one),
    rounds: rounds.length,
    threads,
    this_way: way,
    other_way: otherWay,
  };
}

const withoutRatio = ({ suite, name, reason }: Unmeasured, key: string): Record<string, unknown> => ({
  suite,
  bench: name,
  ratio: null,
  [key]: reason,
});

/** Returns one line per case, and a last one with the verdict. */
export function comparisonJson(comparison: Comparison, facts: Record<string, unknown>): string[] {
  const { cases, suites, overall, unmeasured, verdict } = comparison;
  const { notComparable, different, failed } = unmeasured;
  const last = {
    verdict: verdict.word,
    reasons: verdict.reasons,
    ...(overall === null ? { ratio: null } : numbers(overall)),
    suites: Object.fromEntries([...suites].map(([name, means]) => [name, numbers(means)])),
    cases: cases.length,
    slower: verdict.slower,
    not_comparable: notComparable.map(({ name }) => name),
    different: different.map(({ name }) => name),
    failed: failed.map(({ name }) => name),
    ...facts,
  };
  return [
    ...cases.map(caseObject),
    ...notComparable.map((one) => withoutRatio(one, 'not_comparable')),
    ...different.map((one) => withoutRatio(one, 'different')),
    ...failed.map((one) => withoutRatio(one, 'failed')),
    last,
  ].map((line) => JSON.stringify(line));
}
