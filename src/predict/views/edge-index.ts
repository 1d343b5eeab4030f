/** The edges of a run by node, in both directions and with their split: what is drawn around a node. */
import type { OpenedGraphRun } from '../../train/index.js';
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

  constructor(columns: EdgeColumns, numNodes: number) {
    this.columns = columns;
    this.numNodes = numNodes;
    const { src, dst } = columns;
    const offsets = new Int32Array(numNodes + 1);
    for (let e = 0; e < src.length; e++) {
      offsets[src[e] + 1]++;
      if (dst[e] !== src[e]) offsets[dst[e] + 1]++;
    }
    for (let node = 0; node < numNodes; node++) offsets[node + 1] += offsets[node];
    const next = offsets.slice();
    const edges = new Int32Array(offsets[numNodes]);
    for (let e = 0; e < src.length; e++) {
      edges[next[src[e]]++] = e;
      if (dst[e] !== src[e]) edges[next[dst[e]]++] = e;
    }
    this.#offsets = offsets;
    this.#edges = edges;
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
  let e = 0;
  for (const [split, rows] of tables.entries())
    for (let i = 0; i < rows.length; i += width, e++) {
      src[e] = rows[i];
      if (width === 3) kinds[e] = rows[i + 1];
      dst[e] = rows[i + width - 1];
      splitOf[e] = split;
    }
  return new EdgeIndex(
    {
      src,
      dst,
      relations: width === 3 ? kinds : null,
      splits: splits.length > 1 ? splitOf : null,
      times: null,
    },
    dataset.stats.num_nodes,
  );
}

/** Returns the index of a stream's events so far. Each call builds it, because events arrive. */
export function eventIndexOf(
  { src, dst, time }: { readonly src: Int32Array; readonly dst: Int32Array; readonly time: Float64Array },
  numNodes: number,
): EdgeIndex {
  return new EdgeIndex({ src, dst, relations: null, splits: null, times: time }, numNodes);
}
