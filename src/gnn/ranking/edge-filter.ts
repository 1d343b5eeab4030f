/**
 * Which nodes complete a query to a true edge: the true destinations of (source, relation), or the true sources of
 * (destination, relation). Filtered ranks leave these out.
 */
import { kernels } from '../../native/index.js';
import { checkIds } from '../../tensor/ops/common.js';
import { checkInteger, expected, ShapeError } from '../../util/errors.js';

/** Nodes to leave out: for query q those at offsets[q] … offsets[q+1]−1, ascending. */
export interface FilterLists {
  readonly offsets: Int32Array;
  readonly ids: Int32Array;
}

/** The end that is given: sources when destinations are guessed. */
export type GivenEnd = 'src' | 'dst';

export interface EdgeFilterOptions {
  readonly numNodes: number;
  /** Numbers an edge: 3 for [src, relation, dst] (the default), 2 for [src, dst]. */
  readonly columns?: 2 | 3;
}

/** Per given node the pairs (relation, other end) as relation · numNodes + other, ascending. */
interface Index {
  readonly offsets: Int32Array;
  readonly keys: Float64Array;
}

export class EdgeFilter {
  readonly numNodes: number;
  readonly columns: 2 | 3;
  readonly #parts: readonly Int32Array[];
  readonly #built = new Map<GivenEnd, Index>();

  /** @param parts edges of all splits, each as rows of `columns` numbers; they must not change. */
  constructor(parts: readonly Int32Array[], options: EdgeFilterOptions) {
    this.numNodes = checkInteger('EdgeFilter', 'numNodes', options.numNodes, 1);
    this.columns = options.columns ?? 3;
    for (const part of parts) {
      if (part.length % this.columns !== 0)
        throw new ShapeError(expected('EdgeFilter', `rows of ${this.columns} numbers`, 'parts', part.length));
    }
    this.#parts = parts;
  }

  /** @param relations one for each node; null when edges have none. */
  lists(given: GivenEnd, nodes: Int32Array, relations: Int32Array | null): FilterLists {
    checkIds('EdgeFilter', 'nodes', nodes, this.numNodes);
    const { offsets, keys } = this.#index(given);
    const starts = new Int32Array(nodes.length + 1);
    const from = new Int32Array(nodes.length);
    for (let q = 0; q < nodes.length; q++) {
      const [begin, end] = [offsets[nodes[q]], offsets[nodes[q] + 1]];
      const relation = relations === null ? 0 : relations[q];
      from[q] = lowerBound(keys, begin, end, relation * this.numNodes);
      const to = lowerBound(keys, from[q], end, (relation + 1) * this.numNodes);
      starts[q + 1] = starts[q] + to - from[q];
    }
    const ids = new Int32Array(starts[nodes.length]);
    for (let q = 0; q < nodes.length; q++) {
      const base = (relations === null ? 0 : relations[q]) * this.numNodes;
      for (let k = 0; k < starts[q + 1] - starts[q]; k++) ids[starts[q] + k] = keys[from[q] + k] - base;
    }
    return { offsets: starts, ids };
  }

  #index(given: GivenEnd): Index {
    let index = this.#built.get(given);
    if (index === undefined) {
      index = this.#build(given);
      this.#built.set(given, index);
    }
    return index;
  }

  #build(given: GivenEnd): Index {
    const { columns, numNodes } = this;
    const count = this.#parts.reduce((total, part) => total + part.length / columns, 0);
    const nodes = new Int32Array(count);
    const pairs = new Float64Array(count);
    const [own, other] = given === 'src' ? [0, columns - 1] : [columns - 1, 0];
    let edge = 0;
    for (const part of this.#parts) {
      for (let at = 0; at < part.length; at += columns, edge++) {
        nodes[edge] = part[at + own];
        pairs[edge] = (columns === 3 ? part[at + 1] : 0) * numNodes + part[at + other];
      }
    }
    checkIds('EdgeFilter', 'parts', nodes, numNodes);
    const offsets = new Int32Array(numNodes + 1);
    const order = new Int32Array(count);
    kernels().groupByKey(nodes, offsets, order, count, numNodes);
    const keys = new Float64Array(count);
    for (let i = 0; i < count; i++) keys[i] = pairs[order[i]];
    for (let v = 0; v < numNodes; v++)
      if (offsets[v + 1] - offsets[v] > 1) keys.subarray(offsets[v], offsets[v + 1]).sort();
    return { offsets, keys };
  }
}

/** First position in [begin, end) whose key is at least `key`. */
function lowerBound(keys: Float64Array, begin: number, end: number, key: number): number {
  let [lo, hi] = [begin, end];
  while (lo < hi) {
    const middle = (lo + hi) >>> 1;
    if (keys[middle] < key) lo = middle + 1;
    else hi = middle;
  }
  return lo;
}
