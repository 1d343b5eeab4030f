/**
 * Training edges that several workers hold together: the list that batches of edges are taken from, and the graph that
 * samplers follow, of each of which a worker holds its part. What goes through all edges in their order reads the file.
 */
import type { Communicator, RemoteRowStore } from '../../../../dist/index.js';
import {
  checkShardedEdgeCount,
  ShardedSamplingGraph,
} from '../../../../dist/sampling/sharded-sampling-graph.js';
import { openShardedRows } from '../../../../dist/stores/sharded-rows.js';
import type { EdgeList } from '../../../../sample/one-hop-sampler.js';
import { type EdgeSplit, type FileEdges, piecesOf } from './edge-splits.js';

export interface SpreadEdgesOptions {
  readonly numNodes: number;
  /** 0 without relations. */
  readonly numRelations: number;
  /** Whether batches are of edges, and so taken from their list. */
  readonly ofEdges: boolean;
  /** The edges that samplers follow; neither: there are no samplers. */
  readonly incoming: boolean;
  readonly outgoing: boolean;
  readonly comm: Communicator;
}

export class SpreadEdges implements EdgeSplit {
  /** What samplers follow; null without samplers. */
  readonly graph: ShardedSamplingGraph | null;
  readonly #file: FileEdges;
  readonly #list: RemoteRowStore<Int32Array> | null;

  private constructor(
    file: FileEdges,
    list: RemoteRowStore<Int32Array> | null,
    graph: ShardedSamplingGraph | null,
  ) {
    this.#file = file;
    this.#list = list;
    this.graph = graph;
  }

  /** Reads this worker's part. All workers open the same edges; none waits for the others. */
  static async open(file: FileEdges, options: SpreadEdgesOptions): Promise<SpreadEdges> {
    const { numNodes, numRelations, ofEdges, incoming, outgoing, comm } = options;
    const { numEdges } = file;
    checkShardedEdgeCount('SpreadEdges', numEdges);
    const list = ofEdges
      ? await openShardedRows('edges', {
          ...{ rows: numEdges, width: file.hasRelations ? 3 : 2, comm },
          read: ({ start, end }) => rowsOf(file, start, end),
        })
      : null;
    if (!incoming && !outgoing) return new SpreadEdges(file, list, null);
    try {
      const graph = await ShardedSamplingGraph.read({
        ...{ numNodes, numEdges, chunks: () => piecesOf([file]), incoming, outgoing, comm },
        numRelations: file.hasRelations ? numRelations : 0,
      });
      return new SpreadEdges(file, list, graph);
    } catch (error) {
      list?.close();
      throw error;
    }
  }

  get numEdges(): number {
    return this.#file.numEdges;
  }

  get hasRelations(): boolean {
    return this.#file.hasRelations;
  }

  get bucketSizes(): Float64Array | null {
    return this.#file.bucketSizes;
  }

  /** Edges that this worker holds: of the list, or of a direction of the graph. */
  get numLocalEdges(): number {
    const listed = this.#list === null ? 0 : this.#list.local.length / this.#list.width;
    return Math.max(listed, this.graph?.numLocalEdges ?? 0);
  }

  read(begin: number, end: number): Promise<EdgeList> {
    return this.#file.read(begin, end);
  }

  /** The edges at these places of the list. Blocks until they are here; those who hold them need not take part. */
  pick(places: Int32Array): EdgeList {
    const list = this.#list as RemoteRowStore<Int32Array>;
    const { width } = list;
    const rows = list.gatherSync(places);
    const column = (c: number) => {
      const values = new Int32Array(places.length);
      for (let i = 0; i < values.length; i++) values[i] = rows[i * width + c];
      return values;
    };
    return { src: column(0), dst: column(width - 1), relations: width === 3 ? column(1) : null };
  }

  close(): void {
    this.#list?.close();
    this.graph?.close();
  }
}

/** Edges begin … end − 1 as rows [source, (relation,) destination]. */
async function rowsOf(file: FileEdges, begin: number, end: number): Promise<Int32Array> {
  const width = file.hasRelations ? 3 : 2;
  const rows = new Int32Array((end - begin) * width);
  let at = 0;
  for await (const { src, dst, relations = null } of piecesOf([file], begin, end))
    for (let e = 0; e < src.length; e++, at += width) {
      rows[at] = src[e];
      if (relations !== null) rows[at + 1] = relations[e];
      rows[at + width - 1] = dst[e];
    }
  return rows;
}
