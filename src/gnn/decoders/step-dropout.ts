/**
 * Dropout of the rows that a step of link prediction uses: inverted dropout of elements, with a mask per row of the batch
 * for the ends that are given and for their relations, and a mask per entity and direction for the rows that are compared
 * with them. Masks are a function of the generator of the step, the direction, the use and the row, so that they do not
 * depend on threads or workers, and a resumed run repeats them.
 */
import { dropout, type Tensor } from '../../tensor/index.js';
import type { Random } from '../../util/philox.js';
import type { Direction, EdgeDecoder } from './edge-decoder.js';

/** The uses of rows; each has separate masks. */
const uses = ['given', 'relation', 'candidate', 'pairGiven', 'pairPredicted', 'relationCandidate'] as const;
export type RowUse = (typeof uses)[number];

export class StepDropout {
  readonly #entities: number;
  readonly #relations: number;
  readonly #random: Random | null;

  /** @param random the generator of the step, already split by seed, epoch and step; null drops nothing. */
  constructor({ entityDropout, relationDropout }: EdgeDecoder, random: Random | null) {
    this.#entities = entityDropout;
    this.#relations = relationDropout;
    this.#random = random;
  }

  /** Returns the rows with dropped elements. @param ids the number of each row among those of its use; default 0, 1, 2, … */
  rows(x: Tensor, use: RowUse, direction: Direction, ids?: Int32Array): Tensor {
    const draws = this.draws(use, direction);
    return draws === null ? x : dropout(x, draws.p, { random: draws.random, rowIds: ids ?? null });
  }

  /** Returns the probability and the generator of a use's mask; null if nothing is dropped. */
  draws(use: RowUse, direction: Direction): { readonly p: number; readonly random: Random } | null {
    const p = use === 'relation' || use === 'relationCandidate' ? this.#relations : this.#entities;
    if (this.#random === null || p === 0) return null;
    return { p, random: this.#random.split(direction === 'rhs' ? 0 : 1).split(uses.indexOf(use)) };
  }
}
