/**
 * Maps ids to the workers that own them: ids are numbered so that each worker owns one range, or the same range of
 * every so many ids. A list of ids is split into one list per owner, with the original positions of its ids.
 */

import { expected, ValueError } from '../../util/errors.js';
import type { NodeRange } from '../partition/partition-data.js';

/** The ids of a list that one worker owns. */
export interface Route {
  readonly owner: number;
  /** Rows of the owner: its ids in ascending order, as if its ranges were full. */
  readonly rows: Int32Array;
  /** Positions of these ids in the list, ascending. */
  readonly positions: Int32Array;
}

/** The ranges of all workers, checked: without gaps, from 0, in rank order. */
export class OwnerRanges {
  readonly ranges: readonly NodeRange[];
  /** Ids of all workers together. */
  readonly total: number;
  readonly #ends: Int32Array;
  readonly #every: number;

  /**
   * @param every number of ids after which the ranges repeat; the last one may reach beyond. Default: no repetition.
   */
  constructor(where: string, ranges: readonly NodeRange[], every = 2 ** 31) {
    let end = 0;
    for (const [rank, range] of ranges.entries()) {
      if (range.start !== end || range.end < range.start)
        throw new ValueError(
          expected(
            where,
            `a range that starts at ${end}`,
            `ranges[${rank}]`,
            `${range.start} … ${range.end}`,
          ),
        );
      end = range.end;
    }
    this.ranges = ranges;
    this.total = end;
    this.#ends = Int32Array.from(ranges, (range) => range.end);
    this.#every = every;
  }

  /** Returns the id of a row of an owner. */
  idOf(owner: number, row: number): number {
    const { start, end } = this.ranges[owner];
    const turn = Math.floor(row / (end - start));
    return turn * this.#every + start + row - turn * (end - start);
  }

  ownerOf(id: number): number {
    return this.#find(id % this.#every);
  }

  #find(id: number): number {
    const ends = this.#ends;
    let low = 0;
    for (let high = ends.length - 1; low < high; ) {
      const middle = (low + high) >>> 1;
      if (id < ends[middle]) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** Returns one route for each worker that owns some of `ids`, in rank order. */
  split(ids: Int32Array): Route[] {
    const owners = new Int32Array(ids.length);
    const counts = new Int32Array(this.ranges.length);
    const own = new Int32Array(ids.length);
    let [start, end, owner, before] = [0, 0, 0, 0];
    for (let i = 0; i < ids.length; i++) {
      // Adjacent ids mostly have the same owner.
      if (ids[i] < start || ids[i] >= end) {
        const turn = Math.floor(ids[i] / this.#every);
        const base = turn * this.#every;
        owner = this.#find(ids[i] - base);
        const range = this.ranges[owner];
        start = base + range.start;
        end = Math.min(base + range.end, base + this.#every);
        before = turn * (range.end - range.start);
      }
      owners[i] = owner;
      own[i] = before + ids[i] - start;
      counts[owner]++;
    }
    const all = Array.from(counts, (count, rank) => ({
      owner: rank,
      rows: new Int32Array(count),
      positions: new Int32Array(count),
    }));
    const filled = new Int32Array(counts.length);
    for (let i = 0; i < ids.length; i++) {
      const rank = owners[i];
      const at = filled[rank]++;
      all[rank].rows[at] = own[i];
      all[rank].positions[at] = i;
    }
    return all.filter(({ rows }) => rows.length > 0);
  }
}
