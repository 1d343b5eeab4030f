/**
 * A graph whose edges several workers hold together, for samplers of layers. Every worker knows how many edges each node has
 * and so draws by itself, exactly what it would draw with all edges; what is at the drawn places it asks of those who
 * hold it. Their communication threads answer, so workers sample when they like.
 *
 * Edges lie in the order of the node that draws, as in a `Graph`, and every worker holds one range of the places: a node's
 * edges may lie with two. Memory of a worker: 8 bytes of edges (12 or 16 with relations and weights) / workers, and
 * 4 bytes a node, for each direction.
 */
import type { DrawnRelations, EdgeList, HopSources } from '../../sample/index.js';
import { expected, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import type { Communicator } from '../comm/communicator.js';
import { evenRanges, openShardedRows } from '../stores/sharded-rows.js';
import { type FetchedEdges, type SpreadColumns, SpreadSide } from './spread-side.js';

export interface SpreadGraphOptions {
  readonly numNodes: number;
  readonly numEdges: number;
  /** 0 without relations. */
  readonly numRelations: number;
  /** All edges in the order of their ids, piece by piece; gone through twice. */
  readonly pieces: () => AsyncIterable<EdgeList>;
  /** Which edges of a node are followed. */
  readonly incoming: boolean;
  readonly outgoing: boolean;
  readonly comm: Communicator;
}

const name = 'SpreadGraph';

export class SpreadGraph implements HopSources {
  readonly incoming: SpreadSide | null;
  readonly outgoing: SpreadSide | null;
  readonly relations: DrawnRelations | null;

  private constructor(incoming: SpreadSide | null, outgoing: SpreadSide | null, numRelations: number) {
    this.incoming = incoming;
    this.outgoing = outgoing;
    this.relations =
      numRelations === 0
        ? null
        : { count: numRelations, of: (edges, slots) => (edges as FetchedEdges).relationsOf(slots) };
  }

  /** Reads what this worker holds. All workers call it with the same edges; none waits for the others. */
  static async read(options: SpreadGraphOptions): Promise<SpreadGraph> {
    checkOptionNames(name, options, {
      ...{ numNodes: true, numEdges: true, numRelations: true, pieces: true },
      ...{ incoming: true, outgoing: true, comm: true },
    });
    checkSpreadEdges(name, options.numEdges);
    const counted = await countEdges(options);
    const { columns } = counted;
    const ranges = evenRanges(options.numEdges, options.comm.size);
    const { start, end } = ranges[options.comm.rank];
    const parts = counted.sides.map((side) => side && new SidePart(side.offsets, columns, start, end));
    let first = 0;
    for await (const piece of options.pieces()) {
      parts[0]?.take(piece, piece.dst, piece.src, first);
      parts[1]?.take(piece, piece.src, piece.dst, first);
      first += piece.src.length;
    }
    const sides: (SpreadSide | null)[] = [];
    try {
      for (const [i, title] of (['incoming', 'outgoing'] as const).entries()) {
        const [side, part] = [counted.sides[i], parts[i]];
        if (side === null || part === null) sides.push(null);
        else {
          const { numEdges: rows, comm } = options;
          const shared = { rows, width: columns.width, comm, read: () => part.rows };
          const store = await openShardedRows(title, shared);
          sides.push(new SpreadSide({ ...side, columns, store, hasLoop: counted.hasLoop }));
        }
      }
    } catch (error) {
      for (const side of sides) side?.close();
      throw error;
    }
    return new SpreadGraph(sides[0], sides[1], options.numRelations);
  }

  /** Edges that this worker holds, of those of each direction that is followed. */
  get numHeld(): number {
    return Math.max(...[this.incoming, this.outgoing].map((side) => side?.numHeld ?? 0));
  }

  /** Others can no longer read the edges of this worker. */
  close(): void {
    this.incoming?.close();
    this.outgoing?.close();
  }
}

/** Places of edges are 32-bit numbers, and there is an end behind the last place. */
const mostEdges = 2 ** 31 - 1;

/** Refuses more edges than workers can hold together. */
export function checkSpreadEdges(where: string, numEdges: number): void {
  if (numEdges <= mostEdges) return;
  const advice =
    'Take fewer training edges, or a partition buffer (storage.embeddings.type: PARTITION_BUFFER), which reads edges from their file.';
  throw new ValueError(expected(where, `at most ${mostEdges} edges to spread`, 'numEdges', numEdges, advice));
}

/** Where the edges of each node begin, and the sum of their weights; null without weights. */
interface CountedSide {
  readonly offsets: Int32Array;
  readonly weights: Float64Array | null;
}

interface Counted {
  /** Incoming, outgoing; null where they are not followed. */
  readonly sides: readonly [CountedSide | null, CountedSide | null];
  readonly columns: SpreadColumns;
  /** 1 for nodes with an edge to themselves. */
  readonly hasLoop: Uint8Array;
}

async function countEdges(options: SpreadGraphOptions): Promise<Counted> {
  const { numNodes, numEdges, numRelations } = options;
  const side = (followed: boolean) =>
    followed ? { offsets: new Int32Array(numNodes + 1), weights: new Float64Array(numNodes) } : null;
  const [incoming, outgoing] = [side(options.incoming), side(options.outgoing)];
  const hasLoop = new Uint8Array(numNodes);
  let weighted = false;
  let count = 0;
  for await (const { src, dst, weights = null } of options.pieces()) {
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
  if (count !== numEdges) throw new ValueError(expected(name, `${numEdges} edges`, 'pieces', count));
  const finished = (found: ReturnType<typeof side>): CountedSide | null => {
    if (found === null) return null;
    const { offsets, weights } = found;
    for (let v = 0; v < numNodes; v++) offsets[v + 1] += offsets[v];
    return { offsets, weights: weighted ? weights : null };
  };
  const relation = numRelations > 0 ? 2 : -1;
  const weight = weighted ? (numRelations > 0 ? 3 : 2) : -1;
  const width = 2 + (numRelations > 0 ? 1 : 0) + (weighted ? 1 : 0);
  return { sides: [finished(incoming), finished(outgoing)], columns: { relation, weight, width }, hasLoop };
}

/** The edges of one direction that lie at places start … end − 1. */
class SidePart {
  readonly rows: Int32Array;
  readonly #columns: SpreadColumns;
  readonly #start: number;
  readonly #end: number;
  /** The place of each node's next edge. */
  readonly #next: Int32Array;

  constructor(offsets: Int32Array, columns: SpreadColumns, start: number, end: number) {
    this.rows = new Int32Array((end - start) * columns.width);
    this.#columns = columns;
    this.#start = start;
    this.#end = end;
    this.#next = offsets.slice(0, -1);
  }

  /** Edges of `drawing` to `neighbors`; `first` is the id of the first. */
  take(
    { relations = null, weights = null }: EdgeList,
    drawing: Int32Array,
    neighbors: Int32Array,
    first: number,
  ): void {
    const { relation, weight, width } = this.#columns;
    const bits = weights === null ? null : new Int32Array(weights.buffer, weights.byteOffset, weights.length);
    const next = this.#next;
    for (let e = 0; e < drawing.length; e++) {
      const place = next[drawing[e]]++;
      if (place < this.#start || place >= this.#end) continue;
      const at = (place - this.#start) * width;
      this.rows[at] = neighbors[e];
      this.rows[at + 1] = first + e;
      if (relation >= 0) this.rows[at + relation] = (relations as Int32Array)[e];
      if (weight >= 0) this.rows[at + weight] = (bits as Int32Array)[e];
    }
  }
}

function checkNode(node: number, numNodes: number): number {
  if (node >= 0 && node < numNodes) return node;
  throw new ValueError(expected(name, `nodes from 0 to ${numNodes - 1}`, 'pieces', node));
}

function checkWeight(weight: number): number {
  if (Number.isFinite(weight)) return weight;
  throw new ValueError(expected(name, 'finite weights', 'pieces', weight));
}
