/**
 * Cluster batches (Chiang et al.: "Cluster-GCN", KDD 2019): the graph is partitioned into clusters once, and a batch is
 * the subgraph of a few of them, with the edges between those.
 *
 * @example
 * const sampler = new ClusterSampler(graph, { numClusters: 1500 });
 * const { graph: part, nodeIds } = sampler.sample([3, 17, 99]);
 */
import { Adjacency, Graph, metisPartition } from '../graph/index.js';
import type { Ids } from '../tensor/index.js';
import { checkIds } from '../tensor/ops/common.js';
import { concatInt32 } from '../util/arrays.js';
import { checkInteger, expected, ShapeError, ValueError } from '../util/errors.js';
import { checkOptionNames } from '../util/option-names.js';
import { checkOneType, checkOptions } from './checks.js';
import type { Sampler, SampleTime } from './sampler.js';
import { SamplingGraph } from './sampling-graph.js';

export interface ClusterSamplerOptions {
  /** Partition into this many clusters by METIS. */
  readonly numClusters?: number;
  /** Alternatively: the cluster of each node, from 0. */
  readonly clusters?: Ids;
  readonly seed?: number;
}

export interface ClusterBatch {
  /** The nodes of the clusters and all edges between them. */
  readonly graph: Graph;
  /** Global ids of its nodes: by cluster as given, ascending within each. */
  readonly nodeIds: Int32Array;
  /** The edge of the whole graph for each edge. */
  readonly edgeIds: Int32Array;
}

const name = 'ClusterSampler';

export class ClusterSampler implements Sampler<Ids, ClusterBatch> {
  readonly numClusters: number;
  readonly #graph: SamplingGraph;
  /** Nodes by cluster. */
  readonly #offsets: Int32Array;
  readonly #nodes: Int32Array;
  readonly #map: Int32Array;

  constructor(graph: Graph, options: ClusterSamplerOptions) {
    checkOptionNames('ClusterSampler', options, { numClusters: true, clusters: true, seed: true });
    checkOneType(name, graph);
    checkOptions(name, options);
    if ((options.clusters === undefined) === (options.numClusters === undefined))
      throw new ValueError(`${name}: expected either numClusters or clusters, got both or neither.`);
    const n = graph.numNodes;
    const cluster =
      options.clusters === undefined
        ? metisPartition(graph, options.numClusters as number, { seed: options.seed ?? 0 }).parts
        : checkIds(name, 'clusters', options.clusters, 2 ** 31 - 1);
    if (cluster.length !== n)
      throw new ShapeError(expected(name, `${n} numbers`, 'clusters', cluster.length));
    this.numClusters = options.numClusters ?? cluster.reduce((most, c) => Math.max(most, c + 1), 0);
    this.#graph = new SamplingGraph(name, graph);
    this.#offsets = new Int32Array(this.numClusters + 1);
    this.#nodes = new Int32Array(n);
    this.#map = new Int32Array(n).fill(-1);
    for (let v = 0; v < n; v++) this.#offsets[cluster[v] + 1]++;
    for (let c = 0; c < this.numClusters; c++) this.#offsets[c + 1] += this.#offsets[c];
    const next = this.#offsets.slice();
    for (let v = 0; v < n; v++) this.#nodes[next[cluster[v]]++] = v;
  }

  /** Returns the global ids of the nodes of one cluster. */
  nodesOf(cluster: number): Int32Array {
    checkInteger(name, 'cluster', cluster, 0, this.numClusters - 1);
    return this.#nodes.slice(this.#offsets[cluster], this.#offsets[cluster + 1]);
  }

  /** Returns the subgraph of these clusters, duplicates ignored. It is not random, so the step has no effect. */
  sample(clusters: Ids, at?: SampleTime): ClusterBatch {
    checkInteger(name, 'epoch', at?.epoch ?? 0);
    checkInteger(name, 'step', at?.step ?? 0);
    const chosen = new Set(checkIds(name, 'clusters', clusters, this.numClusters));
    const nodeIds = concatInt32(
      [...chosen].map((c) => this.#nodes.subarray(this.#offsets[c], this.#offsets[c + 1])),
    );
    nodeIds.forEach((v, row) => {
      this.#map[v] = row;
    });
    const { offsets, indices } = this.#graph;
    const newOffsets = new Int32Array(nodeIds.length + 1);
    const room = nodeIds.reduce((sum, v) => sum + offsets[v + 1] - offsets[v], 0);
    const rows = new Int32Array(room);
    const slots = new Int32Array(room);
    let n = 0;
    for (let i = 0; i < nodeIds.length; i++) {
      for (let p = offsets[nodeIds[i]]; p < offsets[nodeIds[i] + 1]; p++) {
        const row = this.#map[indices[p]];
        if (row < 0) continue;
        slots[n] = p;
        rows[n++] = row;
      }
      newOffsets[i + 1] = n;
    }
    for (const v of nodeIds) this.#map[v] = -1;
    const kept = slots.slice(0, n);
    const adjacency = Adjacency.trusted(newOffsets, rows.slice(0, n), nodeIds.length);
    const graph = new Graph(adjacency, false, this.#graph.weightsOf(kept));
    return { graph, nodeIds, edgeIds: this.#graph.edgeIds(kept) };
  }

  /** Runs in a later microtask, on this thread: there is no kernel for it. */
  async sampleAsync(clusters: Ids, at?: SampleTime): Promise<ClusterBatch> {
    await Promise.resolve();
    return this.sample(clusters, at);
  }
}
