/** The generator of a shop with planted tastes. */
import { type ShopChoices, shopData } from 'skein/data';
import { recommendationMetrics } from 'skein/train';
import { describe, expect, it } from 'vitest';

const shop = shopData({ users: 300, items: 120, tastes: 5, itemsPerUser: 20, seed: 3 });
const splits = [shop.train, shop.validation, shop.test];
const byUser = ({ user, item }: ShopChoices): number[][] =>
  Array.from({ length: shop.numUsers }, (_, u) => [...item].filter((_item, i) => user[i] === u));

describe('shopData', () => {
  it('gives users distinct items, in the requested number and split', () => {
    const choices = splits.map(byUser);
    const counts = Array.from({ length: shop.numUsers }, (_, u) => choices.flatMap((lists) => lists[u]));
    for (const items of counts) {
      expect(new Set(items).size).toBe(items.length);
      expect(items.length).toBeGreaterThanOrEqual(10);
      expect(items.length).toBeLessThanOrEqual(30);
      expect(items.every((item) => item >= 0 && item < shop.numItems)).toBe(true);
    }
    const sizes = splits.map(({ user }) => user.length);
    const total = sizes.reduce((sum, size) => sum + size, 0);
    expect(total / shop.numUsers).toBeCloseTo(20, -0.5);
    for (const [i, fraction] of [0.8, 0.1, 0.1].entries()) expect(sizes[i] / total).toBeCloseTo(fraction, 1);
  });

  it('returns probabilities by which the choices were drawn', () => {
    const { numUsers, numItems, probabilities } = shop;
    let [expectedOfChosen, mean] = [0, 0];
    for (let user = 0; user < numUsers; user++) {
      const row = probabilities.subarray(user * numItems, (user + 1) * numItems);
      expect(row.reduce((sum, p) => sum + p, 0)).toBeCloseTo(1, 12);
      mean += 1 / numItems / numUsers;
    }
    for (const [i, user] of shop.test.user.entries())
      expectedOfChosen += probabilities[user * numItems + shop.test.item[i]] / shop.test.user.length;
    // Items that were chosen are far more probable than others.
    expect(expectedOfChosen).toBeGreaterThan(2 * mean);
  });

  it('is recommended best by its own probabilities, far above popularity', () => {
    const [train, validation, test] = splits.map(byUser);
    const popular = new Float64Array(shop.numItems);
    for (const item of shop.train.item) popular[item]++;
    const recall = (scores: (user: number) => Float64Array): number => {
      const lists = Array.from({ length: shop.numUsers }, (_, user) => {
        const own = scores(user);
        const seen = new Set([...train[user], ...validation[user]]);
        return [...own.keys()].filter((item) => !seen.has(item)).sort((a, b) => own[b] - own[a]);
      });
      return recommendationMetrics(lists, test, { k: [10] })['recall@10'];
    };
    const { numItems, probabilities } = shop;
    const best = recall((user) => probabilities.subarray(user * numItems, (user + 1) * numItems));
    expect(best).toBeGreaterThan(1.5 * recall(() => popular));
  });

  it('repeats by seed', () => {
    const options = { users: 20, items: 30, itemsPerUser: 5 };
    expect(shopData({ ...options, seed: 4 })).toEqual(shopData({ ...options, seed: 4 }));
    expect(shopData({ ...options, seed: 4 })).not.toEqual(shopData({ ...options, seed: 5 }));
  });

  it('rejects wrong options', () => {
    expect(() => shopData({ users: 0 })).toThrow(/users/);
    expect(() => shopData({ items: 10, itemsPerUser: 6 })).toThrow(/itemsPerUser/);
    expect(() => shopData({ split: [0.5, 0.5, 0.5] })).toThrow(/sum to 1/);
    expect(() => shopData({ taste: 3 } as object)).toThrow(/taste/);
  });
});
