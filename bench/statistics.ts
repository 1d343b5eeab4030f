/** Figures over rounds, the comparison of two sides' results, and the statistics of the times of two source trees. */
import type { Check } from './suite.js';

export function median(values: readonly number[]): number {
  const ordered = [...values].sort((a, b) => a - b);
  const middle = Math.floor(ordered.length / 2);
  return ordered.length % 2 === 1 ? ordered[middle] : (ordered[middle - 1] + ordered[middle]) / 2;
}

/** Describes the difference between two sides' figures; returns null if all agree. Both report in the same order. */
export function disagreement(
  ours: readonly Check[],
  theirs: readonly Check[],
  tolerance: number,
  who = 'the peer',
): string | null {
  if (ours.length !== theirs.length) return `${ours.length} figures of ours, ${theirs.length} of ${who}`;
  for (const [i, { name, value, scale }] of ours.entries()) {
    const other = theirs[i];
    if (other.name !== name) return `figure ${i} is "${name}" of ours, "${other.name}" of ${who}`;
    // Written so that NaN on either side disagrees.
    if (!(Math.abs(value - other.value) <= tolerance * Math.max(scale, other.scale))) {
      return `${name}: ours ${value}, ${who}'s ${other.value}`;
    }
  }
  return null;
}

/** A ratio of times with the ends of its 95 % interval. */
export interface Estimate {
  readonly ratio: number;
  readonly low: number;
  readonly high: number;
}

const resamples = 2000;
const seed = 0x5eed;

/** Returns a generator of uniform numbers in [0, 1), always the same sequence (Mulberry32). */
export function uniform(state: number): () => number {
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Returns the quantile of ordered values, linearly interpolated. */
export function quantile(ordered: readonly number[], share: number): number {
  const place = share * (ordered.length - 1);
  const below = Math.floor(place);
  const above = Math.min(below + 1, ordered.length - 1);
  return ordered[below] + (place - below) * (ordered[above] - ordered[below]);
}

/**
 * Returns the geometric mean over cases of each case's median ratio, with its bootstrap interval. `cases` holds one
 * list of log ratios per case, one ratio per round. Medians, so that a disturbed round does not decide. Whole rounds
 * are drawn, the same ones for all cases: a disturbance slows all cases of a round.
 */
export function estimate(cases: readonly (readonly number[])[]): Estimate {
  const rounds = cases[0]?.length ?? 0;
  if (rounds === 0 || cases.some((logs) => logs.length !== rounds))
    throw new Error('bench: expected the same number of rounds of every case, and at least one');
  const mean = (drawn: readonly number[]): number =>
    cases.reduce((sum, logs) => sum + median(drawn.map((round) => logs[round])), 0) / cases.length;
  const all = Array.from({ length: rounds }, (_, round) => round);
  const next = uniform(seed);
  const means = Array.from({ length: resamples }, () => mean(all.map(() => Math.floor(next() * rounds))));
  means.sort((a, b) => a - b);
  return {
    ratio: Math.exp(mean(all)),
    low: Math.exp(quantile(means, 0.025)),
    high: Math.exp(quantile(means, 0.975)),
  };
}

/** Times of one round: this tree twice, the other one once. */
export interface Round {
  readonly first: number;
  readonly again: number;
  readonly other: number;
}

/**
 * Returns the log ratio of the other tree's time to this tree's in one round, process against process. Noise only
 * increases times, and the mean of two noisy times has another median than one of them, so that a tree compared in that
 * way with its twin would look slower. Both processes of this tree alternate, two rounds each: an order and its reverse
 * (`orders` in against.ts).
 *
 * @param index the number of the round
 */
export function logRatio({ first, again, other }: Round, index: number): number {
  return Math.log(other) - Math.log(Math.floor(index / 2) % 2 === 0 ? first : again);
}

/** Returns the log ratio of this tree against itself. */
export function logRatioOfItself({ first, again }: Round): number {
  return Math.log(again) - Math.log(first);
}

/** Returns the largest deviation of an interval from 1: for a tree against itself, that is noise. */
export function spreadOf({ low, high }: Estimate): number {
  return Math.max(high, 1 / low) - 1;
}

/** The smallest geometric mean that is still "no slower". */
const leastMean = 0.99;
/** A case is slower if its whole interval is above this factor. */
const mostLonger = 1.05;

export interface Verdict {
  /** `not proven`: nothing is slower, but cases fail, have different results, or are missing. */
  readonly word: 'no slower' | 'slower' | 'not proven';
  /** Reasons against "no slower". */
  readonly reasons: readonly string[];
  /** Names of the cases that are slower individually. */
  readonly slower: readonly string[];
}

/** Cases without a valid comparison, by name. */
export interface Unproven {
  /** Cases that cannot be run on this tree. */
  readonly failed: readonly string[];
  /** Cases whose results differ from the other tree's, so that their times are not comparable. */
  readonly different: readonly string[];
}

/**
 * Decides whether this tree is no slower, by the mean over all cases and by each case alone. A case that fails or
 * computes different results, and a comparison without cases, prove nothing.
 *
 * @param mean null if no case was compared
 */
export function decideVerdict(
  mean: Estimate | null,
  cases: readonly { readonly name: string; readonly time: Estimate }[],
  { failed, different }: Unproven,
): Verdict {
  const slower = cases.filter(({ time }) => time.high < 1 / mostLonger).map(({ name }) => name);
  const reasons: string[] = [];
  if (mean !== null && !(mean.ratio >= leastMean))
    reasons.push(`the geometric mean is ${mean.ratio.toFixed(3)}, below ${leastMean}`);
  if (slower.length > 0)
    reasons.push(`more than ${((mostLonger - 1) * 100).toFixed(0)} % slower: ${slower.join(', ')}`);
  const isSlower = reasons.length > 0;
  if (mean === null) reasons.push('no case was compared');
  if (failed.length > 0) reasons.push(`cannot be run on this tree: ${failed.join(', ')}`);
  if (different.length > 0) reasons.push(`results differ from the other tree's: ${different.join(', ')}`);
  return { word: isSlower ? 'slower' : reasons.length > 0 ? 'not proven' : 'no slower', reasons, slower };
}
