/**
 * Metrics of link prediction. Golden values are exact fractions from the definitions: precision and recall at every
 * distinct threshold, and all pairs of a positive and a negative counted one by one.
 */
import fc from 'fast-check';
import { averagePrecision, LinkMetrics, rocAuc, separation } from 'skein/temporal';
import { describe, expect, test } from 'vitest';
import { reciprocalRanks } from '#internal/temporal/metrics/ranking.js';

const golden: [scores: number[], labels: number[], ap: number, auc: number][] = [
  [[0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1], 5 / 6, 3 / 4],
  [[0.5, 0.5, 0.5, 0.5], [1, 0, 1, 0], 1 / 2, 1 / 2],
  [[0.9, 0.9, 0.7, 0.7, 0.7, 0.2, 0.2, 0], [1, 0, 1, 1, 0, 0, 1, 0], 159 / 280, 5 / 8],
  [[3, 2, 1], [0, 0, 1], 1 / 3, 0],
  [[1, 2, 2, 3], [0, 1, 1, 1], 1, 1],
  [[1, 1, 0, 0, 0], [1, 0, 0, 0, 0], 1 / 2, 7 / 8],
  [[Infinity, 1, -Infinity], [1, 0, 0], 1, 1],
];

/** The definitions, one threshold and one pair at a time. */
function slowly(scores: readonly number[], labels: readonly number[]): { ap: number; auc: number } {
  const positives = scores.filter((_, i) => labels[i] === 1);
  const negatives = scores.filter((_, i) => labels[i] === 0);
  let [ap, recall, wins] = [0, 0, 0];
  for (const threshold of [...new Set(scores)].sort((a, b) => b - a)) {
    const hits = positives.filter((s) => s >= threshold).length;
    ap += (hits / positives.length - recall) * (hits / scores.filter((s) => s >= threshold).length);
    recall = hits / positives.length;
  }
  for (const p of positives) for (const n of negatives) wins += p > n ? 1 : p === n ? 0.5 : 0;
  return { ap, auc: wins / (positives.length * negatives.length) };
}

describe('average precision and area', () => {
  test.each(golden)('check 11: %j with labels %j', (scores, labels, ap, auc) => {
    expect(averagePrecision(scores, labels)).toBeCloseTo(ap, 14);
    expect(rocAuc(scores, labels)).toBeCloseTo(auc, 14);
    // Tie groups: the order of the input plays no part.
    expect(averagePrecision(scores.toReversed(), labels.toReversed())).toBe(averagePrecision(scores, labels));
  });

  test('as the definitions say, for any scores with ties', () => {
    const item = fc.tuple(fc.integer({ min: 0, max: 5 }), fc.integer({ min: 0, max: 1 }));
    const property = fc.property(fc.array(item, { minLength: 2, maxLength: 40 }), (items) => {
      const labels = items.map(([, label]) => label);
      fc.pre(labels.includes(0) && labels.includes(1));
      const scores = items.map(([score]) => score / 5);
      const want = slowly(scores, labels);
      expect(averagePrecision(Float32Array.from(scores), labels)).toBeCloseTo(want.ap, 12);
      expect(rocAuc(scores, labels)).toBeCloseTo(want.auc, 12);
    });
    fc.assert(property, { numRuns: 300, seed: 5 });
  });

  test('undefined without positives or negatives, and wrong input is named', () => {
    expect(averagePrecision([1, 2], [0, 0])).toBeNaN();
    expect(rocAuc([1, 2], [1, 1])).toBeNaN();
    expect(() => averagePrecision([1, 2], [1])).toThrow('expected 2 numbers for labels, got "1"');
    expect(() => averagePrecision([1, 2], [1, 3])).toThrow('expected 0 or 1 for labels[1], got 3');
    expect(() => rocAuc([1, Number.NaN], [1, 0])).toThrow('got "NaN at position 1"');
    expect(() => separation(Float32Array.of(Number.NaN, 2), Float32Array.of(0, 1))).toThrow(
      'separation: expected scores without NaN for positive, got NaN.',
    );
    expect(() => separation([1], [Number.NaN])).toThrow('for negative, got NaN');
  });
});

describe('ranks', () => {
  test('check 11: the rank of ties is the mean of the best and the worst', () => {
    // 1 / (½ (above + not below) + 1): above 1, not below 3 gives rank 3; then 1, 2.5, and 4 with nothing tied.
    const negatives = [0.9, 0.5, 0.5, 0.1, 0, 0, 0, 0, 0.5, 0.5, 0.5, 0, 1, 2, 3, 0];
    const ranks = reciprocalRanks([0.5, 0.5, 0.5, 0.5], negatives);
    expect(Array.from(ranks)).toEqual([1 / 3, 1, 1 / 2.5, 1 / 4]);
    expect(() => reciprocalRanks([1, 2], [1, 2, 3])).toThrow('got "3 for 2 positives"');
  });
});

describe('LinkMetrics', () => {
  test('check 11: the mean over batches is not the pooled value', () => {
    const metrics = new LinkMetrics();
    metrics.add(Float32Array.of(0.9), Float32Array.of(0.8));
    metrics.add(Float32Array.of(0.2), Float32Array.of(0.1));
    const values = metrics.result();
    expect(values).toMatchObject({ events: 2, ap_batch: 1, auc_batch: 1, mrr: 1, 'hits@1': 1, auc: 0.75 });
    expect(values['ap']).toBeCloseTo(5 / 6, 14);
  });

  test('events with new nodes are also counted alone', () => {
    const metrics = new LinkMetrics({ hits: [1, 2] });
    metrics.add([0.9, 0.1, 0.6], [0.5, 0.2, 0.5, 0.2, 0.9, 0.1], [0, 1, 1]);
    metrics.add([1], [0, 0], [false]);
    const values = metrics.result();
    expect(values['events']).toBe(4);
    expect(values['mrr']).toBeCloseTo((1 + 1 / 3 + 1 / 2 + 1) / 4, 14);
    expect(values).toMatchObject({ new_node_events: 2, 'new_node_hits@1': 0, 'new_node_hits@2': 0.5 });
    expect(values['new_node_auc']).toBe(7 / 16);
    expect(values['new_node_ap']).toBe(values['new_node_ap_batch']);
  });

  test('without events, and without pooling', () => {
    expect(new LinkMetrics().result()).toEqual({ events: 0 });
    const metrics = new LinkMetrics({ pooled: false });
    metrics.add([], []);
    metrics.add([1], [0]);
    expect(Object.keys(metrics.result())).not.toContain('ap');
    expect(() => metrics.add([1], [0], [])).toThrow('expected 1 flags for isNew');
    expect(() => metrics.add([Number.NaN], [0])).toThrow('NaN at position 0');
  });
});
