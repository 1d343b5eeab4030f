/** Event weights for weighted sampling: each is checked once, even if they grow with the stream. */
import { expected, ShapeError, ValueError } from '../util/errors.js';

/** One weight of at least 0 per event row; or a function that returns those of all events so far. */
export type TemporalWeights = Float32Array | readonly number[] | (() => Float32Array);

export class EventWeights {
  readonly #where: string;
  readonly #given: Float32Array | (() => Float32Array);
  #checked: Float32Array | null = null;
  #count = 0;

  constructor(where: string, weights: TemporalWeights) {
    this.#where = where;
    if (Array.isArray(weights)) this.#given = Float32Array.from(weights);
    // A copy: kernels on other threads read it after the caller may have changed or transferred the original.
    else if (weights instanceof Float32Array) this.#given = weights.slice();
    else if (typeof weights === 'function') this.#given = weights;
    else throw new ValueError(expected(where, 'a Float32Array, numbers or a function', 'weights', weights));
  }

  /** Returns the weights of the first `count` events. */
  upTo(count: number): Float32Array {
    const weights = typeof this.#given === 'function' ? this.#given() : this.#given;
    if (!(weights instanceof Float32Array) || weights.length < count) {
      const got = weights instanceof Float32Array ? weights.length : weights;
      const advice = 'Pass a function if events are appended.';
      throw new ShapeError(expected(this.#where, `${count} numbers, one per event,`, 'weights', got, advice));
    }
    if (typeof this.#given !== 'function') return this.#check(weights, count);
    // The result of a function may be changed or transferred afterwards as well.
    return this.#check(weights.slice(0, count), count);
  }

  #check(weights: Float32Array, count: number): Float32Array {
    for (let i = this.#checked === weights ? this.#count : 0; i < count; i++) {
      if (!(weights[i] >= 0 && weights[i] < Infinity)) {
        const got = `${weights[i]} at position ${i}`;
        throw new ValueError(expected(this.#where, 'finite numbers of 0 or more', 'weights', got));
      }
    }
    this.#checked = weights;
    this.#count = count;
    return weights;
  }
}
