/**
 * Conversions between the two forms of a partitioned graph: one for sampling, one for message passing along all edges.
 * Both come from the same `PartitionData`, so each can be derived from the other; both conversions are collective.
 */
import { expected, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { constructFullGraph, constructHeteroGraph, partitionDataOf } from '../shards/construct-full-graph.js';
import { GraphShardManager } from '../shards/graph-shard-manager.js';
import type { HeteroGraphShardManager } from '../shards/hetero-graph-shard-manager.js';
import type { ShardingOptions } from '../shards/sharding-options.js';
import { DistGraph } from './dist-graph.js';

/** A graph that can be sampled: a `DistGraph`, or the result of `constructFullGraph`. */
export type Sampleable = DistGraph | GraphShardManager;

/**
 * Returns the whole graph for distributed inference after training on samples. Parameters are already equal on all
 * workers, so the model can be used unchanged. Edge weights stay weights.
 *
 * @example
 * const graph = convertDistGraph(g).to('cpu');
 * const y = noGrad(() => model.forward(graph, ownFeatures)); // a row for each node of this worker
 */
export function convertDistGraph(graph: DistGraph, options: ShardingOptions = {}): GraphShardManager {
  checkOptionNames('convertDistGraph', options, {
    mode: true,
    pipelineDepth: true,
    windowRows: true,
    compression: true,
    maxCollectiveSize: true,
  });
  checkDistGraph('convertDistGraph', graph);
  const weighted = graph.edges.weights === null ? {} : { edgeWeight: 'weight' };
  return constructFullGraph(graph.partitionData, { comm: graph.comm, ...weighted, ...options });
}

/** Converts a graph of several node or edge types. Edge features, including weights, become `edata`. */
export function convertDistHeteroGraph(
  graph: DistGraph,
  options: ShardingOptions = {},
): HeteroGraphShardManager {
  checkOptionNames('convertDistHeteroGraph', options, {
    mode: true,
    pipelineDepth: true,
    windowRows: true,
    compression: true,
    maxCollectiveSize: true,
  });
  checkDistGraph('convertDistHeteroGraph', graph);
  return constructHeteroGraph(graph.partitionData, { comm: graph.comm, ...options });
}

function checkDistGraph(where: string, graph: DistGraph): void {
  if (!(graph instanceof DistGraph)) throw new ValueError(expected(where, 'a DistGraph', 'graph', graph));
}

const sampled = new WeakMap<GraphShardManager, DistGraph>();

/** Returns the graph for samplers; created on first use, which is then collective. */
export function samplingGraph(graph: Sampleable): DistGraph {
  if (graph instanceof DistGraph) return graph;
  const pd = graph instanceof GraphShardManager ? partitionDataOf(graph) : undefined;
  if (pd === undefined)
    throw new ValueError(
      expected('DistNeighborSampler', 'a DistGraph or the graph of constructFullGraph', 'graph', graph),
    );
  let made = sampled.get(graph);
  if (made === undefined) {
    made = DistGraph.fromPartitionData(pd, { comm: graph.link.comm });
    sampled.set(graph, made);
  }
  return made;
}
