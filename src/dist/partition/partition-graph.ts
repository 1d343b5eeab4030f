/**
 * Ways to cut a graph for several workers. All give every node one partition and the same partitions for the same input.
 *
 * `metis`: few edges between partitions, which are balanced in all that `balance` names at once (multi-constraint METIS).
 * `ldg`: linear deterministic greedy (Stanton and Kliot, KDD 2012), nodes in the order in which edges name them.
 * `speed`: streaming with hubs that tie nobody down (SPEED); edges in the order of their ids unless times are given.
 * `random`: dealt out from a shuffled pack, the densest traffic there is. The last three balance nodes only.
 */
import {
  Graph,
  type HeteroGraph,
  metisPartitionWeighted,
  removeSelfLoops,
  toUndirected,
} from '../../graph/index.js';
import { placeByLdg, placeBySpeed, placeRandomly, type TimedEdges } from '../../graph/partition/index.js';
import type { PartitionAlgorithm } from '../../temporal/index.js';
import { checkInteger, expected, ShapeError, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { type FlatGraph, flatGraph } from './flat-graph.js';
import { type CutStats, measureCut } from './measure-cut.js';

/** A partitioning algorithm that a configuration can name: `distributed.partition_algorithm`. */
interface CutterType<W extends string> {
  readonly name: W;
  /** Whether it balances more than nodes. */
  readonly balances: boolean;
  /** Bytes of memory that it takes for each node and each edge, measured. */
  readonly bytes: readonly [node: number, edge: number];
  readonly cut: (flat: FlatGraph, numParts: number, options: CutOptions) => Int32Array;
  /** What cuts a stream of events in this way; null: nothing does. */
  readonly ofStreams: PartitionAlgorithm | null;
}

const cutterType = <const W extends string>(record: CutterType<W>): CutterType<W> => record;
/** What the streaming algorithms take. */
const streaming = { balances: false, bytes: [36, 52] } as const;

/** The first is the default. */
const cutterTypes = [
  cutterType({
    ...{ name: 'metis', balances: true, bytes: [72, 180], ofStreams: 'metis_for_tgnn' },
    cut: (flat, numParts, { seed, weights }) => metisNodes(flat, numParts, seed, weights),
  }),
  cutterType({
    ...{ name: 'ldg', ...streaming, ofStreams: 'ldg' },
    cut: (flat, numParts) => placeByLdg(flat, numParts),
  }),
  cutterType({
    ...{ name: 'speed', ...streaming, ofStreams: 'speed' },
    cut: (flat, numParts, { time }) => placeBySpeed(stream(flat, time), numParts, hotShare).master,
  }),
  cutterType({
    ...{ name: 'random', ...streaming, ofStreams: 'random' },
    cut: ({ numNodes }, numParts, { seed }) => placeRandomly(numNodes, numParts, seed),
  }),
] as const;

export type GraphCutter = (typeof cutterTypes)[number]['name'];
export const graphCutters = cutterTypes.map(({ name }) => name) as readonly GraphCutter[] as readonly [
  GraphCutter,
  ...GraphCutter[],
];

/** Bytes of memory that an algorithm takes for each node and each edge. */
export function cutterBytes(algorithm: GraphCutter): readonly [node: number, edge: number] {
  return cutterNamed(algorithm).bytes;
}

/** What cuts a stream of events as an algorithm cuts a graph; null where nothing does. */
export function streamCutter(algorithm: GraphCutter): PartitionAlgorithm | null {
  return cutterNamed(algorithm).ofStreams;
}

/** The record of an algorithm's name. */
function cutterNamed(name: GraphCutter): CutterType<GraphCutter> {
  const found = cutterTypes.find((type) => type.name === name);
  if (found !== undefined) return found;
  throw new ValueError(expected('partitionGraph', `one of ${graphCutters.join(', ')}`, 'algorithm', name));
}

/** What partitions shall have about equally many of. */
export interface CutBalance {
  /** Default true. */
  readonly nodes?: boolean;
  /** Edges, which a worker holds for the nodes that they lead to. */
  readonly edges?: boolean;
  /** Nodes with another value than 0: a mask of training nodes. */
  readonly trainMask?: ArrayLike<number>;
  /** Nodes of each type of a heterogeneous graph. */
  readonly nodeTypes?: boolean;
}

export interface PartitionGraphOptions {
  readonly parts: number;
  /** Default metis. */
  readonly algorithm?: GraphCutter;
  readonly balance?: CutBalance;
  readonly seed?: number;
  /** When each edge came, by edge id (types one after the other): what `speed` goes by. By default the id itself. */
  readonly time?: ArrayLike<number>;
}

export interface GraphPartition {
  readonly algorithm: GraphCutter;
  readonly numParts: number;
  /** The partition of every node, those of one type after those of the other. */
  readonly parts: Int32Array;
  /** The partition of every node, by its type. */
  readonly partsByType: Readonly<Record<string, Int32Array>>;
  readonly stats: CutStats;
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
  const flat = flatGraph(where, graph);
  const { algorithm = 'metis', balance = {} } = options;
  const cutter = cutterNamed(algorithm);
  const numParts = checkInteger(where, 'parts', options.parts, 1, Math.max(1, flat.numNodes));
  const seed = checkInteger(where, 'seed', options.seed ?? 0, 0, 2 ** 31 - 1);
  const weights = balanceWeights(where, flat, balance);
  if (!cutter.balances && !isNodesOnly(balance))
    throw new ValueError(
      expected(where, 'nodes only', `balance with ${algorithm}`, named(balance), "Use algorithm 'metis'."),
    );
  const { time } = options;
  if (time !== undefined && time.length !== flat.src.length)
    throw new ShapeError(expected(where, `${flat.src.length} times`, 'time', time.length));
  const parts =
    numParts === 1 ? new Int32Array(flat.numNodes) : cutter.cut(flat, numParts, { seed, weights, time });
  const byType = flat.nodeTypeNames.map((type, t) => [
    type,
    parts.subarray(flat.nodeOffsets[t], flat.nodeOffsets[t + 1]),
  ]);
  return {
    algorithm,
    numParts,
    parts,
    partsByType: Object.fromEntries(byType),
    stats: measureCut(flat, parts, numParts, balance.trainMask),
  };
}

interface CutOptions {
  readonly seed: number;
  readonly weights: readonly Int32Array[];
  readonly time: ArrayLike<number> | undefined;
}

/** Edges as events in order of time; equal times in the order of ids. */
function stream({ numNodes, src, dst }: FlatGraph, time: ArrayLike<number> | undefined): TimedEdges {
  if (time === undefined) return { numNodes, src, dst, time: Float64Array.from(src.keys()) };
  const order = Int32Array.from(src.keys()).sort((a, b) => time[a] - time[b] || a - b);
  return {
    numNodes,
    src: order.map((e) => src[e]),
    dst: order.map((e) => dst[e]),
    time: Float64Array.from(order, (e) => time[e]),
  };
}

/** Nodes that `speed` takes for hubs. */
const hotShare = 0.1;

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

function isNodesOnly({ nodes = true, edges, trainMask, nodeTypes }: CutBalance): boolean {
  return nodes && edges !== true && trainMask === undefined && nodeTypes !== true;
}

function named(balance: CutBalance): string {
  return Object.keys(balance).join(', ');
}

/** One weight per node for each thing to balance. A thing of which there is none would leave METIS nothing to divide by. */
function balanceWeights(where: string, flat: FlatGraph, balance: CutBalance): Int32Array[] {
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
      expected(where, 'at most 16 things to balance', 'balance', useful.length, 'Leave nodeTypes out.'),
    );
  return useful;
}
