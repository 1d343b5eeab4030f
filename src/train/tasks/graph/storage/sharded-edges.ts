/**
 * Training edges that are sharded over workers: the list from which batches are taken, and the graph that samplers follow.
 * A pass over all edges in order reads the file.
 */
import type { Communicator, RemoteRowStore } from '../../../../dist/index.js';
import {
  checkShardedEdgeCount,
  ShardedSamplingGraph,
} from '../../../../dist/sampling/sharded-sampling-graph.js';
import { openShardedRows } from '../../../../dist/stores/sharded-rows.js';
import type { EdgeList } from '../../../../sample/one-hop-sampler.js';
import { chunksOf, type EdgeSplit, type FileEdges } from './edge-splits.js';

export interface SpreadEdgesOptions {
  readonly numNodes: number;
  /** 0 without relations. */
  readonly numRelations: number;
  /** Whether batches hold edges, which are taken from the list. */
  readonly ofEdges: boolean;
  /** The directions that samplers follow; neither without samplers. */
  readonly incoming: boolean;
  readonly outgoing: boolean;
  readonly comm: Communicator;
}

export class ShardedEdges implements EdgeSplit {
  /** The graph that samplers follow; null without samplers. */
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

  /** Reads this worker's shard. All workers open the same edges; none waits for the others. */
  static async open(file: FileEdges, options: SpreadEdgesOptions): Promise<ShardedEdges> {
    const { numNodes, numRelations, ofEdges, incoming, outgoing, comm } = options;
    const { numEdges } = file;
    checkShardedEdgeCount('ShardedEdges', numEdges);
    const list = ofEdges
      ? await openShardedRows('edges', {
          ...{ rows: numEdges, width: file.hasRelations ? 3 : 2, comm },
          read: ({ start, end }) => rowsOf(file, start, end),
        })
      : null;
    if (!incoming && !outgoing) return new ShardedEdges(file, list, null);
    try {
      const graph = await ShardedSamplingGraph.read({
        ...{ numNodes, numEdges, chunks: () => chunksOf([file]), incoming, outgoing, comm },
        numRelations: file.hasRelations ? numRelations : 0,
      });
      return new ShardedEdges(file, list, graph);
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

  /** Edges of this worker's shard: of the list, or of a direction of the graph. */
  get numLocalEdges(): number {
    const listed = this.#list === null ? 0 : this.#list.local.length / this.#list.width;
    return Math.max(listed, this.graph?.numLocalEdges ?? 0);
  }

  read(begin: number, end: number): Promise<EdgeList> {
    return this.#file.read(begin, end);
  }

  /** Returns the edges at these positions of the list. Blocks until they are fetched; their workers take no part. */
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

/** Reads edges begin … end − 1 as rows [source, (relation,) destination]. */
async function rowsOf(file: FileEdges, begin: number, end: number): Promise<Int32Array> {
  const width = file.hasRelations ? 3 : 2;
  const rows = new Int32Array((end - begin) * width);
  let at = 0;
  for await (const { src, dst, relations = null } of chunksOf([file], begin, end))
    for (let e = 0; e < src.length; e++, at += width) {
      rows[at] = src[e];
      if (relations !== null) rows[at + 1] = relations[e];
      rows[at + width - 1] = dst[e];
    }
  return rows;
}
