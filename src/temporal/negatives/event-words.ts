/**
 * Random words by place: word `attempt` of negative `k` of event `row` is one lane of one Philox block, so a draw is the
 * same whatever was drawn before it, in whatever batches.
 */
import { boundedWord, philox4x32, Random } from '../../util/philox.js';
import { type TemporalPart, temporalParts } from '../event-stream.js';

/** Keeps these draws apart from other uses of the same seed. */
const stream = 16;
/** Blocks that one negative may use; each holds four attempts. */
const blocksPerDraw = 256;

/** Negatives of an event that have words of their own. */
export const mostNegatives = 2 ** 31 / blocksPerDraw - 1;

export class EventWords {
  readonly #root: Random;
  #key: Uint32Array = new Uint32Array(4);
  readonly #words = new Uint32Array(4);

  constructor(seed: number) {
    this.#root = new Random(seed, stream);
  }

  /** Chooses the sequence of a part and an epoch. */
  select(part: TemporalPart, epoch: number): void {
    this.#key = this.#root.split(temporalParts.indexOf(part)).split(epoch).key;
  }

  /** A number in [0, range). */
  below(range: number, row: number, k: number, attempt: number): number {
    const block = k * blocksPerDraw + ((attempt >>> 2) % blocksPerDraw);
    const key = this.#key;
    philox4x32(row, block, key[2], key[3], key[0], key[1], this.#words);
    return boundedWord(this.#words[attempt & 3], range);
  }
}
