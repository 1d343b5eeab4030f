/** Chooses the hot rows of a feature table: by a policy on the graph that is sampled, or by the user's scores. */
import type { Graph, SparseMatrix } from '../../graph/index.js';
import {
  type DrawGraph,
  type HotnessOptions,
  type HotnessPolicy,
  hotness,
  hotnessPolicies,
  numNodesOf,
  toDrawGraph,
} from '../../sample/hot/hotness.js';
import { expected, ShapeError, ValueError } from '../../util/errors.js';

/** The graph that is sampled: row v lists the neighbours that v may draw. A `Graph` is read by incoming edges. */
export type FeatureGraph = Graph | SparseMatrix | (DrawGraph & { readonly numNodes?: number });

export interface ScoreOptions extends Omit<HotnessOptions, 'policy'> {
  /** The policy that chooses hot rows (default push), or a score for every row. */
  readonly hotness?: HotnessPolicy | ArrayLike<number>;
}

/**
 * Throws for options that are wrong with any budget, so that an error does not depend on whether everything fits on the
 * device.
 */
export function checkScoring(
  where: string,
  csr: FeatureGraph | null,
  rows: number,
  { hotness: chosen = 'push' }: ScoreOptions,
): void {
  if (typeof chosen !== 'string') {
    if (chosen.length !== rows)
      throw new ShapeError(expected(where, `${rows} scores`, 'hotness', chosen.length));
  } else if (!hotnessPolicies.includes(chosen))
    throw new ValueError(expected(where, `${hotnessPolicies.join(', ')} or scores`, 'hotness', chosen));
  const nodes = csr === null ? 0 : numNodesOf(toDrawGraph(csr));
  if (nodes > rows)
    throw new ShapeError(expected(where, `a row for each of ${nodes} nodes`, 'x', `${rows} rows`));
}

/** Returns a score for every row; null without a graph, when the whole cache is dynamic. */
export function featureScores(
  csr: FeatureGraph | null,
  rows: number,
  options: ScoreOptions,
): ArrayLike<number> | null {
  const { hotness: chosen = 'push', ...rest } = options;
  if (typeof chosen !== 'string') return chosen;
  if (csr === null) return null;
  const scores = hotness(toDrawGraph(csr), { ...rest, policy: chosen });
  if (scores.length === rows) return scores;
  // Nodes after the last one with neighbours are never drawn.
  const all = new Float64Array(rows);
  all.set(scores);
  return all;
}
