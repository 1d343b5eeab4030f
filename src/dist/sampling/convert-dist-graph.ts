/**
 * The two faces of a partitioned graph: one that is sampled, one that passes messages along all edges. Both come from the
 * same `PartitionData`, so either can be had from the other; both ways are collective.
 */
import { expected, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { constructFullGraph, constructHeteroGraph, sourceOf } from '../shards/construct-full-graph.js';
import { GraphShardManager } from '../shards/graph-shard-manager.js';
import type { HeteroGraphShardManager } from '../shards/hetero-graph-shard-manager.js';
import type { ShardingOptions } from '../shards/sharding-options.js';
import { DistGraph } from './dist-graph.js';

/** A graph that can be sampled: a `DistGraph`, or what `constructFullGraph` made. */
export type Sampleable = DistGraph | GraphShardManager;

/**
 * The whole graph for distributed inference after training on samples. Parameters are equal on all workers already, so
 * the model is used as it is. Weights of edges stay weights.
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

/** Converts a graph of several node or edge types. Edge features, weights too, become `edata`. */
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

/** The graph that samplers see; made on first use, which is collective then. */
export function samplingGraph(graph: Sampleable): DistGraph {
  if (graph instanceof DistGraph) return graph;
  const pd = graph instanceof GraphShardManager ? sourceOf(graph) : undefined;
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
