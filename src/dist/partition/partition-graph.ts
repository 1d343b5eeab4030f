/**
 * Algorithms that partition a graph for several workers. Each assigns every node to one partition, deterministically.
 *
 * `metis`: few edges between partitions, balanced in everything that `balance` names (multi-constraint METIS).
 * `ldg`: linear deterministic greedy (Stanton and Kliot, KDD 2012), nodes in the order in which edges name them.
 * `speed`: streaming that does not place nodes by their hubs (SPEED); edges in the order of their ids unless times are given.
 * `random`: equal numbers of nodes at random, the upper bound of traffic. The last three balance nodes only.
 */
import { Graph, type HeteroGraph, removeSelfLoops, toUndirected } from '../../graph/index.js';
import { placeByLdg, placeBySpeed, placeRandomly, type TimedEdges } from '../../graph/partition/index.js';
import { metisPartitionWeighted } from '../../graph/partition/metis.js';
import type { PartitionAlgorithm } from '../../temporal/index.js';
import { checkInteger, expected, ShapeError, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { type FlatGraph, flattenGraph } from './flat-graph.js';
import { type GraphPartitionStats, measurePartition } from './measure-partition.js';

/** An algorithm with its name in configurations, `distributed.partition_algorithm`. */
interface Partitioner<N extends string> {
  readonly name: N;
  /** Whether it balances more than nodes. */
  readonly balances: boolean;
  /** Memory in bytes per node and per edge, measured. */
  readonly bytes: readonly [node: number, edge: number];
  readonly partition: (flat: FlatGraph, numParts: number, options: PartitionerOptions) => Int32Array;
  /** The corresponding algorithm for event streams; null if there is none. */
  readonly forStreams: PartitionAlgorithm | null;
}

const definePartitioner = <const N extends string>(record: Partitioner<N>): Partitioner<N> => record;
/** Properties of the streaming algorithms. */
const streaming = { balances: false, bytes: [36, 52] } as const;

/** The first is the default. */
const partitioners = [
  definePartitioner({
    ...{ name: 'metis', balances: true, bytes: [72, 180], forStreams: 'metis_for_tgnn' },
    partition: (flat, numParts, { seed, weights }) => metisNodes(flat, numParts, seed, weights),
  }),
  definePartitioner({
    ...{ name: 'ldg', ...streaming, forStreams: 'ldg' },
    partition: (flat, numParts) => placeByLdg(flat, numParts),
  }),
  definePartitioner({
    ...{ name: 'speed', ...streaming, forStreams: 'speed' },
    partition: (flat, numParts, { time }) => placeBySpeed(toEvents(flat, time), numParts, hubFraction).master,
  }),
  definePartitioner({
    ...{ name: 'random', ...streaming, forStreams: 'random' },
    partition: ({ numNodes }, numParts, { seed }) => placeRandomly(numNodes, numParts, seed),
  }),
] as const;

export type GraphPartitioner = (typeof partitioners)[number]['name'];
export const graphPartitioners = partitioners.map(
  ({ name }) => name,
) as readonly GraphPartitioner[] as readonly [GraphPartitioner, ...GraphPartitioner[]];

/** Returns the memory of an algorithm in bytes per node and per edge. */
export function partitionerBytes(algorithm: GraphPartitioner): readonly [node: number, edge: number] {
  return findPartitioner(algorithm).bytes;
}

/** Returns the corresponding algorithm for event streams; null if there is none. */
export function streamPartitioner(algorithm: GraphPartitioner): PartitionAlgorithm | null {
  return findPartitioner(algorithm).forStreams;
}

/** Returns the algorithm of a name. */
function findPartitioner(name: GraphPartitioner): Partitioner<GraphPartitioner> {
  const found = partitioners.find((partitioner) => partitioner.name === name);
  if (found !== undefined) return found;
  throw new ValueError(
    expected('partitionGraph', `one of ${graphPartitioners.join(', ')}`, 'algorithm', name),
  );
}

/** Quantities that are balanced between partitions. */
export interface PartitionBalance {
  /** Default true. */
  readonly nodes?: boolean;
  /** Edges, which belong to the partition of their destination. */
  readonly edges?: boolean;
  /** Nodes whose value is not 0: a mask of training nodes. */
  readonly trainMask?: ArrayLike<number>;
  /** Nodes of each type of a heterogeneous graph. */
  readonly nodeTypes?: boolean;
}

export interface PartitionGraphOptions {
  readonly parts: number;
  /** Default metis. */
  readonly algorithm?: GraphPartitioner;
  readonly balance?: PartitionBalance;
  readonly seed?: number;
  /** The time of each edge by edge id (types one after the other), for `speed`. Default: the id itself. */
  readonly time?: ArrayLike<number>;
}

export interface GraphPartition {
  readonly algorithm: GraphPartitioner;
  readonly numParts: number;
  /** The partition of every node, those of one type after those of the other. */
  readonly parts: Int32Array;
  /** The partition of every node, by its type. */
  readonly partsByType: Readonly<Record<string, Int32Array>>;
  readonly stats: GraphPartitionStats;
}

export function partitionGraph(graph: Graph | HeteroGraph, options: PartitionGraphOptions): GraphPartition {
  checkOptionNames('partitionGraph', options, {
    parts: true,
    algorithm: true,
    balance: true,
    seed: true,
    time: true,
  });
  const where = 'partitionGraph';
  const flat = flattenGraph(where, graph);
  const { algorithm = 'metis', balance = {} } = options;
  const partitioner = findPartitioner(algorithm);
  const numParts = checkInteger(where, 'parts', options.parts, 1, Math.max(1, flat.numNodes));
  const seed = checkInteger(where, 'seed', options.seed ?? 0, 0, 2 ** 31 - 1);
  const weights = balanceWeights(where, flat, balance);
  if (!partitioner.balances && !isNodesOnly(balance))
    throw new ValueError(
      expected(
        where,
        'nodes only',
        `balance with ${algorithm}`,
        nameBalance(balance),
        "Use algorithm 'metis'.",
      ),
    );
  const { time } = options;
  if (time !== undefined && time.length !== flat.src.length)
    throw new ShapeError(expected(where, `${flat.src.length} times`, 'time', time.length));
  const parts =
    numParts === 1
      ? new Int32Array(flat.numNodes)
      : partitioner.partition(flat, numParts, { seed, weights, time });
  const byType = flat.nodeTypeNames.map((type, t) => [
    type,
    parts.subarray(flat.nodeOffsets[t], flat.nodeOffsets[t + 1]),
  ]);
  return {
    algorithm,
    numParts,
    parts,
    partsByType: Object.fromEntries(byType),
    stats: measurePartition(flat, parts, numParts, balance.trainMask),
  };
}

interface PartitionerOptions {
  readonly seed: number;
  readonly weights: readonly Int32Array[];
  readonly time: ArrayLike<number> | undefined;
}

/** Returns the edges as events ordered by time, equal times by id. */
function toEvents({ numNodes, src, dst }: FlatGraph, time: ArrayLike<number> | undefined): TimedEdges {
  if (time === undefined) return { numNodes, src, dst, time: Float64Array.from(src.keys()) };
  const order = Int32Array.from(src.keys()).sort((a, b) => time[a] - time[b] || a - b);
  return {
    numNodes,
    src: order.map((e) => src[e]),
    dst: order.map((e) => dst[e]),
    time: Float64Array.from(order, (e) => time[e]),
  };
}

/** Fraction of nodes that `speed` treats as hubs. */
const hubFraction = 0.1;

function metisNodes(
  { numNodes, src, dst }: FlatGraph,
  numParts: number,
  seed: number,
  weights: readonly Int32Array[],
): Int32Array {
  const graph = removeSelfLoops(toUndirected(Graph.fromEdges(src, dst, { numNodes })));
  const { offsets, indices } = graph.adjacency;
  const constraints = weights.length;
  const nodeWeights = new Int32Array(numNodes * constraints);
  weights.forEach((weight, c) => {
    for (let v = 0; v < numNodes; v++) nodeWeights[v * constraints + c] = weight[v];
  });
  const edgeWeights = new Int32Array(indices.length).fill(1);
  const adjacency = { offsets: offsets as Int32Array, indices, edgeWeights, nodeWeights, constraints };
  return metisPartitionWeighted(adjacency, numParts, { seed }).parts;
}

function isNodesOnly({ nodes = true, edges, trainMask, nodeTypes }: PartitionBalance): boolean {
  return nodes && edges !== true && trainMask === undefined && nodeTypes !== true;
}

function nameBalance(balance: PartitionBalance): string {
  return Object.keys(balance).join(', ');
}

/** Returns one weight per node for each quantity to balance. METIS would divide by 0 for a quantity whose total is 0. */
function balanceWeights(where: string, flat: FlatGraph, balance: PartitionBalance): Int32Array[] {
  const { numNodes, dst, nodeOffsets, nodeTypeNames } = flat;
  const { nodes = true, edges = false, trainMask, nodeTypes = false } = balance;
  const all: Int32Array[] = [];
  if (nodes) all.push(new Int32Array(numNodes).fill(1));
  if (edges) {
    const degrees = new Int32Array(numNodes);
    for (const v of dst) degrees[v]++;
    all.push(degrees);
  }
  if (trainMask !== undefined) {
    if (trainMask.length !== numNodes)
      throw new ShapeError(expected(where, `${numNodes} values`, 'balance.trainMask', trainMask.length));
    all.push(Int32Array.from({ length: numNodes }, (_, v) => (trainMask[v] === 0 ? 0 : 1)));
  }
  if (nodeTypes && nodeTypeNames.length > 1) {
    nodeTypeNames.forEach((_, t) => {
      all.push(new Int32Array(numNodes).fill(1, nodeOffsets[t], nodeOffsets[t + 1]));
    });
  }
  const useful = all.filter((weight) => weight.some((w) => w > 0));
  if (useful.length === 0) return [new Int32Array(numNodes).fill(1)];
  if (useful.length > 16)
    throw new ValueError(
      expected(where, 'at most 16 quantities to balance', 'balance', useful.length, 'Leave nodeTypes out.'),
    );
  return useful;
}
