/**
 * Random words by index: word `attempt` of negative `k` of event `row` is one lane of one Philox block, so a draw is the
 * same whatever was drawn before it, in whatever batches.
 */
import { boundedWord, philox4x32, Random } from '../../util/philox.js';
import { type StreamSplit, streamSplits } from '../event-stream.js';

/** Separates these draws from others with the same seed. */
const stream = 16;
/** Blocks that one negative may use; each holds four attempts. */
const blocksPerDraw = 256;

/** Maximum number of negatives per event. */
export const mostNegatives = 2 ** 31 / blocksPerDraw - 1;

export class EventWords {
  readonly #root: Random;
  #key: Uint32Array = new Uint32Array(4);
  readonly #words = new Uint32Array(4);

  constructor(seed: number) {
    this.#root = new Random(seed, stream);
  }

  /** Selects the sequence of a split and an epoch. */
  select(split: StreamSplit, epoch: number): void {
    this.#key = this.#root.split(streamSplits.indexOf(split)).split(epoch).key;
  }

  /** Returns a number in [0, range). */
  below(range: number, row: number, k: number, attempt: number): number {
    const block = k * blocksPerDraw + ((attempt >>> 2) % blocksPerDraw);
    const key = this.#key;
    philox4x32(row, block, key[2], key[3], key[0], key[1], this.#words);
    return boundedWord(this.#words[attempt & 3], range);
  }
}
