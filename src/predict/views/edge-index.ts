/** The edges of a run by node, in both directions and with their split: what is drawn around a node. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { OpenedGraphRun } from '../../train/index.js';
import { atOnce, Pace } from '../explain/pace.js';
import { oncePerRun } from './once-per-run.js';

export type EdgeSplit = 'train' | 'validation' | 'test';

export const edgeSplits: readonly EdgeSplit[] = ['train', 'validation', 'test'];

export interface EdgeColumns {
  readonly src: Int32Array;
  readonly dst: Int32Array;
  /** Null if edges have no relation. */
  readonly relations: Int32Array | null;
  /** Index into `edgeSplits`; null if all edges are known to the model. */
  readonly splits: Uint8Array | null;
  /** Null for edges without a time. */
  readonly times: Float64Array | null;
}

export class EdgeIndex {
  readonly columns: EdgeColumns;
  readonly numNodes: number;
  readonly #offsets: Int32Array;
  readonly #edges: Int32Array;

  constructor(columns: EdgeColumns, numNodes: number, byNode: EdgesByNode = atOnceOf(columns, numNodes)) {
    this.columns = columns;
    this.numNodes = numNodes;
    this.#offsets = byNode.offsets;
    this.#edges = byNode.edges;
  }

  /** Returns the numbers of the edges into and out of a node, ascending. */
  edgesAt(node: number): Int32Array {
    return this.#edges.subarray(this.#offsets[node], this.#offsets[node + 1]);
  }

  /** Number of edges of a node; a self loop counts once. */
  degree(node: number): number {
    return this.#offsets[node + 1] - this.#offsets[node];
  }
}

interface EdgesByNode {
  readonly offsets: Int32Array;
  readonly edges: Int32Array;
}

/** Sorts edges by node, and yields now and then. */
function* sortByNode({ src, dst }: EdgeColumns, numNodes: number): Generator<void, EdgesByNode> {
  const offsets = new Int32Array(numNodes + 1);
  for (let e = 0; e < src.length; e++) {
    if (e % atOnce === 0) yield;
    offsets[src[e] + 1]++;
    if (dst[e] !== src[e]) offsets[dst[e] + 1]++;
  }
  for (let node = 0; node < numNodes; node++) {
    if (node % atOnce === 0) yield;
    offsets[node + 1] += offsets[node];
  }
  const next = offsets.slice();
  const edges = new Int32Array(offsets[numNodes]);
  for (let e = 0; e < src.length; e++) {
    if (e % atOnce === 0) yield;
    edges[next[src[e]]++] = e;
    if (dst[e] !== src[e]) edges[next[dst[e]]++] = e;
  }
  return { offsets, edges };
}

function atOnceOf(columns: EdgeColumns, numNodes: number): EdgesByNode {
  const steps = sortByNode(columns, numNodes);
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/** Builds an index in slices, between which a server answers others. */
export async function buildEdgeIndex(columns: EdgeColumns, numNodes: number, pace: Pace): Promise<EdgeIndex> {
  const steps = sortByNode(columns, numNodes);
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return new EdgeIndex(columns, numNodes, value);
    await pace.step();
  }
}

/** Returns the index of all splits of a run's dataset; built once, because it reads every edge. */
export const edgeIndexOf: (run: OpenedGraphRun) => Promise<EdgeIndex> = oncePerRun(build);

async function build({ dataset }: OpenedGraphRun): Promise<EdgeIndex> {
  const width = dataset.numColumns;
  const splits = dataset.hasNodeSplits ? edgeSplits.slice(0, 1) : edgeSplits;
  const tables: Int32Array[] = [];
  for (const split of splits) tables.push(await dataset.readEdges(split));
  const count = tables.reduce((sum, table) => sum + table.length / width, 0);
  const [src, dst, kinds] = [new Int32Array(count), new Int32Array(count), new Int32Array(count)];
  const splitOf = new Uint8Array(count);
  // Several questions may wait for the index, so that none of them may end the work.
  const pace = new Pace(() => nextTurn());
  let e = 0;
  for (const [split, rows] of tables.entries())
    for (let i = 0; i < rows.length; i += width, e++) {
      if (e % atOnce === 0) await pace.step();
      src[e] = rows[i];
      if (width === 3) kinds[e] = rows[i + 1];
      dst[e] = rows[i + width - 1];
      splitOf[e] = split;
    }
  const columns = {
    src,
    dst,
    relations: width === 3 ? kinds : null,
    splits: splits.length > 1 ? splitOf : null,
    times: null,
  };
  return buildEdgeIndex(columns, dataset.stats.num_nodes, pace);
}

/** Returns the index of a stream's events so far. Each call builds it, because events arrive. */
export function eventIndexOf(
  { src, dst, time }: { readonly src: Int32Array; readonly dst: Int32Array; readonly time: Float64Array },
  numNodes: number,
): EdgeIndex {
  return new EdgeIndex({ src, dst, relations: null, splits: null, times: time }, numNodes);
}
