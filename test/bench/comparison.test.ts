/** The decision whether a tree is slower than another: intervals, noise, the verdict, and its report. */
import { describe, expect, it } from 'vitest';
import { distinctCases, orders } from '../../bench/against.js';
import { comparisonJson, comparisonLines } from '../../bench/against-report.js';
import { type CaseRounds, conclude } from '../../bench/comparison.js';
import {
  decideVerdict,
  type Estimate,
  estimate,
  logRatio,
  logRatioOfItself,
  median,
  quantile,
  type Round,
  spreadOf,
  uniform,
} from '../../bench/statistics.js';
import type { Case } from '../../bench/suite.js';

const logs = (...ratios: number[]): number[] => ratios.map(Math.log);

describe('estimate', () => {
  it('finds no doubt where all rounds agree', () => {
    const { ratio, low, high } = estimate([logs(1.25, 1.25, 1.25)]);
    for (const value of [ratio, low, high]) expect(value).toBeCloseTo(1.25, 12);
  });

  it('takes the median of a case, so that one disturbed round does not decide', () => {
    const { ratio, high } = estimate([logs(1, 1.01, 0.99, 1, 1, 1.01, 0.99, 1, 1, 30)]);
    expect(ratio).toBeCloseTo(1, 12);
    expect(high).toBeLessThan(1.02);
  });

  it('has the ends of the interval that two rounds allow', () => {
    // Of the medians of two draws from two rounds, a quarter is each round and half their mean.
    const { ratio, low, high } = estimate([logs(0.8, 1.25)]);
    expect(ratio).toBeCloseTo(1, 12);
    expect(low).toBeCloseTo(0.8, 12);
    expect(high).toBeCloseTo(1.25, 12);
  });

  it('has the interval of the median that order statistics give', () => {
    // Ratios 1 … 99 by rank: the 95 % interval of the median runs from about the 40th to the 60th value.
    const ranks = Array.from({ length: 99 }, (_, i) => i + 1);
    const { ratio, low, high } = estimate([logs(...ranks)]);
    expect(ratio).toBeCloseTo(50, 9);
    expect(Math.abs(low - 40)).toBeLessThanOrEqual(2);
    expect(Math.abs(high - 60)).toBeLessThanOrEqual(2);
  });

  it('is the geometric mean over cases, and draws whole rounds', () => {
    expect(estimate([logs(2, 2), logs(0.5, 0.5)]).ratio).toBeCloseTo(1, 12);
    // What one case gains in a round, the other one loses: no draw of rounds moves their mean.
    const { low, high } = estimate([logs(0.9, 1, 1.1), logs(1 / 0.9, 1, 1 / 1.1)]);
    expect(low).toBeCloseTo(1, 12);
    expect(high).toBeCloseTo(1, 12);
  });

  it('is the same every time, and rejects cases of unequal rounds', () => {
    const cases = [logs(0.9, 1.2, 1.1, 1.3, 0.95)];
    expect(estimate(cases)).toEqual(estimate(cases));
    expect(() => estimate([logs(1, 1), logs(1)])).toThrow(/same number of rounds of every case/);
    expect(() => estimate([])).toThrow(/at least one/);
  });

  it('reads quantiles between two values on the line that joins them', () => {
    expect(quantile([1, 2, 4], 0.5)).toBe(2);
    expect(quantile([1, 2, 4], 0.75)).toBe(3);
    expect(quantile([7], 0.975)).toBe(7);
  });
});

describe('a round', () => {
  it('compares the other tree with one process of this one, both in turn', () => {
    const ratios = [0, 1, 2, 3, 4].map((index) =>
      Math.exp(logRatio({ first: 1, again: 2, other: 6 }, index)),
    );
    for (const [i, ratio] of [6, 6, 3, 3, 6].entries()) expect(ratios[i]).toBeCloseTo(ratio, 12);
    expect(Math.exp(logRatioOfItself({ first: 2, again: 3, other: 9 }))).toBeCloseTo(1.5, 12);
  });

  it('gives a spread of this tree against itself, whichever side is longer', () => {
    expect(spreadOf({ ratio: 1, low: 0.99, high: 1.03 })).toBeCloseTo(0.03, 12);
    expect(spreadOf({ ratio: 1, low: 0.8, high: 1.03 })).toBeCloseTo(0.25, 12);
  });

  it('gives each process each place equally often, each order followed by its reverse', () => {
    for (const place of ['first', 'again', 'other'] as const)
      for (const at of [0, 1, 2]) expect(orders.filter((order) => order[at] === place)).toHaveLength(2);
    for (let i = 0; i < orders.length; i += 2) expect(orders[i + 1]).toEqual([...orders[i]].reverse());
  });
});

describe('identical trees with noise that only ever adds time', () => {
  /** 60 cases of 10 rounds, each time 1 with a tenth of exponential noise. */
  function* simulations(count: number): Generator<readonly (readonly Round[])[]> {
    const next = uniform(7);
    const time = (): number => 1 - 0.1 * Math.log(1 - next());
    const many = <T>(length: number, make: () => T): T[] => Array.from({ length }, make);
    const round = (): Round => ({ first: time(), again: time(), other: time() });
    for (let i = 0; i < count; i++) yield many(60, () => many(10, round));
  }

  it('are no slower in nearly all of 200 comparisons, and on average equal', () => {
    let [passed, sum] = [0, 0];
    for (const cases of simulations(200)) {
      const logs = cases.map((rounds) => rounds.map(logRatio));
      const medians = logs.map(median);
      const mean = medians.reduce((total, value) => total + value, 0) / medians.length;
      sum += mean;
      // An interval costs time, and that of a case whose median is not slower does not speak against it.
      const slow = logs.filter((_, i) => medians[i] < -Math.log(1.05));
      const times = slow.map((one, i) => ({ name: `${i}`, time: estimate([one]) }));
      const ratio = Math.exp(mean);
      const verdict = decideVerdict({ ratio, low: ratio, high: ratio }, times, { failed: [], different: [] });
      if (verdict.word === 'no slower') passed++;
    }
    // About 1 % fail by the mean and 3 % by one of the 60 cases; 39 % did against the mean of both processes.
    expect(passed).toBeGreaterThanOrEqual(188);
    // The mean of 200 × 60 medians has a standard error of 0.0003; against the mean of both processes it is −0.0086.
    expect(Math.abs(sum / 200)).toBeLessThan(0.001);
  });
});

describe('decideVerdict', () => {
  const around = (ratio: number, high = ratio * 1.01): Estimate => ({ ratio, low: ratio / 1.01, high });
  const named = (name: string, time: Estimate) => ({ name, time });
  const none = { failed: [], different: [] };

  it('allows one per cent of the mean', () => {
    expect(decideVerdict(around(0.99), [], none)).toEqual({ word: 'no slower', reasons: [], slower: [] });
    const verdict = decideVerdict(around(0.9899), [], none);
    expect(verdict.word).toBe('slower');
    expect(verdict.reasons.join()).toMatch(/geometric mean is 0.990, below 0.99/);
  });

  it('names a case only when its whole interval is more than five per cent slower', () => {
    const doubtful = named('doubtful', around(0.9, 1 / 1.05));
    const slow = named('slow', around(0.9, 0.952));
    expect(decideVerdict(around(1), [doubtful], none).word).toBe('no slower');
    const verdict = decideVerdict(around(1.2), [doubtful, slow], none);
    expect(verdict).toMatchObject({ word: 'slower', slower: ['slow'] });
    expect(verdict.reasons.join()).toMatch(/more than 5 % slower: slow/);
  });

  it('proves nothing by cases that fail or compute something else, or by no case at all', () => {
    const proof = (mean: Estimate | null, failed: string[], different: string[]) => {
      const { word, reasons } = decideVerdict(mean, [], { failed, different });
      return [word, ...reasons];
    };
    expect(proof(around(1.2), ['a'], [])).toEqual(['not proven', 'cannot be run on this tree: a']);
    expect(proof(around(1.2), [], ['a', 'b'])).toEqual([
      'not proven',
      "results differ from the other tree's: a, b",
    ]);
    expect(proof(null, [], [])).toEqual(['not proven', 'no case was compared']);
    expect(proof(around(0.5), ['a'], [])[0]).toBe('slower');
    expect(proof(around(Number.NaN), [], [])[0]).toBe('slower');
  });
});

describe('distinctCases', () => {
  const entry = (name: string, sameAs?: string): Case => ({
    name,
    peer: null,
    limit: 'copy',
    ours: () => ({ run: () => undefined, check: () => [] }),
    ...(sameAs === undefined ? {} : { sameAs }),
  });

  it('measures the same work once, under the name that was asked for', () => {
    const [step, byHand] = [entry('step'), entry('step_by_hand', 'step')];
    expect(distinctCases([step, byHand])).toEqual([step]);
    expect(distinctCases([byHand])).toEqual([byHand]);
  });
});

describe('the report', () => {
  const measured = (suite: string, name: string, other: number): CaseRounds => ({
    suite,
    name,
    threads: 2,
    rounds: [10, 11, 12].map((ms) => ({ first: ms, again: ms, other: ms * other })),
    way: 'avx2',
    otherWay: 'avx2',
  });
  const nothing = { notComparable: [], different: [], failed: [] };
  const comparison = conclude([measured('kernels', 'gemm', 2), measured('gnn', 'epoch', 0.5)], {
    ...nothing,
    notComparable: [{ suite: 'gnn', name: 'new', reason: 'other tree: Error: skein/gnn has no New there' }],
  });

  it('is a table with means, what could not be compared, and a verdict', () => {
    const text = comparisonLines(comparison).join('\n');
    expect(text).toMatch(/gemm +11\.000 +22\.000 +2\.000 +2\.000 – 2\.000 +± 0\.0 %/);
    expect(text).toMatch(/geometric mean of kernels +2\.000/);
    expect(text).toMatch(/geometric mean of gnn +0\.500/);
    expect(text).toMatch(/geometric mean of all +1\.000/);
    expect(text).toMatch(/not comparable: gnn new: other tree: Error: skein\/gnn has no New there/);
    expect(text).toMatch(/verdict: slower: more than 5 % slower: epoch$/);
  });

  it('warns of a verdict that rests on noise', () => {
    const noisy = (again: number): string => {
      const rounds = [10, 11].map((ms) => ({ first: ms, again: ms * again, other: ms }));
      return comparisonLines(conclude([{ ...measured('kg', 'step', 1), rounds }], nothing)).join('\n');
    };
    expect(noisy(1.01)).not.toMatch(/warning/);
    expect(noisy(1.03)).toMatch(/warning: this tree differs from itself by up to 3 %/);
  });

  it('names cases with other results in the verdict, unless they are allowed', () => {
    const different = [{ suite: 'gnn', name: 'fixed', reason: "loss: ours 1, the other tree's 2" }];
    const concludeWith = (allowed: boolean) =>
      conclude([measured('kernels', 'gemm', 2)], { ...nothing, different }, allowed);
    const text = (allowed: boolean): string => comparisonLines(concludeWith(allowed)).join('\n');
    expect(text(false)).toMatch(/results differ: gnn fixed: loss: ours 1, the other tree's 2/);
    expect(text(false)).toMatch(/verdict: not proven: results differ from the other tree's: fixed$/);
    expect(text(true)).toMatch(/as allowed, and no times were compared: fixed\nverdict: no slower$/);
    const last = comparisonJson(concludeWith(false), {})
      .map((line) => JSON.parse(line))
      .at(-1);
    expect(last).toMatchObject({ verdict: 'not proven', different: ['fixed'], not_comparable: [] });
  });

  it('is one JSON object per case and one for all', () => {
    const lines = comparisonJson(comparison, { node: 'v1' }).map((line) => JSON.parse(line));
    expect(lines).toHaveLength(4);
    expect(lines[0]).toMatchObject({
      suite: 'kernels',
      bench: 'gemm',
      ratio: 2,
      low: 2,
      aa_spread: 0,
      rounds: 3,
    });
    expect(lines[2]).toMatchObject({
      bench: 'new',
      ratio: null,
      not_comparable: expect.stringMatching(/no New/),
    });
    expect(lines[3]).toMatchObject({
      verdict: 'slower',
      ratio: 1,
      suites: { kernels: { ratio: 2 }, gnn: { ratio: 0.5 } },
      cases: 2,
      slower: ['epoch'],
      not_comparable: ['new'],
      failed: [],
      node: 'v1',
    });
  });
});
