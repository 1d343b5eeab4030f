/**
 * A graph whose edges are sharded over workers, for layered samplers. Every worker knows the degree of each node and so
 * draws alone, exactly what it would draw with all edges; it requests the edges at the drawn positions from the workers
 * that hold them. Their communication threads answer, so workers need not sample at the same time.
 *
 * Edges are in the order of the node that draws, as in a `Graph`, and every worker holds one range of positions: a
 * node's edges may be on two workers. Memory per worker and direction: 8 bytes per edge (12 or 16 with relations and
 * weights) / workers, and 4 bytes per node.
 */
import type { DrawnRelations } from '../../sample/dense-sample.js';
import type { HopSources } from '../../sample/hop-source.js';
import type { EdgeList } from '../../sample/one-hop-sampler.js';
import { expected, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import type { Communicator } from '../comm/communicator.js';
import { evenRanges, openShardedRows } from '../stores/sharded-rows.js';
import { type FetchedEdges, type InEdgeColumns, ShardedHopSource } from './sharded-hop-source.js';

export interface ShardedSamplingGraphOptions {
  readonly numNodes: number;
  readonly numEdges: number;
  /** 0 without relations. */
  readonly numRelations: number;
  /** All edges in the order of their ids, chunk by chunk; iterated twice. */
  readonly chunks: () => AsyncIterable<EdgeList>;
  /** Whether incoming edges are followed, and outgoing ones. */
  readonly incoming: boolean;
  readonly outgoing: boolean;
  readonly comm: Communicator;
}

const name = 'ShardedSamplingGraph';

export class ShardedSamplingGraph implements HopSources {
  readonly incoming: ShardedHopSource | null;
  readonly outgoing: ShardedHopSource | null;
  readonly relations: DrawnRelations | null;

  private constructor(
    incoming: ShardedHopSource | null,
    outgoing: ShardedHopSource | null,
    numRelations: number,
  ) {
    this.incoming = incoming;
    this.outgoing = outgoing;
    this.relations =
      numRelations === 0
        ? null
        : { count: numRelations, of: (edges, slots) => (edges as FetchedEdges).relationsOf(slots) };
  }

  /** Reads the edges of this worker. All workers call it with the same edges; it does not wait for the others. */
  static async read(options: ShardedSamplingGraphOptions): Promise<ShardedSamplingGraph> {
    checkOptionNames(name, options, {
      ...{ numNodes: true, numEdges: true, numRelations: true, chunks: true },
      ...{ incoming: true, outgoing: true, comm: true },
    });
    checkShardedEdgeCount(name, options.numEdges);
    const counted = await countEdges(options);
    const { columns } = counted;
    const ranges = evenRanges(options.numEdges, options.comm.size);
    const { start, end } = ranges[options.comm.rank];
    const edges = counted.sides.map((side) => side && new EdgeRange(side.offsets, columns, start, end));
    let first = 0;
    for await (const chunk of options.chunks()) {
      edges[0]?.add(chunk, chunk.dst, chunk.src, first);
      edges[1]?.add(chunk, chunk.src, chunk.dst, first);
      first += chunk.src.length;
    }
    const sides: (ShardedHopSource | null)[] = [];
    try {
      for (const [i, title] of (['incoming', 'outgoing'] as const).entries()) {
        const [side, local] = [counted.sides[i], edges[i]];
        if (side === null || local === null) sides.push(null);
        else {
          const { numEdges: rows, comm } = options;
          const shared = { rows, width: columns.width, comm, read: () => local.rows };
          const store = await openShardedRows(title, shared);
          sides.push(new ShardedHopSource({ ...side, columns, store, hasLoop: counted.hasLoop }));
        }
      }
    } catch (error) {
      for (const side of sides) side?.close();
      throw error;
    }
    return new ShardedSamplingGraph(sides[0], sides[1], options.numRelations);
  }

  /** Number of edges that this worker holds per direction. */
  get numLocalEdges(): number {
    return Math.max(...[this.incoming, this.outgoing].map((side) => side?.numLocalEdges ?? 0));
  }

  /** Unregisters the edges of this worker, so that others can no longer read them. */
  close(): void {
    this.incoming?.close();
    this.outgoing?.close();
  }
}

/** Edge positions are 32-bit numbers, and so is the end of the last. */
const maxEdges = 2 ** 31 - 1;

/** Throws if there are more edges than can be sharded. */
export function checkShardedEdgeCount(where: string, numEdges: number): void {
  if (numEdges <= maxEdges) return;
  const advice =
    'Take fewer training edges, or a partition buffer (storage.embeddings.type: PARTITION_BUFFER), which reads edges from their file.';
  throw new ValueError(expected(where, `at most ${maxEdges} sharded edges`, 'numEdges', numEdges, advice));
}

/** The first edge position of each node, and the sum of its weights; null without weights. */
interface DirectionCounts {
  readonly offsets: Int32Array;
  readonly weights: Float64Array | null;
}

interface EdgeCounts {
  /** Incoming, outgoing; null if they are not followed. */
  readonly sides: readonly [DirectionCounts | null, DirectionCounts | null];
  readonly columns: InEdgeColumns;
  /** 1 for nodes with a self loop. */
  readonly hasLoop: Uint8Array;
}

async function countEdges(options: ShardedSamplingGraphOptions): Promise<EdgeCounts> {
  const { numNodes, numEdges, numRelations } = options;
  const side = (followed: boolean) =>
    followed ? { offsets: new Int32Array(numNodes + 1), weights: new Float64Array(numNodes) } : null;
  const [incoming, outgoing] = [side(options.incoming), side(options.outgoing)];
  const hasLoop = new Uint8Array(numNodes);
  let weighted = false;
  let count = 0;
  for await (const { src, dst, weights = null } of options.chunks()) {
    for (let e = 0; e < src.length; e++) {
      const from = checkNode(src[e], numNodes);
      const to = checkNode(dst[e], numNodes);
      const weight = weights === null ? 1 : checkWeight(weights[e]);
      if (incoming !== null) {
        incoming.offsets[to + 1]++;
        incoming.weights[to] += weight;
      }
      if (outgoing !== null) {
        outgoing.offsets[from + 1]++;
        outgoing.weights[from] += weight;
      }
      if (from === to) hasLoop[from] = 1;
    }
    weighted ||= weights !== null;
    count += src.length;
  }
  if (count !== numEdges) throw new ValueError(expected(name, `${numEdges} edges`, 'chunks', count));
  const finish = (found: ReturnType<typeof side>): DirectionCounts | null => {
    if (found === null) return null;
    const { offsets, weights } = found;
    for (let v = 0; v < numNodes; v++) offsets[v + 1] += offsets[v];
    return { offsets, weights: weighted ? weights : null };
  };
  const relation = numRelations > 0 ? 2 : -1;
  const weight = weighted ? (numRelations > 0 ? 3 : 2) : -1;
  const width = 2 + (numRelations > 0 ? 1 : 0) + (weighted ? 1 : 0);
  return { sides: [finish(incoming), finish(outgoing)], columns: { relation, weight, width }, hasLoop };
}

/** The edges of one direction at positions start … end − 1. */
class EdgeRange {
  readonly rows: Int32Array;
  readonly #columns: InEdgeColumns;
  readonly #start: number;
  readonly #end: number;
  /** The position of each node's next edge. */
  readonly #next: Int32Array;

  constructor(offsets: Int32Array, columns: InEdgeColumns, start: number, end: number) {
    this.rows = new Int32Array((end - start) * columns.width);
    this.#columns = columns;
    this.#start = start;
    this.#end = end;
    this.#next = offsets.slice(0, -1);
  }

  /** Adds edges from `drawing` nodes to `neighbors`; `first` is the id of the first edge. */
  add(
    { relations = null, weights = null }: EdgeList,
    drawing: Int32Array,
    neighbors: Int32Array,
    first: number,
  ): void {
    const { relation, weight, width } = this.#columns;
    const bits = weights === null ? null : new Int32Array(weights.buffer, weights.byteOffset, weights.length);
    const next = this.#next;
    for (let e = 0; e < drawing.length; e++) {
      const position = next[drawing[e]]++;
      if (position < this.#start || position >= this.#end) continue;
      const at = (position - this.#start) * width;
      this.rows[at] = neighbors[e];
      this.rows[at + 1] = first + e;
      if (relation >= 0) this.rows[at + relation] = (relations as Int32Array)[e];
      if (weight >= 0) this.rows[at + weight] = (bits as Int32Array)[e];
    }
  }
}

function checkNode(node: number, numNodes: number): number {
  if (node >= 0 && node < numNodes) return node;
  throw new ValueError(expected(name, `nodes from 0 to ${numNodes - 1}`, 'chunks', node));
}

function checkWeight(weight: number): number {
  if (Number.isFinite(weight)) return weight;
  throw new ValueError(expected(name, 'finite weights', 'chunks', weight));
}
