/** Percentiles of the last values of a duration. */

/** Milliseconds. */
export interface Latency {
  readonly count: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
}

export class LatencyLog {
  readonly #values: Float64Array;
  #count = 0;

  constructor(kept = 100_000) {
    this.#values = new Float64Array(kept);
  }

  add(milliseconds: number): void {
    this.#values[this.#count++ % this.#values.length] = milliseconds;
  }

  percentiles(): Latency {
    const kept = Math.min(this.#count, this.#values.length);
    const sorted = this.#values.slice(0, kept).sort();
    const at = (share: number): number =>
      kept === 0 ? 0 : sorted[Math.min(kept - 1, Math.ceil(share * kept) - 1)];
    return { count: this.#count, p50: at(0.5), p90: at(0.9), p99: at(0.99), max: at(1) };
  }
}
