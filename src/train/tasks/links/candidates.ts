/**
 * The nodes that an end of a relation is ranked among when candidates are restricted: those that training edges have at
 * that end, or, in a dataset with node types, all nodes of a type that they have there.
 */
import type { Direction, EndCounts } from './end-counts.js';

export class Candidates {
  readonly #counts: EndCounts;
  readonly #types: ArrayLike<number> | null;
  readonly #byTypes = new Map<string, Int32Array>();
  /** The candidates of relations that were requested before: callers ask for every edge. */
  readonly #byRelation = new Map<string, Int32Array>();

  /** @param types the type of each node; null in a dataset with one type. */
  constructor(counts: EndCounts, types: ArrayLike<number> | null) {
    this.#counts = counts;
    this.#types = types;
  }

  /** Returns the candidates for an end of any relation, ascending. */
  ofAll(direction: Direction): Int32Array {
    const all = new Set<number>();
    for (let relation = 0; relation < this.#counts.numRelations; relation++)
      for (const node of this.of(relation, direction) ?? []) all.add(node);
    return Int32Array.from(all).sort();
  }

  /** Returns the candidates, ascending, every time the same array; null (all nodes) for a relation without training edges. */
  of(relation: number, direction: Direction): Int32Array | null {
    const request = `${direction} ${relation}`;
    const before = this.#byRelation.get(request);
    if (before !== undefined) return before;
    const { nodes } = this.#counts.of(relation, direction);
    if (nodes.length === 0) return null;
    const found = this.#types === null ? nodes : this.#ofTypes(nodes, this.#types);
    this.#byRelation.set(request, found);
    return found;
  }

  /** Returns all nodes of the types that some nodes have. */
  #ofTypes(nodes: Int32Array, types: ArrayLike<number>): Int32Array {
    const present = new Set(Array.from(nodes, (node) => types[node]));
    const key = [...present].sort((a, b) => a - b).join();
    let found = this.#byTypes.get(key);
    if (found === undefined) {
      const all = Int32Array.from({ length: types.length }, (_, node) => node);
      found = all.filter((node) => present.has(types[node]));
      this.#byTypes.set(key, found);
    }
    return found;
  }
}

/** Returns the position of a node in an ascending list; −1 if it is not in it. */
export function positionIn(nodes: Int32Array, node: number): number {
  const at = lowerBound(nodes, node);
  return nodes[at] === node ? at : -1;
}

/** Returns the number of values below `limit`, in an ascending list. */
export function lowerBound(values: Int32Array, limit: number): number {
  let [low, high] = [0, values.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (values[middle] < limit) low = middle + 1;
    else high = middle;
  }
  return low;
}
