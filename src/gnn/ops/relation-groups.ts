/**
 * Edges of a graph with relations, grouped for layers that process all relations in a few passes. Created once per
 * graph and list of relations, and cached as long as both live; the list must not change.
 */
import { Adjacency, Block, LocalGraph, type MessageGraph } from '../../graph/index.js';
import { kernels } from '../../native/index.js';
import { deviceConstant } from '../../tensor/device-constants.js';
import {
  type FloatDType,
  fromTypedArray,
  type Ids,
  type Tensor,
  type TensorDevice,
} from '../../tensor/index.js';
import { checkIds } from '../../tensor/ops/common.js';
import { unscoped } from '../../tensor/scope.js';
import { expected, ShapeError, StateError, ValueError } from '../../util/errors.js';

/** A *pair* is a relation and a destination that some edge connects; pairs are sorted by relation, then destination. */
export interface RelationGroups {
  /** The graph's nodes as sources, pairs as destinations. */
  readonly toPairs: MessageGraph;
  /** Pairs as sources, the graph's nodes as destinations. */
  readonly fromPairs: Adjacency;
  /** Pairs of relation r: relationOffsets[r] … relationOffsets[r+1]−1. */
  readonly relationOffsets: Int32Array;
  /** Relation by edge position of the graph. */
  readonly slotRelations: Int32Array;
  /**
   * Returns 1 / (number of edges of the pair) per edge position, as a constant tensor [E] on a device (null: in
   * memory).
   */
  meanWeights(dtype: FloatDType, device: TensorDevice | null): Tensor;
}

const kept = new WeakMap<MessageGraph, WeakMap<Int32Array, RelationGroups>>();

/** @param edgeType the relation of each edge, by edge id. */
export function relationGroups(
  layer: string,
  graph: MessageGraph,
  edgeType: Ids,
  relations: number,
): RelationGroups {
  const adjacency = adjacencyOf(layer, graph);
  const types = checkIds(layer, 'edgeType', edgeType, relations);
  if (types.length !== graph.numEdges)
    throw new ShapeError(
      expected(layer, `${graph.numEdges} relations (one per edge)`, 'edgeType', types.length),
    );
  let byTypes = kept.get(graph);
  if (byTypes === undefined) {
    byTypes = new WeakMap();
    kept.set(graph, byTypes);
  }
  let groups = byTypes.get(types);
  if (groups === undefined || groups.relationOffsets.length !== relations + 1) {
    groups = makeGroups(graph, adjacency, types, relations);
    byTypes.set(types, groups);
  }
  return groups;
}

export function adjacencyOf(layer: string, graph: MessageGraph): Adjacency {
  if (graph instanceof LocalGraph) return graph.adjacency;
  throw new ValueError(expected(layer, 'a graph in this process', 'graph', graph));
}

/** Returns the ids of the destinations in the whole graph; null if they are 0, 1, 2, … */
export function globalIds(layer: string, graph: MessageGraph): Int32Array | null {
  if (graph.dstIds !== null || !(graph instanceof Block)) return graph.dstIds;
  throw new StateError(`${layer}: a block without srcIds has no node ids to look up. Pass features.`);
}

function makeGroups(
  graph: MessageGraph,
  adjacency: Adjacency,
  types: Int32Array,
  relations: number,
): RelationGroups {
  const { numEdges, numDst, edgeIds } = adjacency;
  const slotRelations = edgeIds === null ? types : gathered(types, edgeIds);
  // Edge positions are sorted by destination, so a stable sort by relation leaves them sorted by both.
  const slots = new Int32Array(numEdges);
  const edgeOffsets = new Int32Array(relations + 1);
  kernels().groupByKey(slotRelations, edgeOffsets, slots, numEdges, relations);
  const destinations = gathered(adjacency.destinations(), slots);
  const pairOffsets = new Int32Array(numEdges + 1);
  const pairDst = new Int32Array(numEdges);
  const relationOffsets = new Int32Array(relations + 1);
  let pairs = 0;
  for (let r = 0; r < relations; r++) {
    for (let i = edgeOffsets[r]; i < edgeOffsets[r + 1]; i++) {
      if (i === edgeOffsets[r] || destinations[i] !== destinations[i - 1]) {
        pairDst[pairs] = destinations[i];
        pairOffsets[pairs++] = i;
      }
    }
    relationOffsets[r + 1] = pairs;
  }
  pairOffsets[pairs] = numEdges;
  const byDst = new Int32Array(pairs);
  const dstOffsets = new Int32Array(numDst + 1);
  kernels().groupByKey(pairDst.subarray(0, pairs), dstOffsets, byDst, pairs, numDst);
  const offsets = pairOffsets.slice(0, pairs + 1);
  const weights = new Map<FloatDType, Tensor>();
  return {
    toPairs: graph.regroup(offsets, slots),
    fromPairs: Adjacency.trusted(dstOffsets, byDst, pairs),
    relationOffsets,
    slotRelations,
    meanWeights(dtype, device) {
      let weight = weights.get(dtype);
      if (weight === undefined) {
        weight = meanWeights(offsets, slots, dtype);
        weights.set(dtype, weight);
      }
      return device === null ? weight : deviceConstant(device, weight.dataSync());
    },
  };
}

function meanWeights(pairOffsets: Int32Array, slots: Int32Array, dtype: FloatDType): Tensor {
  const values = dtype === 'f32' ? new Float32Array(slots.length) : new Float64Array(slots.length);
  for (let pair = 0; pair + 1 < pairOffsets.length; pair++) {
    const [from, to] = [pairOffsets[pair], pairOffsets[pair + 1]];
    for (let i = from; i < to; i++) values[slots[i]] = 1 / (to - from);
  }
  return unscoped(() => fromTypedArray(values));
}

function gathered(values: Int32Array, ids: Int32Array): Int32Array {
  const result = new Int32Array(ids.length);
  kernels().gatherRows(values, ids, result, ids.length, 4);
  return result;
}
