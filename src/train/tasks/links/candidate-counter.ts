/**
 * Ranks of true nodes, each among the candidates of its relation. Queries of a relation are counted together, over the
 * rows of a tile that are candidates; the counts are those of a ranking among all nodes from which others were left out.
 */
import type { Comparator } from '../../../gnn/decoders/comparator.js';
import { type FilterLists, RankCounter, type RankCounts } from '../../../gnn/rank-counter.js';
import { gatherRows, scope, type Tensor } from '../../../tensor/index.js';
import { type Candidates, lowerBound, positionIn } from './candidates.js';
import type { Direction } from './end-counts.js';

export interface CandidateCounterOptions {
  readonly target: Tensor;
  readonly targetIds: Int32Array;
  readonly filter: FilterLists | null;
  /** The relation of each query; null without relations. */
  readonly relations: Int32Array | null;
  readonly candidates: Candidates;
  readonly direction: Direction;
}

/** The queries of one relation. */
interface Group {
  readonly queries: Int32Array;
  /** Candidates, ascending; null: all nodes. Ids of the counter are positions among them. */
  readonly nodes: Int32Array | null;
  readonly counter: RankCounter;
}

export class CandidateCounter {
  readonly #groups: readonly Group[];
  readonly #numQueries: number;

  constructor(comparator: Comparator, query: Tensor, options: CandidateCounterOptions) {
    const { target, targetIds, filter, relations, candidates, direction } = options;
    this.#numQueries = targetIds.length;
    this.#groups = [...queriesByRelation(relations, targetIds.length)].map(([relation, queries]) => {
      const nodes = candidates.of(relation, direction);
      const counter = scope(
        () =>
          new RankCounter(comparator, gatherRows(query, queries), {
            target: gatherRows(target, queries),
            targetIds: queries.map((q) => localId(nodes, targetIds[q])),
            filter: filter === null ? null : localFilter(filter, queries, nodes),
          }),
      );
      return { queries, nodes, counter };
    });
  }

  /** Counts one tile of nodes: rows of the nodes first, first + 1, … */
  add(rows: Tensor, first: number): void {
    for (const { nodes, counter } of this.#groups) {
      if (nodes === null) {
        counter.add(rows, first);
        continue;
      }
      const begin = lowerBound(nodes, first);
      const end = lowerBound(nodes, first + rows.shape[0]);
      if (begin === end) continue;
      scope(() => {
        const own = nodes.subarray(begin, end).map((node) => node - first);
        counter.add(gatherRows(rows, own), begin);
      });
    }
  }

  counts(): RankCounts {
    const all = {
      greater: new Int32Array(this.#numQueries),
      equal: new Int32Array(this.#numQueries),
      candidates: new Int32Array(this.#numQueries),
    };
    for (const { queries, counter } of this.#groups) {
      const own = counter.counts();
      for (const [i, q] of queries.entries())
        for (const name of ['greater', 'equal', 'candidates'] as const) all[name][q] = own[name][i];
    }
    return all;
  }
}

/** Returns the queries of each relation. */
function queriesByRelation(relations: Int32Array | null, count: number): Map<number, Int32Array> {
  const lists = new Map<number, number[]>();
  for (let q = 0; q < count; q++) {
    const relation = relations === null ? 0 : relations[q];
    const list = lists.get(relation);
    if (list === undefined) lists.set(relation, [q]);
    else list.push(q);
  }
  return new Map(Array.from(lists, ([relation, list]) => [relation, Int32Array.from(list)]));
}

/** Returns the position of a node among the candidates, or the position after the last for another node. */
function localId(nodes: Int32Array | null, node: number): number {
  if (nodes === null) return node;
  const at = positionIn(nodes, node);
  return at < 0 ? nodes.length : at;
}

function localFilter(filter: FilterLists, queries: Int32Array, nodes: Int32Array | null): FilterLists {
  const lists = Array.from(queries, (q) => {
    const ids = filter.ids.subarray(filter.offsets[q], filter.offsets[q + 1]);
    return nodes === null ? ids : ids.map((id) => positionIn(nodes, id)).filter((at) => at >= 0);
  });
  const offsets = new Int32Array(queries.length + 1);
  for (const [i, list] of lists.entries()) offsets[i + 1] = offsets[i] + list.length;
  const ids = new Int32Array(offsets[queries.length]);
  for (const [i, list] of lists.entries()) ids.set(list, offsets[i]);
  return { offsets, ids };
}
