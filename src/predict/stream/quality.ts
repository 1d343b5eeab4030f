/**
 * Prequential quality: an event of the stream is ranked among sampled destinations before the state contains it. Metrics
 * that fall are a sign of drift, without any labels.
 */
import { Random } from '../../util/philox.js';
import type { StreamQuality } from './types.js';

/** Ranks that metrics are computed over. */
const kept = 10_000;

export class RollingQuality {
  readonly every: number;
  readonly candidates: number;
  readonly #ranks = new Float64Array(kept);
  #count = 0;

  constructor({ every = 10, candidates = 20 }: { readonly every?: number; readonly candidates?: number }) {
    this.every = every;
    this.candidates = candidates;
  }

  /**
   * Draws competitors of an event among the first `count` nodes, at least two, without its own destination; the event's number
   * decides which.
   */
  draw(event: number, own: number, nodes: Int32Array, count: number): Int32Array {
    const random = new Random(event, drawStream);
    const drawOther = (): number => {
      // Nodes differ, so at most every second draw is the own one.
      for (;;) {
        const node = nodes[random.nextInt(count)];
        if (node !== own) return node;
      }
    };
    return Int32Array.from({ length: this.candidates }, drawOther);
  }

  /** Adds the rank of each event among its competitors; equal scores count half. */
  add({
    positive,
    negative,
  }: {
    readonly positive: ArrayLike<number>;
    readonly negative: ArrayLike<number>;
  }): void {
    const amount = negative.length / positive.length;
    for (let i = 0; i < positive.length; i++) {
      let rank = 1;
      for (let k = i * amount; k < (i + 1) * amount; k++)
        rank += negative[k] > positive[i] ? 1 : negative[k] === positive[i] ? 0.5 : 0;
      this.#ranks[this.#count++ % kept] = rank;
    }
  }

  metrics(): StreamQuality {
    const events = Math.min(this.#count, kept);
    let [mrr, hits10] = [0, 0];
    for (let i = 0; i < events; i++) {
      mrr += 1 / this.#ranks[i];
      hits10 += this.#ranks[i] <= 10 ? 1 : 0;
    }
    return { events, mrr: events === 0 ? 0 : mrr / events, hits10: events === 0 ? 0 : hits10 / events };
  }

  save(): { readonly ranks: Float64Array; readonly count: number } {
    return { ranks: this.#ranks.slice(0, Math.min(this.#count, kept)), count: this.#count };
  }

  load(ranks: Float64Array, count: number): void {
    this.#ranks.set(ranks.subarray(0, kept));
    this.#count = count;
  }
}

/** Separates these draws from others. */
const drawStream = 0x7175616c;
