/**
 * Who met whom, and when first: for every source its distinct destinations in the order in which it met them, and its
 * events. Both follow from one stable grouping by source, so building takes time linear in the events.
 *
 * "Met before t" and "met in training" are then prefixes of a source's list, found by bisection.
 */
import { expected, ValueError } from '../../util/errors.js';
import type { EventStream } from '../event-stream.js';

export class PairHistory {
  /** Number of indexed events. */
  readonly numEvents: number;
  /** Distinct destinations; those of source u are at offsets[u] … offsets[u+1]−1, the first met first. */
  readonly destinations: Int32Array;
  readonly offsets: Int32Array;
  /** The event row in which each of them was met first. */
  readonly #firstRow: Int32Array;
  /** Event rows by source, ascending. */
  readonly #rows: Int32Array;
  readonly #rowOffsets: Int32Array;
  readonly #dst: Int32Array;
  readonly #time: Float64Array;

  constructor(where: string, stream: EventStream) {
    const { src, dst, time, numNodes } = stream;
    checkStream(where, stream);
    this.numEvents = src.length;
    this.#dst = dst;
    this.#time = time;
    this.#rowOffsets = new Int32Array(numNodes + 1);
    this.#rows = groupBySource(src, this.#rowOffsets);
    this.offsets = new Int32Array(numNodes + 1);
    const met = new Int32Array(src.length);
    const firstRow = new Int32Array(src.length);
    // Which source met a destination last: sources pass one after the other.
    const metBy = new Int32Array(numNodes).fill(-1);
    let count = 0;
    for (let u = 0; u < numNodes; u++) {
      for (let i = this.#rowOffsets[u]; i < this.#rowOffsets[u + 1]; i++) {
        const v = dst[this.#rows[i]];
        if (metBy[v] === u) continue;
        metBy[v] = u;
        firstRow[count] = this.#rows[i];
        met[count++] = v;
      }
      this.offsets[u + 1] = count;
    }
    this.destinations = met.slice(0, count);
    this.#firstRow = firstRow.slice(0, count);
  }

  /** Returns the end, in `destinations`, of those that `source` met before `time`. */
  metBefore(source: number, time: number): number {
    let low = this.offsets[source];
    let high = this.offsets[source + 1];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#time[this.#firstRow[middle]] < time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Returns the end, in `destinations`, of those that `source` met in an event row below `row`. */
  metBeforeRow(source: number, row: number): number {
    let low = this.offsets[source];
    let high = this.offsets[source + 1];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#firstRow[middle] < row) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Calls `visit` with every destination that the source of event `row` meets at the very time of that event. */
  forEachPositive(source: number, row: number, visit: (destination: number) => void): void {
    const [rows, time] = [this.#rows, this.#time];
    const first = this.#rowOffsets[source];
    const end = this.#rowOffsets[source + 1];
    let low = first;
    let high = end;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (time[rows[middle]] < time[row]) low = middle + 1;
      else high = middle;
    }
    for (let i = low; i < end && time[rows[i]] === time[row]; i++) visit(this.#dst[rows[i]]);
  }
}

/** Throws for a stream whose arrays have different lengths, or that is not in order of time. */
export function checkStream(where: string, stream: EventStream): void {
  const { src, dst, time, numNodes } = stream;
  if (dst.length !== src.length || time.length !== src.length) {
    const got = `${src.length}, ${dst.length} and ${time.length}`;
    throw new ValueError(expected(where, 'as many sources as destinations and times', 'the stream', got));
  }
  for (let i = 0; i < src.length; i++) {
    if (!(src[i] >= 0 && src[i] < numNodes && dst[i] >= 0 && dst[i] < numNodes)) {
      const got = `${src[i]} → ${dst[i]}`;
      throw new ValueError(expected(where, `nodes from 0 to ${numNodes - 1}`, `event row ${i}`, got));
    }
    if (i > 0 && !(time[i] >= time[i - 1])) {
      const got = `${time[i]} after ${time[i - 1]}`;
      throw new ValueError(
        expected(where, 'ascending times', `event row ${i}`, got, 'Sort the events first.'),
      );
    }
  }
}

/** Groups event rows by source, in order inside a group. Fills `offsets`. */
function groupBySource(src: Int32Array, offsets: Int32Array): Int32Array {
  for (const u of src) offsets[u + 1]++;
  for (let u = 1; u < offsets.length; u++) offsets[u] += offsets[u - 1];
  const next = offsets.slice(0, -1);
  const rows = new Int32Array(src.length);
  for (let i = 0; i < src.length; i++) rows[next[src[i]]++] = i;
  return rows;
}
