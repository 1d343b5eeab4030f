/**
 * Deals edges to parts in one pass: each edge goes to a part with the chance that is left for it, so that the parts get
 * exactly their sizes and memory is three numbers (selection sampling: Knuth, The Art of Computer Programming 3.4.2,
 * algorithm S, for several parts). The draw depends on the seed and the number of the edge only.
 */
import { checkNumber, expected, ValueError } from '../../util/errors.js';
import type { Random } from '../../util/philox.js';

/** Sizes of the parts of `total`: each share rounded down, what is left goes to the last part that has a share. */
export function partSizes(where: string, total: number, fractions: readonly number[]): number[] {
  if (fractions.length < 2 || fractions.length > 3) {
    throw new ValueError(
      expected(where, '2 (training, test) or 3 (training, validation, test) shares', 'split', fractions),
    );
  }
  for (const share of fractions) checkNumber(where, 'a fraction of split', share, 0, 1);
  const sum = fractions.reduce((a, b) => a + b, 0);
  if (Math.abs(sum - 1) > 1e-6)
    throw new ValueError(
      expected(where, 'shares that add up to 1', 'split', `${fractions.join(' + ')} = ${sum}`),
    );
  // 0.29 · 100 is 28.999…: whole results are kept whole.
  const sizes = fractions.map((share) => Math.floor(share * total + 1e-9 * total));
  const last = fractions.findLastIndex((share) => share > 0);
  sizes[last] += total - sizes.reduce((a, b) => a + b, 0);
  return sizes;
}

/** Says for one edge after the other which part it is in. */
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
    let place = Math.floor(this.random.nextFloat() * this.#total--);
    const left = this.#left;
    let part = 0;
    while (place >= left[part]) place -= left[part++];
    left[part]--;
    return part;
  }
}
