/**
 * One direction of a `ShardedSamplingGraph`: hops are drawn locally, and their edges are fetched from the workers that
 * hold them.
 */
import { kernels } from '../../native/index.js';
import { allocate } from '../../sample/checks.js';
import type { DenseSide, DrawnEdges } from '../../sample/dense-sample.js';
import {
  type HopDraw,
  type HopEdges,
  type HopSteps,
  joinHops,
  type NodeRowIndex,
} from '../../sample/hop-runner.js';
import type { DrawnSlots, HopSource } from '../../sample/hop-source.js';
import { drawSlots } from '../../sample/hop-source.js';
import { iota } from '../../util/arrays.js';
import type { RemoteRowStore } from '../stores/remote-row-store.js';

/** Columns of edge rows [neighbour, id, …]: the indices of the relation and of the weight's bits, −1 if absent. */
export interface InEdgeColumns {
  readonly relation: number;
  readonly weight: number;
  readonly width: number;
}

export interface ShardedHopSourceOptions {
  readonly columns: InEdgeColumns;
  /** Edges in the order of the nodes that draw. */
  readonly store: RemoteRowStore<Int32Array>;
  /** The position of each node's first edge, and the number of edges. */
  readonly offsets: Int32Array;
  /** The sum of the weights of each node's edges; null if all are 1. */
  readonly weights: Float64Array | null;
  readonly hasLoop: Uint8Array;
}

/** A hop with the rows fetched for its edges. */
interface FetchedHop extends HopEdges {
  readonly rows: Int32Array;
}

const name = 'ShardedSamplingGraph';

export class ShardedHopSource implements HopSource {
  readonly #options: ShardedHopSourceOptions;
  readonly #degrees = new Map<boolean, { readonly src: Float64Array }>();

  constructor(options: ShardedHopSourceOptions) {
    this.#options = options;
  }

  get numNodes(): number {
    return this.#options.offsets.length - 1;
  }

  /** Number of edges that this worker holds. */
  get numLocalEdges(): number {
    return this.#options.store.local.length / this.#options.columns.width;
  }

  normDegrees(selfLoops: boolean): { readonly src: Float64Array } {
    let degrees = this.#degrees.get(selfLoops);
    if (degrees === undefined) {
      const { offsets, weights, hasLoop } = this.#options;
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

  *hop(draw: HopDraw, nodes: NodeRowIndex): HopSteps<HopEdges> {
    return yield* this.take(yield* this.draw(draw), nodes);
  }

  draw(draw: HopDraw): HopSteps<DrawnSlots> {
    return drawSlots(name, this.#options.offsets, draw);
  }

  *take({ offsets, slots }: DrawnSlots, nodes: NodeRowIndex): HopSteps<FetchedHop> {
    const { store, columns } = this.#options;
    const rows = allocate(name, slots.length * columns.width, 'fanouts and seeds');
    yield {
      now: () => void store.gatherSync(slots, rows),
      later: async () => void (await store.gather(slots, rows)),
    };
    return { offsets, slots, rows, indices: nodes.add(columnOf(rows, 0, columns.width)) };
  }

  /** Joins hops of this direction. */
  join(hops: readonly HopEdges[]): DenseSide {
    const { columns } = this.#options;
    const { offsets, indices, slots } = joinHops(name, hops);
    const rows = new Int32Array(slots.length * columns.width);
    let at = 0;
    for (const hop of hops as readonly FetchedHop[]) {
      rows.set(hop.rows, at);
      at += hop.rows.length;
    }
    // From here on the position of an edge is that in the sample.
    const graph = new FetchedEdges(rows, columns, this.#options.store.rows);
    return { graph, edges: { offsets, indices, slots: iota(slots.length) } };
  }

  close(): void {
    this.#options.store.close();
  }
}

/** The edges of a sample. */
export class FetchedEdges implements DrawnEdges {
  readonly numEdges: number;
  readonly #neighbors: Int32Array;
  readonly #ids: Int32Array;
  readonly #relations: Int32Array | null;
  readonly #weights: Int32Array | null;

  constructor(rows: Int32Array, columns: InEdgeColumns, numEdges: number) {
    const column = (offset: number): Int32Array => columnOf(rows, offset, columns.width);
    this.numEdges = numEdges;
    this.#neighbors = column(0);
    this.#ids = column(1);
    this.#relations = columns.relation < 0 ? null : column(columns.relation);
    this.#weights = columns.weight < 0 ? null : column(columns.weight);
  }

  neighborsOf(slots: Int32Array): Int32Array {
    return gatherInt32(this.#neighbors, slots);
  }

  edgeIds(slots: Int32Array): Int32Array {
    return gatherInt32(this.#ids, slots);
  }

  relationsOf(slots: Int32Array): Int32Array {
    return gatherInt32(this.#relations as Int32Array, slots);
  }

  weightsOf(slots: Int32Array): Float32Array | null {
    return this.#weights === null ? null : new Float32Array(gatherInt32(this.#weights, slots).buffer);
  }
}

function columnOf(rows: Int32Array, offset: number, width: number): Int32Array {
  const column = new Int32Array(rows.length / width);
  for (let i = 0, at = offset; i < column.length; i++, at += width) column[i] = rows[at];
  return column;
}

function gatherInt32(values: Int32Array, slots: Int32Array): Int32Array<ArrayBuffer> {
  const out = new Int32Array(slots.length);
  kernels().gatherRows(values, slots, out, slots.length, 4);
  return out;
}
