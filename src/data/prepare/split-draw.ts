/**
 * Assigns edges to splits in one pass: the probability of a split is its remaining fraction, so that the splits get exactly
 * their sizes and memory is three numbers (selection sampling: Knuth, The Art of Computer Programming 3.4.2, algorithm S,
 * for several splits). The draw depends on the seed and the number of the edge only.
 */
import { checkNumber, expected, ValueError } from '../../util/errors.js';
import type { Random } from '../../util/philox.js';

/** Returns the sizes of the splits of `total`: each fraction rounded down; the last split with a fraction gets the rest. */
export function splitSizes(where: string, total: number, fractions: readonly number[]): number[] {
  if (fractions.length < 2 || fractions.length > 3) {
    throw new ValueError(
      expected(where, '2 (training, test) or 3 (training, validation, test) fractions', 'split', fractions),
    );
  }
  for (const fraction of fractions) checkNumber(where, 'a fraction of split', fraction, 0, 1);
  const sum = fractions.reduce((a, b) => a + b, 0);
  if (Math.abs(sum - 1) > 1e-6)
    throw new ValueError(
      expected(where, 'fractions that add up to 1', 'split', `${fractions.join(' + ')} = ${sum}`),
    );
  // 0.29 · 100 is 28.999…: such results are rounded up.
  const sizes = fractions.map((fraction) => Math.floor(fraction * total + 1e-9 * total));
  const last = fractions.findLastIndex((fraction) => fraction > 0);
  sizes[last] += total - sizes.reduce((a, b) => a + b, 0);
  return sizes;
}

/** Draws the split of one edge after another. */
export class SplitDraw {
  readonly #left: number[];
  #total: number;

  constructor(
    sizes: readonly number[],
    readonly random: Random,
  ) {
    this.#left = [...sizes];
    this.#total = sizes.reduce((a, b) => a + b, 0);
  }

  next(): number {
    let position = Math.floor(this.random.nextFloat() * this.#total--);
    const left = this.#left;
    let split = 0;
    while (position >= left[split]) position -= left[split++];
    left[split]--;
    return split;
  }
}
