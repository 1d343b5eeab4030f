/** A partitioned graph, the same on all ranks, and the whole graph with the ids that partitions give. */
import {
  type Communicator,
  DistGraph,
  type DistGraphOptions,
  type PartitionData,
  partitionData,
  partitionGraph,
} from 'skein/dist';
import { Graph } from 'skein/graph';
import { fromTypedArray, type Tensor } from 'skein/tensor';
import { Random } from 'skein/util';

export interface Split {
  readonly pd: PartitionData;
  /** All nodes and edges by their global ids, with weights. */
  readonly whole: Graph;
  /** Features of all nodes, by global id. */
  readonly features: Tensor;
  readonly labels: Int32Array;
  /** Features of all edges, by global id. */
  readonly edgeRows: Float32Array;
  /** Features of this worker's nodes. */
  readonly ownFeatures: Tensor;
  readonly ownLabels: Tensor;
  readonly first: number;
  readonly end: number;
}

const numNodes = 240;
export const width = 5;
const classes = 4;

const drawn = (random: Random, n: number, below: number) =>
  Int32Array.from({ length: n }, () => random.nextInt(below));

/** `parts` partitions, distributed over the workers. Some nodes have no edges, some edges are loops or repeats. */
export function splitGraph(
  { rank, size }: Communicator,
  options: { parts?: number; weighted?: boolean } = {},
): Split {
  const random = new Random(11);
  const numEdges = 2000;
  const src = drawn(random, numEdges, numNodes - 10);
  const dst = drawn(random, numEdges, numNodes - 5);
  const labelOf = drawn(random, numNodes, classes);
  const rows = Float32Array.from({ length: numNodes * width }, (_, i) =>
    i % width === labelOf[Math.floor(i / width)] ? 1 + random.nextFloat() : random.nextFloat(),
  );
  const perEdge = Float32Array.from({ length: numEdges * 2 }, (_, i) => i / 8);
  const chance = Float32Array.from({ length: numEdges }, (_, i) => (i % 5 === 0 ? 0 : 1 + (i % 7)));
  const weight = Float32Array.from({ length: numEdges }, (_, i) => 0.5 + (i % 9) / 4);
  const weighted = options.weighted ?? true;
  const given = weighted ? { edgeWeight: weight } : {};
  const graph = Graph.fromEdges(src, dst, { numNodes, ...given });
  const cut = partitionGraph(graph, { parts: options.parts ?? size, algorithm: 'random', seed: 3 });
  const split = partitionData(graph, cut, {
    nodeFeatures: {
      features: fromTypedArray(rows, [numNodes, width]),
      labels: fromTypedArray(labelOf),
      ...masks(),
    },
    edgeFeatures: { e: fromTypedArray(perEdge, [numEdges, 2]), chance: fromTypedArray(chance) },
  });
  const newId = split.globalNodeIds();
  const edges = split.originalEdgeIds;
  const whole = Graph.fromEdges(
    edges.map((e) => newId[src[e]]),
    edges.map((e) => newId[dst[e]]),
    { numNodes, ...(weighted ? { edgeWeight: Float32Array.from(edges, (e) => weight[e]) } : {}) },
  );
  const pd = split.forWorker(rank, size);
  const { start, end } = pd.nodeRanges[rank];
  const original = split.originalNodeIds;
  const byId = Float32Array.from(rows, (_, i) => rows[original[Math.floor(i / width)] * width + (i % width)]);
  const labels = original.map((v) => labelOf[v]);
  return {
    ...{ pd, whole, labels, first: start, end },
    features: fromTypedArray(byId, [numNodes, width]),
    edgeRows: Float32Array.from(perEdge, (_, i) => perEdge[edges[i >> 1] * 2 + (i & 1)]),
    ownFeatures: fromTypedArray(byId.slice(start * width, end * width), [end - start, width]),
    ownLabels: fromTypedArray(labels.slice(start, end)),
  };
}

/** Every second node trains, the others validate and test. */
function masks(): Record<string, Tensor> {
  const mask = (rest: number) =>
    fromTypedArray(Uint8Array.from({ length: numNodes }, (_, v) => ((v % 4) >> 1 === rest >> 1 ? 1 : 0)));
  return { train_mask: mask(0), val_mask: mask(2), test_mask: mask(3) };
}

/** The probability of each edge by global id, as in `splitGraph`. */
export function chances(whole: Graph, edgeRows: Float32Array): Float32Array {
  return Float32Array.from({ length: whole.numEdges }, (_, e) => {
    const original = Math.round(edgeRows[2 * e] * 4);
    return original % 5 === 0 ? 0 : 1 + (original % 7);
  });
}

export function distGraph(comm: Communicator, split: Split, options: DistGraphOptions = {}): DistGraph {
  return DistGraph.fromPartitionData(split.pd, { comm, ...options });
}

/** Counts the calls of a communicator by name. */
export function counting(comm: Communicator): { comm: Communicator; calls: Record<string, number> } {
  const calls: Record<string, number> = {};
  const counted = new Proxy(comm, {
    get(target, key) {
      const value = Reflect.get(target, key, target);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]) => {
        calls[String(key)] = (calls[String(key)] ?? 0) + 1;
        return value.apply(target, args);
      };
    },
  });
  return { comm: counted, calls };
}
