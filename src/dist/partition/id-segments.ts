/**
 * Ids numbered partition by partition, and by type within each: the ranges of nodes or of edges, checked to be
 * contiguous, with lookups in both directions. Used by `PartitionBook` for nodes and for edges.
 */
import { checkInteger, expected, FormatError, ValueError } from '../../util/errors.js';
import type { IdRange, TypeIds } from './partition-book.js';

interface Segment extends IdRange {
  readonly part: number;
  readonly type: number;
  /** Ids of the type in earlier partitions. */
  readonly before: number;
}

export class IdSegments {
  /** By type, then by partition; an empty range starts where its first id would be. */
  readonly ranges: readonly (readonly IdRange[])[];
  readonly #total: number;
  /** Non-empty segments, ascending. */
  readonly #segments: readonly Segment[];
  readonly #starts: Float64Array;
  /** The first id of each partition, and the end of the last. */
  readonly #partStarts: Float64Array;
  /** By type, its non-empty segments. */
  readonly #ofType: readonly (readonly Segment[])[];

  constructor(
    name: string,
    ranges: readonly (readonly IdRange[])[],
    types: readonly string[],
    numParts: number,
  ) {
    checkMap(name, ranges, types, numParts);
    const all: Segment[] = [];
    ranges.forEach((parts, type) => {
      let before = 0;
      parts.forEach(({ start, end }, part) => {
        if (end > start) all.push({ start, end, part, type, before });
        before += end - start;
      });
    });
    all.sort((a, b) => a.start - b.start);
    let at = 0;
    this.#partStarts = new Float64Array(numParts + 1);
    let last = 0;
    for (const { start, end, part, type } of all) {
      if (start !== at || part < last)
        throw new FormatError(
          expected(
            'PartitionBook',
            `ids from ${at} on`,
            `${name} of ${types[type]}, partition ${part}`,
            start,
          ),
        );
      for (; last < part; last++) this.#partStarts[last + 1] = at;
      at = end;
    }
    this.#partStarts.fill(at, last + 1);
    this.#total = checkInteger('PartitionBook', `ids of ${name}`, at, 0, 2 ** 31 - 1);
    this.#segments = all;
    this.#starts = Float64Array.from(all, (segment) => segment.start);
    this.#ofType = types.map((_, type) => all.filter((segment) => segment.type === type));
    this.ranges = ranges.map((parts) =>
      parts.map(({ start, end }, p) => (end > start ? { start, end } : this.#emptyAt(p))),
    );
  }

  count(type?: number): number {
    if (type === undefined) return this.#total;
    return this.#ofType[type].reduce((sum, { start, end }) => sum + end - start, 0);
  }

  rangeOf(first: number, last: number): IdRange {
    const most = this.#partStarts.length - 1;
    checkInteger('PartitionBook', 'a partition', first, 0, most);
    checkInteger('PartitionBook', 'the end of partitions', last, first, most);
    return { start: this.#partStarts[first], end: this.#partStarts[last] };
  }

  partOf(where: string, ids: ArrayLike<number>): Int32Array {
    const parts = new Int32Array(ids.length);
    this.#locate(where, ids, (i, segment) => {
      parts[i] = segment.part;
    });
    return parts;
  }

  toTypeIds(where: string, ids: ArrayLike<number>): TypeIds {
    const types = new Int32Array(ids.length);
    const own = new Int32Array(ids.length);
    this.#locate(where, ids, (i, { type, before, start }) => {
      types[i] = type;
      own[i] = before + ids[i] - start;
    });
    return { types, ids: own };
  }

  toGlobal(where: string, type: number, ids: ArrayLike<number>): Int32Array {
    const segments = this.#ofType[type];
    const count = this.count(type);
    const befores = Float64Array.from(segments, (segment) => segment.before);
    const result = new Int32Array(ids.length);
    for (let i = 0; i < ids.length; i++) {
      checkId(where, ids[i], i, count);
      const { start, before } = segments[lastAtMost(befores, ids[i])];
      result[i] = start + ids[i] - before;
    }
    return result;
  }

  #locate(where: string, ids: ArrayLike<number>, visit: (i: number, segment: Segment) => void): void {
    let segment: Segment | undefined;
    for (let i = 0; i < ids.length; i++) {
      const id = ids[i];
      checkId(where, id, i, this.#total);
      // Adjacent ids of a list are mostly in one segment.
      if (segment === undefined || id < segment.start || id >= segment.end)
        segment = this.#segments[lastAtMost(this.#starts, id)];
      visit(i, segment);
    }
  }

  #emptyAt(part: number): IdRange {
    const start = this.#partStarts[part];
    return { start, end: start };
  }
}

function checkMap(
  name: string,
  ranges: readonly (readonly IdRange[])[],
  types: readonly string[],
  numParts: number,
): void {
  if (ranges.length !== types.length)
    throw new FormatError(
      expected('PartitionBook', `ranges of ${types.length} types`, name, `ranges of ${ranges.length}`),
    );
  if (new Set(types).size !== types.length)
    throw new FormatError(expected('PartitionBook', 'different names', `the types of ${name}`, types));
  ranges.forEach((parts, type) => {
    const what = `${name} of ${types[type]}`;
    if (parts.length !== numParts)
      throw new FormatError(expected('PartitionBook', `${numParts} ranges`, what, parts.length));
    parts.forEach(({ start, end }, part) => {
      if (!Number.isSafeInteger(start) || !Number.isSafeInteger(end) || start < 0 || end < start)
        throw new FormatError(
          expected('PartitionBook', 'start ≤ end', `${what}, partition ${part}`, [start, end]),
        );
    });
  });
}

function checkId(where: string, id: number, position: number, count: number): void {
  if (Number.isInteger(id) && id >= 0 && id < count) return;
  throw new ValueError(expected(where, `ids from 0 to ${count - 1}`, 'ids', `${id} at position ${position}`));
}

/** Returns the last index whose value is at most `id`; values ascend and the first is at most `id`. */
function lastAtMost(values: Float64Array, id: number): number {
  let low = 0;
  let high = values.length;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (values[middle] <= id) low = middle;
    else high = middle;
  }
  return low;
}
