/** The features that a partition came with, as tables that all workers can read. */

import { checkOptionNames } from '../../util/option-names.js';
import { suffixKeyLookup } from '../partition/suffix-key-lookup.js';
import type { DistGraph, NodeTable } from './dist-graph.js';

export interface DistFeaturesOptions {
  /** Which; default all. The part of a name behind the type. */
  readonly names?: readonly string[];
  /** How many rows of other workers' nodes to keep copies of, for each (default 0). */
  readonly cacheRows?: number;
}

/**
 * Opens tables of the node features of `graph`, by name. On graphs of several types a feature has rows for the nodes of
 * all types, zeros where a type does not have it. All workers call it together, with the same names.
 *
 * @example
 * const { features, labels } = distFeatures(graph, { cacheRows: 100_000 });
 * const sampler = new DistNeighborSampler([10, 10], { inputNodeFeatures: { features } });
 * const rows = await features.store.gather(ids);
 */
export function distFeatures(graph: DistGraph, options: DistFeaturesOptions = {}): Record<string, NodeTable> {
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
