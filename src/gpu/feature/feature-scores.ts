/** Which rows of a feature table are hot: by a policy on the graph that is sampled, or by scores of the user's own. */
import type { Graph, SparseMatrix } from '../../graph/index.js';
import {
  type DrawGraph,
  drawGraphOf,
  type HotnessOptions,
  type HotnessPolicy,
  hotness,
} from '../../sample/hot/hotness.js';
import { expected, ShapeError } from '../../util/errors.js';

/** The graph that is sampled: row v lists whom v may draw. A `Graph` is read by incoming edges. */
export type FeatureGraph = Graph | SparseMatrix | (DrawGraph & { readonly numNodes?: number });

export interface ScoreOptions extends Omit<HotnessOptions, 'policy'> {
  /** How hot rows are chosen (default push), or a score for every row. */
  readonly hotness?: HotnessPolicy | ArrayLike<number>;
}

/** A score for every row; null without a graph, when rows can only come and go. */
export function featureScores(
  where: string,
  csr: FeatureGraph | null,
  rows: number,
  options: ScoreOptions,
): ArrayLike<number> | null {
  const { hotness: chosen = 'push', ...rest } = options;
  if (typeof chosen !== 'string') {
    if (chosen.length === rows) return chosen;
    throw new ShapeError(expected(where, `${rows} scores`, 'hotness', chosen.length));
  }
  if (csr === null) return null;
  const scores = hotness(drawGraphOf(csr), { ...rest, policy: chosen });
  if (scores.length > rows)
    throw new ShapeError(expected(where, `a row for each of ${scores.length} nodes`, 'x', `${rows} rows`));
  if (scores.length === rows) return scores;
  // Nodes behind the last one with neighbours: nobody draws them.
  const all = new Float64Array(rows);
  all.set(scores);
  return all;
}
