/** Edges of some buckets: their positions in the split, and one list of them by local ids. */
import type { EdgeList } from '../../../../sample/one-hop-sampler.js';
import type { EdgeSplit } from './edge-splits.js';

/** Edges first … end − 1 of a split. */
interface EdgeRun {
  readonly first: number;
  readonly end: number;
}

/** Runs of a split's edges, numbered consecutively. */
export class EdgeRuns {
  readonly runs: readonly EdgeRun[];
  /** The number of edges before each run, and of all. */
  readonly #starts: readonly number[];

  constructor(runs: readonly EdgeRun[]) {
    const starts = [0];
    for (const { first, end } of runs) starts.push(starts[starts.length - 1] + end - first);
    this.runs = runs;
    this.#starts = starts;
  }

  static ofAll({ numEdges }: EdgeSplit): EdgeRuns {
    return new EdgeRuns([{ first: 0, end: numEdges }]);
  }

  /** Returns the runs of some buckets. `starts`: of `bucketStarts`. The time depends on the given buckets, not on all of them. */
  static ofBuckets(buckets: Int32Array, starts: Float64Array): EdgeRuns {
    return new EdgeRuns(
      consecutive(buckets).map(([first, last]) => ({ first: starts[first], end: starts[last + 1] })),
    );
  }

  get numEdges(): number {
    return this.#starts[this.runs.length];
  }

  /** Returns the positions in the split of edges that are numbered by runs. */
  inSplit(numbers: Int32Array): Int32Array {
    const starts = this.#starts;
    return numbers.map((number) => {
      let low = 0;
      for (let high = this.runs.length - 1; low < high; ) {
        const middle = (low + high) >>> 1;
        if (number < starts[middle + 1]) high = middle;
        else low = middle + 1;
      }
      return this.runs[low].first + number - starts[low];
    });
  }
}

/** Returns the first edge of each bucket, and the number of all edges; buckets are stored consecutively. */
export function bucketStarts(sizes: Float64Array): Float64Array {
  const starts = new Float64Array(sizes.length + 1);
  for (let b = 0; b < sizes.length; b++) starts[b + 1] = starts[b] + sizes[b];
  return starts;
}

export const emptyEdges: EdgeList = { src: new Int32Array(0), dst: new Int32Array(0), relations: null };

/** Groups ascending numbers into runs [first, last] of consecutive ones, for fewer and longer reads. */
function consecutive(numbers: Int32Array): [number, number][] {
  const found: [number, number][] = [];
  for (const n of numbers) {
    const last = found[found.length - 1];
    if (last !== undefined && last[1] === n - 1) last[1] = n;
    else found.push([n, n]);
  }
  return found;
}

/** Joins the edges of all lists with their ends mapped. */
export function joinMapped(
  lists: readonly EdgeList[],
  map: (id: number) => number,
  typed: boolean,
): EdgeList {
  const total = lists.reduce((sum, list) => sum + list.src.length, 0);
  const src = new Int32Array(total);
  const dst = new Int32Array(total);
  const relations = typed ? new Int32Array(total) : null;
  const hasWeights = lists.some(({ weights = null }) => weights !== null);
  const weights = hasWeights ? new Float32Array(total) : null;
  let at = 0;
  for (const list of lists) {
    for (let i = 0; i < list.src.length; i++) {
      src[at + i] = map(list.src[i]);
      dst[at + i] = map(list.dst[i]);
    }
    relations?.set(list.relations as Int32Array, at);
    weights?.set(list.weights as Float32Array, at);
    at += list.src.length;
  }
  return { src, dst, relations, weights };
}
