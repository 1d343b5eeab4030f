/**
 * Facts as one graph whose edges have a relation: the input of R-GCN and similar models.
 */
import { Graph } from '../graph/index.js';
import { checkOptionNames } from '../util/option-names.js';
import type { Triples } from './triples.js';

export interface RelationalGraph {
  readonly graph: Graph;
  /** The relation of each edge, by edge id. */
  readonly edgeType: Int32Array;
  readonly numRelations: number;
}

/**
 * Returns a graph of the entities with an edge head → tail per fact. With `inverse`, an edge tail → head per fact follows,
 * with relation r + R, where r is the relation of the fact and R the number of relations (Schlichtkrull et al., ESWC 2018).
 */
export function relationalGraph(
  triples: Triples,
  options: { readonly inverse?: boolean } = {},
): RelationalGraph {
  checkOptionNames('relationalGraph', options, { inverse: true });
  const { src, rel, dst, entities, relations } = triples;
  const numNodes = entities.length;
  if (options.inverse !== true) {
    return {
      graph: Graph.fromEdges(src, dst, { numNodes }),
      edgeType: rel,
      numRelations: relations.length,
    };
  }
  const count = src.length;
  const from = new Int32Array(2 * count);
  const to = new Int32Array(2 * count);
  const edgeType = new Int32Array(2 * count);
  from.set(src);
  from.set(dst, count);
  to.set(dst);
  to.set(src, count);
  edgeType.set(rel);
  for (let i = 0; i < count; i++) edgeType[count + i] = rel[i] + relations.length;
  return { graph: Graph.fromEdges(from, to, { numNodes }), edgeType, numRelations: 2 * relations.length };
}
