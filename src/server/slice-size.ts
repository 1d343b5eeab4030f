/**
 * How many items one call should have. The time of a call is taken as a + b·n: a call that reads a whole table costs much
 * before its first item, so that fewer items would not make it shorter. Older calls count less.
 */
export class SliceSize {
  readonly #targetMs: number;
  #weight = 0;
  #n = 0;
  #t = 0;
  #nn = 0;
  #nt = 0;
  #size = 16;

  constructor(targetMs: number) {
    this.#targetMs = targetMs;
  }

  get value(): number {
    return this.#size;
  }

  /** Takes in the time of a call. */
  add(items: number, ms: number): void {
    const keep = 0.9;
    this.#weight = keep * this.#weight + 1;
    this.#n = keep * this.#n + items;
    this.#t = keep * this.#t + ms;
    this.#nn = keep * this.#nn + items * items;
    this.#nt = keep * this.#nt + items * ms;
    // By at most a factor of four, so that one odd call does little.
    const size = Math.min(Math.max(this.#fitting(), this.#size / 4), this.#size * 4);
    this.#size = Math.round(Math.min(Math.max(size, 1), 10_000));
  }

  /** Items that take the target time; twice the time before the first item, if that is more. */
  #fitting(): number {
    const n = this.#n / this.#weight;
    const t = this.#t / this.#weight;
    const spread = this.#nn / this.#weight - n * n;
    // Calls of one size say nothing about a and b: try the double.
    if (spread < 0.01 * n * n) return Math.max((n * this.#targetMs) / Math.max(t, 1e-3), 2 * n);
    const b = Math.max((this.#nt / this.#weight - n * t) / spread, 1e-6);
    const a = Math.max(t - b * n, 0);
    return (Math.max(this.#targetMs, 2 * a) - a) / b;
  }
}
