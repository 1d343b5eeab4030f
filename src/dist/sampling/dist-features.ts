/** The features of a partition, as tables that all workers can read. */

import { checkOptionNames } from '../../util/option-names.js';
import { suffixKeyLookup } from '../partition/suffix-key-lookup.js';
import type { DistGraph, NodeFeatureTable } from './dist-graph.js';

export interface DistFeaturesOptions {
  /** The features to open, by their names without the type; default: all. */
  readonly names?: readonly string[];
  /** Number of rows of other workers' nodes to cache, for each feature (default 0). */
  readonly cacheRows?: number;
}

/**
 * Opens tables of the node features of `graph`, by name. On graphs of several types a feature has rows for the nodes of
 * all types, zeros for those without it. Collective, with the same names on all workers.
 *
 * @example
 * const { features, labels } = distFeatures(graph, { cacheRows: 100_000 });
 * const sampler = new DistNeighborSampler([10, 10], { inputNodeFeatures: { features } });
 * const rows = await features.store.gather(ids);
 */
export function distFeatures(
  graph: DistGraph,
  options: DistFeaturesOptions = {},
): Record<string, NodeFeatureTable> {
  checkOptionNames('distFeatures', options, { names: true, cacheRows: true });
  const { partitionData } = graph;
  const names =
    options.names ??
    [
      ...new Set(Object.keys(partitionData.nodeFeatures).map((key) => key.slice(key.indexOf('/') + 1))),
    ].sort();
  const { cacheRows = 0 } = options;
  return Object.fromEntries(
    names.map((name) => [
      name,
      graph.openTable(name, suffixKeyLookup(partitionData, name, { expandToAll: true }), { cacheRows }),
    ]),
  );
}
