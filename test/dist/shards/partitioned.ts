/**
 * For tests: the data of each worker of a graph, made in memory from the partition of each node, and the mapping
 * between rows of workers and those of the whole graph.
 */
import { PartitionBook, type PartitionData } from 'skein/dist';
import type { Graph, HeteroGraph } from 'skein/graph';
import { fromTypedArray, type Tensor, zeros } from 'skein/tensor';
import type { ShardEdgesAndFeatures } from '#internal/dist/partition/partition-data.js';

export interface Partitioned {
  readonly pd: PartitionData;
  /** Original node of each own row (of one type, if there are several). */
  readonly nodes: Readonly<Record<string, Int32Array>>;
  /** Original edge of each own edge, in order. */
  readonly edges: Readonly<Record<string, Int32Array>>;
}

interface Relation {
  readonly name: string;
  readonly src: string;
  readonly dst: string;
  readonly from: Int32Array;
  readonly to: Int32Array;
  readonly weight: Float32Array | null;
}

/** Parts by type. Global ids are worker by worker, within a worker type by type. */
function partition(
  counts: Readonly<Record<string, number>>,
  relations: readonly Relation[],
  parts: Readonly<Record<string, Int32Array>>,
  size: number,
  rank: number,
): Partitioned {
  const types = Object.keys(counts);
  const newId: Record<string, Int32Array> = {};
  for (const type of types) newId[type] = new Int32Array(counts[type]);
  const nodeRanges: { start: number; end: number }[] = [];
  const own: Record<string, Int32Array> = {};
  const ownTypes: number[] = [];
  const nodeMap: { start: number; end: number }[][] = types.map(() => []);
  let next = 0;
  for (let q = 0; q < size; q++) {
    const start = next;
    for (const [t, type] of types.entries()) {
      const from = next;
      const members: number[] = [];
      for (let v = 0; v < counts[type]; v++) {
        if (parts[type][v] !== q) continue;
        newId[type][v] = next++;
        members.push(v);
        if (q === rank) ownTypes.push(t);
      }
      nodeMap[t].push({ start: from, end: next });
      if (q === rank) own[type] = Int32Array.from(members);
    }
    nodeRanges.push({ start, end: next });
  }
  const edges: Record<string, Int32Array> = {};
  const shards: { src: number[]; dst: number[]; edgeIds: number[]; types: number[]; places: number[] }[] = [];
  for (let q = 0; q < size; q++) shards.push({ src: [], dst: [], edgeIds: [], types: [], places: [] });
  const weights: number[][] = nodeRanges.map(() => []);
  const edgeMap: { start: number; end: number }[][] = relations.map(() => []);
  let edgeId = 0;
  for (let q = 0; q < size; q++) {
    for (const [t, { name, src, dst, from, to, weight }] of relations.entries()) {
      const start = edgeId;
      const members: number[] = [];
      for (let e = 0; e < from.length; e++) {
        if (parts[dst][to[e]] !== q) continue;
        const id = edgeId++;
        if (q !== rank) continue;
        members.push(e);
        const owner = parts[src][from[e]];
        const shard = shards[owner];
        shard.src.push(newId[src][from[e]]);
        shard.dst.push(newId[dst][to[e]]);
        shard.edgeIds.push(id);
        shard.types.push(t);
        if (weight !== null) weights[owner].push(weight[e]);
      }
      edgeMap[t].push({ start, end: edgeId });
      if (q === rank) edges[name] = Int32Array.from(members);
    }
  }
  const names = relations.map(({ name, src, dst }) => `${src}:${name}:${dst}`);
  const allShardEdges = shards.map((shard, q): ShardEdgesAndFeatures => {
    const edgeFeatures: Record<string, Tensor> = {};
    if (relations.length === 1 && relations[0].weight !== null)
      edgeFeatures[`${names[0]}/weight`] =
        weights[q].length === 0 ? zeros([0]) : fromTypedArray(Float32Array.from(weights[q]));
    return {
      src: Int32Array.from(shard.src),
      dst: Int32Array.from(shard.dst),
      edgeIds: Int32Array.from(shard.edgeIds),
      edgeTypes: relations.length === 1 ? null : Int32Array.from(shard.types),
      edgeFeatures,
    };
  });
  const pd: PartitionData = {
    rank,
    nodeRanges,
    allShardEdges,
    nodeFeatures: {},
    nodeTypes: types.length === 1 ? null : Int32Array.from(ownTypes),
    nodeTypeNames: types,
    edgeTypeNames: names,
    partitionBook: new PartitionBook({ nodeTypeNames: types, edgeTypeNames: names, nodeMap, edgeMap }),
    originalNodeIds: Int32Array.from(types.flatMap((type) => [...own[type]])),
    originalEdgeIds: Int32Array.from(relations.flatMap(({ name }) => [...edges[name]])),
  };
  return { pd, nodes: own, edges };
}

export function partitionGraph(graph: Graph, parts: Int32Array, size: number, rank: number): Partitioned {
  const { src, dst } = graph.edges();
  const relation = { name: '_E', src: '_N', dst: '_N', from: src, to: dst, weight: graph.edgeWeight };
  return partition({ _N: graph.numNodes }, [relation], { _N: parts }, size, rank);
}

export function partitionHetero(
  graph: HeteroGraph,
  parts: Readonly<Record<string, Int32Array>>,
  size: number,
  rank: number,
): Partitioned {
  const counts = Object.fromEntries(graph.nodeTypes.map((type) => [type, graph.numNodes(type)]));
  const relations = graph.edgeTypes.map(([src, name, dst]) => {
    const edges = graph.relation([src, name, dst]).edges();
    return { name, src, dst, from: edges.src, to: edges.dst, weight: null };
  });
  return partition(counts, relations, parts, size, rank);
}
