/**
 * A shop with planted tastes: users who choose items by a few tastes and by popularity. The probabilities behind the choices
 * are returned too, so that a recommender can be compared with the best that any could reach.
 *
 * A user has a mixture of tastes θ, a taste t a distribution φₜ over items. The next choice of a user is item i with
 * probability (1 − ε) Σₜ θₜ φₜ(i) + ε q(i), where q is proportional to popularity. The items of a user are drawn from it
 * without replacement and distributed over the splits at random.
 */
import { checkInteger, checkNumber, expected, ValueError } from '../util/errors.js';
import { checkOptionNames } from '../util/option-names.js';
import { Random } from '../util/philox.js';

export interface ShopOptions {
  /** Default 1000. */
  readonly users?: number;
  /** Default 500. */
  readonly items?: number;
  /** Kinds of items that a user may like (default 10). */
  readonly tastes?: number;
  /** Mean number of items per user (default 25); users have from half to three halves of it. */
  readonly itemsPerUser?: number;
  /** Popularity of the item of rank r is r to the power of minus this (default 0.8); 0: all are equally popular. */
  readonly popularity?: number;
  /** The fraction ε of choices by popularity alone (default 0.1). */
  readonly noise?: number;
  /** Fractions of the choices for training, validation and test (default 0.8, 0.1, 0.1). */
  readonly split?: readonly [train: number, validation: number, test: number];
  readonly seed?: number;
}

/** Choices of users: user[i] chose item[i]. */
export interface ShopChoices {
  readonly user: Int32Array;
  readonly item: Int32Array;
}

export interface ShopData {
  readonly numUsers: number;
  readonly numItems: number;
  readonly train: ShopChoices;
  readonly validation: ShopChoices;
  readonly test: ShopChoices;
  /**
   * Probability of each user's next choice among all items, [users, items]. Of the items that a user has not chosen yet, those
   * with the highest probability are the best that can be recommended.
   */
  readonly probabilities: Float64Array;
}

const where = 'shopData';

/**
 * Draws the choices of a shop.
 *
 * @example
 * const shop = shopData({ users: 2000, items: 1000, seed: 7 });
 */
export function shopData(options: ShopOptions = {}): ShopData {
  checkOptionNames(where, options, {
    ...{ users: true, items: true, tastes: true, itemsPerUser: true, popularity: true },
    ...{ noise: true, split: true, seed: true },
  });
  const numUsers = checkInteger(where, 'users', options.users ?? 1000, 1, 2 ** 24);
  const numItems = checkInteger(where, 'items', options.items ?? 500, 2, 2 ** 24);
  const perUser = checkInteger(
    where,
    'itemsPerUser',
    options.itemsPerUser ?? 25,
    1,
    Math.floor(numItems / 2),
  );
  const noise = checkNumber(where, 'noise', options.noise ?? 0.1, 0, 1);
  const split = checkFractions(options.split ?? [0.8, 0.1, 0.1]);
  const random = new Random(options.seed ?? 0);
  const tastes = checkInteger(where, 'tastes', options.tastes ?? 10, 1, numItems);
  const popular = popularity(
    numItems,
    checkNumber(where, 'popularity', options.popularity ?? 0.8, 0, 5),
    random,
  );
  const byTaste = tasteItems(tastes, popular, random.split(1));
  const probabilities = new Float64Array(numUsers * numItems);
  const chosen = [0, 1, 2].map(() => ({ user: [] as number[], item: [] as number[] }));
  for (let user = 0; user < numUsers; user++) {
    const own = random.split(2).split(user);
    const row = probabilities.subarray(user * numItems, (user + 1) * numItems);
    fillRow(row, mixture(tastes, own), { byTaste, popular, noise });
    const count = Math.max(1, Math.round(perUser * (0.5 + own.nextFloat())));
    for (const item of drawWithoutReplacement(row, count, own)) {
      const at = own.nextFloat();
      const list = chosen[at < split[0] ? 0 : at < split[0] + split[1] ? 1 : 2];
      list.user.push(user);
      list.item.push(item);
    }
  }
  const [train, validation, test] = chosen.map(({ user, item }) => ({
    user: Int32Array.from(user),
    item: Int32Array.from(item),
  }));
  return { numUsers, numItems, train, validation, test, probabilities };
}

function checkFractions(split: readonly number[]): readonly number[] {
  const sum = split.reduce((total, one) => total + one, 0);
  if (split.length !== 3 || split.some((one) => !(one >= 0)) || Math.abs(sum - 1) > 1e-9)
    throw new ValueError(expected(where, 'three fractions that sum to 1', 'split', split));
  return split;
}

/** Returns the popularity of each item, of sum 1; ranks are assigned at random. */
function popularity(numItems: number, exponent: number, random: Random): Float64Array {
  const order = Array.from({ length: numItems }, (_, item) => ({ item, key: random.nextFloat() }));
  order.sort((a, b) => a.key - b.key);
  const popular = new Float64Array(numItems);
  for (const [rank, { item }] of order.entries()) popular[item] = (rank + 1) ** -exponent;
  return normalized(popular);
}

/** Returns the distribution φ of each taste: an item belongs to one taste mainly, and a little to a second one. */
function tasteItems(tastes: number, popular: Float64Array, random: Random): Float64Array[] {
  const byTaste = Array.from({ length: tastes }, () => new Float64Array(popular.length));
  for (let item = 0; item < popular.length; item++) {
    byTaste[random.nextInt(tastes)][item] += 0.8 * popular[item];
    byTaste[random.nextInt(tastes)][item] += 0.2 * popular[item];
  }
  return byTaste.map(normalized);
}

/** Returns the tastes of a user: one to three of them, with random weights. */
function mixture(tastes: number, random: Random): Float64Array {
  const weights = new Float64Array(tastes);
  const count = 1 + random.nextInt(3);
  for (let i = 0; i < count; i++) weights[random.nextInt(tastes)] += 0.2 + random.nextFloat();
  return normalized(weights);
}

function fillRow(
  row: Float64Array,
  weights: Float64Array,
  shop: { readonly byTaste: readonly Float64Array[]; readonly popular: Float64Array; readonly noise: number },
): void {
  const { byTaste, popular, noise } = shop;
  for (let item = 0; item < row.length; item++) row[item] = noise * popular[item];
  for (const [taste, weight] of weights.entries()) {
    if (weight === 0) continue;
    const items = byTaste[taste];
    for (let item = 0; item < row.length; item++) row[item] += (1 - noise) * weight * items[item];
  }
  // A taste without items leaves its fraction to the others.
  row.set(normalized(row));
}

/** Draws items one after the other: the first to ring of exponential clocks whose rates are the probabilities. */
function drawWithoutReplacement(row: Float64Array, count: number, random: Random): number[] {
  const clocks = Array.from(row, (p, item) => {
    const time = -Math.log1p(-random.nextFloat());
    return { item, time: p > 0 ? time / p : Number.POSITIVE_INFINITY };
  }).filter(({ time }) => time < Number.POSITIVE_INFINITY);
  clocks.sort((a, b) => a.time - b.time);
  return clocks.slice(0, count).map(({ item }) => item);
}

/** Divides by the sum; a distribution without items stays zero. */
function normalized(values: Float64Array): Float64Array {
  const sum = values.reduce((total, value) => total + value, 0);
  return sum === 0 ? values : values.map((value) => value / sum);
}
