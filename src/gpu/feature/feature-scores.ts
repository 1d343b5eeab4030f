/** Which rows of a feature table are hot: by a policy on the graph that is sampled, or by scores of the user's own. */
import type { Graph, SparseMatrix } from '../../graph/index.js';
import {
  type DrawGraph,
  drawGraphOf,
  type HotnessOptions,
  type HotnessPolicy,
  hotness,
  hotnessPolicies,
  numNodesOf,
} from '../../sample/hot/hotness.js';
import { expected, ShapeError, ValueError } from '../../util/errors.js';

/** The graph that is sampled: row v lists whom v may draw. A `Graph` is read by incoming edges. */
export type FeatureGraph = Graph | SparseMatrix | (DrawGraph & { readonly numNodes?: number });

export interface ScoreOptions extends Omit<HotnessOptions, 'policy'> {
  /** How hot rows are chosen (default push), or a score for every row. */
  readonly hotness?: HotnessPolicy | ArrayLike<number>;
}

/** Refuses what no budget could serve, so that a mistake shows whether or not everything fits on the device. */
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
  const nodes = csr === null ? 0 : numNodesOf(drawGraphOf(csr));
  if (nodes > rows)
    throw new ShapeError(expected(where, `a row for each of ${nodes} nodes`, 'x', `${rows} rows`));
}

/** A score for every row; null without a graph, when rows can only come and go. */
export function featureScores(
  csr: FeatureGraph | null,
  rows: number,
  options: ScoreOptions,
): ArrayLike<number> | null {
  const { hotness: chosen = 'push', ...rest } = options;
  if (typeof chosen !== 'string') return chosen;
  if (csr === null) return null;
  const scores = hotness(drawGraphOf(csr), { ...rest, policy: chosen });
  if (scores.length === rows) return scores;
  // Nodes behind the last one with neighbours: nobody draws them.
  const all = new Float64Array(rows);
  all.set(scores);
  return all;
}
