/** One direction of a `SpreadGraph`: hops drawn here, of edges that are fetched from where they lie. */
import { kernels } from '../../native/index.js';
import { allocate } from '../../sample/checks.js';
import {
  type HopDraw,
  type HopEdges,
  type HopSteps,
  joinHops,
  type NodeRows,
} from '../../sample/hop-runner.js';
import { drawSlots } from '../../sample/hop-source.js';
import type { DenseSide, DrawnEdges, DrawnSlots, HopSource } from '../../sample/index.js';
import type { RemoteRowStore } from '../stores/remote-row-store.js';
import { iota } from './arrays.js';

/** Rows of edges: [neighbour, id, …]; where the relation and the bits of the weight are, −1 without. */
export interface SpreadColumns {
  readonly relation: number;
  readonly weight: number;
  readonly width: number;
}

export interface SpreadSideParts {
  readonly columns: SpreadColumns;
  /** Edges in the order of the nodes that draw. */
  readonly store: RemoteRowStore<Int32Array>;
  /** The place of each node's first edge, and the number of edges. */
  readonly offsets: Int32Array;
  /** The sum of the weights of each node's edges; null when all are 1. */
  readonly weights: Float64Array | null;
  readonly hasLoop: Uint8Array;
}

/** A hop with the rows that were fetched for its edges. */
interface FetchedHop extends HopEdges {
  readonly rows: Int32Array;
}

const name = 'SpreadGraph';

export class SpreadSide implements HopSource {
  readonly #parts: SpreadSideParts;
  readonly #degrees = new Map<boolean, { readonly src: Float64Array }>();

  constructor(parts: SpreadSideParts) {
    this.#parts = parts;
  }

  get numNodes(): number {
    return this.#parts.offsets.length - 1;
  }

  /** Edges that this worker holds. */
  get numHeld(): number {
    return this.#parts.store.local.length / this.#parts.columns.width;
  }

  normDegrees(selfLoops: boolean): { readonly src: Float64Array } {
    let degrees = this.#degrees.get(selfLoops);
    if (degrees === undefined) {
      const { offsets, weights, hasLoop } = this.#parts;
      const src = new Float64Array(this.numNodes);
      for (let v = 0; v < src.length; v++) {
        const total = weights === null ? offsets[v + 1] - offsets[v] : weights[v];
        src[v] = selfLoops && hasLoop[v] === 0 ? total + 1 : total;
      }
      degrees = { src };
      this.#degrees.set(selfLoops, degrees);
    }
    return degrees;
  }

  *hop(draw: HopDraw, nodes: NodeRows): HopSteps<HopEdges> {
    return yield* this.take(yield* this.draw(draw), nodes);
  }

  draw(draw: HopDraw): HopSteps<DrawnSlots> {
    return drawSlots(name, this.#parts.offsets, draw);
  }

  *take({ offsets, slots }: DrawnSlots, nodes: NodeRows): HopSteps<FetchedHop> {
    const { store, columns } = this.#parts;
    const rows = allocate(name, slots.length * columns.width, 'fanouts and seeds');
    yield {
      now: () => void store.gatherSync(slots, rows),
      later: async () => void (await store.gather(slots, rows)),
    };
    return { offsets, slots, rows, indices: nodes.add(columnOf(rows, 0, columns.width)) };
  }

  /** `hops` are this side's own. */
  join(hops: readonly HopEdges[]): DenseSide {
    const { columns } = this.#parts;
    const { offsets, indices, slots } = joinHops(name, hops);
    const rows = new Int32Array(slots.length * columns.width);
    let at = 0;
    for (const hop of hops as readonly FetchedHop[]) {
      rows.set(hop.rows, at);
      at += hop.rows.length;
    }
    // From here on the place of an edge is that in the sample.
    const graph = new FetchedEdges(rows, columns, this.#parts.store.rows);
    return { graph, edges: { offsets, indices, slots: iota(slots.length) } };
  }

  close(): void {
    this.#parts.store.close();
  }
}

/** The edges of a sample. */
export class FetchedEdges implements DrawnEdges {
  readonly numEdges: number;
  readonly #neighbors: Int32Array;
  readonly #ids: Int32Array;
  readonly #relations: Int32Array | null;
  readonly #weights: Int32Array | null;

  constructor(rows: Int32Array, columns: SpreadColumns, numEdges: number) {
    const column = (place: number): Int32Array => columnOf(rows, place, columns.width);
    this.numEdges = numEdges;
    this.#neighbors = column(0);
    this.#ids = column(1);
    this.#relations = columns.relation < 0 ? null : column(columns.relation);
    this.#weights = columns.weight < 0 ? null : column(columns.weight);
  }

  neighborsOf(slots: Int32Array): Int32Array {
    return taken(this.#neighbors, slots);
  }

  edgeIds(slots: Int32Array): Int32Array {
    return taken(this.#ids, slots);
  }

  relationsOf(slots: Int32Array): Int32Array {
    return taken(this.#relations as Int32Array, slots);
  }

  weightsOf(slots: Int32Array): Float32Array | null {
    return this.#weights === null ? null : new Float32Array(taken(this.#weights, slots).buffer);
  }
}

function columnOf(rows: Int32Array, place: number, width: number): Int32Array {
  const column = new Int32Array(rows.length / width);
  for (let i = 0, at = place; i < column.length; i++, at += width) column[i] = rows[at];
  return column;
}

function taken(values: Int32Array, slots: Int32Array): Int32Array<ArrayBuffer> {
  const out = new Int32Array(slots.length);
  kernels().gatherRows(values, slots, out, slots.length, 4);
  return out;
}
