/** Weights of events for weighted sampling: checked once, also where they grow with the stream. */
import { expected, ShapeError, ValueError } from '../util/errors.js';

/** One weight for each event row, of 0 or more; or a function that gives those of all events so far. */
export type TemporalWeights = Float32Array | readonly number[] | (() => Float32Array);

export class EventWeights {
  readonly #where: string;
  readonly #given: Float32Array | (() => Float32Array);
  #checked: Float32Array | null = null;
  #count = 0;

  constructor(where: string, weights: TemporalWeights) {
    this.#where = where;
    if (Array.isArray(weights)) this.#given = Float32Array.from(weights);
    // A copy: kernels on other threads read it after the caller may have changed or given away the original.
    else if (weights instanceof Float32Array) this.#given = weights.slice();
    else if (typeof weights === 'function') this.#given = weights;
    else throw new ValueError(expected(where, 'a Float32Array, numbers or a function', 'weights', weights));
  }

  /** The weights of the first `count` events. */
  upTo(count: number): Float32Array {
    const weights = typeof this.#given === 'function' ? this.#given() : this.#given;
    if (!(weights instanceof Float32Array) || weights.length < count) {
      const got = weights instanceof Float32Array ? weights.length : weights;
      const advice = 'Where events are appended, give a function.';
      throw new ShapeError(expected(this.#where, `${count} numbers, one per event,`, 'weights', got, advice));
    }
    if (typeof this.#given !== 'function') return this.#check(weights, count);
    // What a function gives may be changed or given away afterwards as well.
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
