/** The destinations of the latest training events before a row, as often as they occur there. */
import type { Random } from '../../util/philox.js';

/** Events that count as the latest: enough to hold most destinations that are active at the time. */
const most = 2048;

export class LatestDestinations {
  /** Rows of training events, ascending, and their destinations. */
  readonly #rows: Int32Array;
  readonly #dst: Int32Array;
  readonly #counts: Int32Array;
  /** The window is events begin … end − 1. */
  #begin = 0;
  #end = 0;

  constructor(rows: Int32Array, dst: Int32Array, numNodes: number) {
    this.#rows = rows;
    this.#dst = dst;
    this.#counts = new Int32Array(numNodes);
  }

  get total(): number {
    return this.#end - this.#begin;
  }

  count(node: number): number {
    return this.#counts[node];
  }

  draw(random: Random): number {
    return this.#dst[this.#begin + random.nextInt(this.total)];
  }

  /** Moves the window to the events before a row; the result depends on the row alone. */
  moveTo(row: number): void {
    const end = this.#before(row);
    const begin = Math.max(0, end - most);
    if (begin > this.#end || end < this.#begin) {
      this.#counts.fill(0);
      this.#begin = begin;
      this.#end = begin;
    }
    while (this.#end < end) this.#counts[this.#dst[this.#end++]]++;
    while (this.#begin > begin) this.#counts[this.#dst[--this.#begin]]++;
    while (this.#end > end) this.#counts[this.#dst[--this.#end]]--;
    while (this.#begin < begin) this.#counts[this.#dst[this.#begin++]]--;
  }

  /** Returns how many training events are before a row. */
  #before(row: number): number {
    let [low, high] = [0, this.#rows.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#rows[middle] < row) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
