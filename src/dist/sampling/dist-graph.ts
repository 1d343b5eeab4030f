/**
 * A partitioned graph for training on samples: every worker holds the edges into its nodes and the features of its
 * nodes, and answers requests for them.
 *
 * Creating one is collective. With `hybrid`, the topology is gathered on every worker, so that sampling needs no
 * communication; features stay with their owners. Tables of features and degrees are read by request, at any time.
 *
 * @example
 * const graph = DistGraph.fromPartitionData(pd);
 * const sampler = new DistNeighborSampler([15, 10], { inputNodeFeatures: { x: features } });
 * for (const blocks of new DataLoader(graph, trainIds, sampler, { batchSize: 1000 })) …
 */
import type { BlockParent } from '../../graph/block.js';
import { cast, type Tensor } from '../../tensor/index.js';
import { unscoped } from '../../tensor/scope.js';
import { iota } from '../../util/arrays.js';
import { expected, ShapeError, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import type { Communicator, ReduceArray } from '../comm/communicator.js';
import { currentCommunicator } from '../comm/current.js';
import type { PartitionBook } from '../partition/partition-book.js';
import type { NodeRange, PartitionData } from '../partition/partition-data.js';
import { OwnerRanges } from '../stores/owner-routes.js';
import { RemoteRowStore } from '../stores/remote-row-store.js';
import { InEdges } from './in-edges.js';

export interface DistGraphOptions {
  readonly comm?: Communicator;
  /** Hold the edges of the whole graph on every worker (default false). */
  readonly hybrid?: boolean;
}

/** A table with one row per node of the graph, and the shape of a row. */
export interface NodeFeatureTable {
  readonly store: RemoteRowStore<ReduceArray>;
  readonly shape: readonly number[];
  /** The rows of this worker; their memory must exist as long as the table. */
  readonly data: Tensor;
}

const name = 'DistGraph';
let graphsCreated = 0;

export class DistGraph implements BlockParent {
  readonly comm: Communicator;
  readonly partitionData: PartitionData;
  readonly hybrid: boolean;
  readonly ranges: OwnerRanges;
  /** The edges held by this worker. */
  readonly edges: InEdges;
  /** Programs create graphs in the same order on all workers, so the number identifies the same graph on each. */
  readonly #id = graphsCreated++;
  /** Degrees for normalisation: without and with missing self loops. */
  readonly #degrees: RemoteRowStore<Float64Array>;
  readonly #tables: NodeFeatureTable[] = [];

  private constructor(pd: PartitionData, options: DistGraphOptions) {
    checkOptionNames('DistGraph', options, { comm: true, hybrid: true });
    const { comm = currentCommunicator(), hybrid = false } = options;
    if (pd.nodeRanges.length !== comm.size || pd.rank !== comm.rank)
      throw new ValueError(
        expected(
          name,
          `the data of worker ${comm.rank} of ${comm.size}`,
          'partitionData',
          `worker ${pd.rank} of ${pd.nodeRanges.length}`,
        ),
      );
    this.comm = comm;
    this.partitionData = pd;
    this.hybrid = hybrid;
    this.ranges = new OwnerRanges(name, pd.nodeRanges);
    const own = InEdges.fromPartitionData(pd).withAllFields(comm);
    const ranges = pd.nodeRanges;
    this.#degrees = new RemoteRowStore(`${name}-${this.#id}/degrees`, normDegrees(own), {
      width: 2,
      ranges,
      comm,
    });
    this.edges = hybrid && comm.size > 1 ? own.gatherAll(comm) : own;
  }

  static fromPartitionData(pd: PartitionData, options: DistGraphOptions = {}): DistGraph {
    checkOptionNames('DistGraph.fromPartitionData', options, { comm: true, hybrid: true });
    return new DistGraph(pd, options);
  }

  get rank(): number {
    return this.comm.rank;
  }

  get partitionBook(): PartitionBook {
    return this.partitionData.partitionBook;
  }

  /** The ids of this worker's nodes. */
  get nodeRange(): NodeRange {
    return this.partitionData.nodeRanges[this.rank];
  }

  /** Number of nodes of all workers. */
  get numNodes(): number {
    return this.ranges.total;
  }

  /** Number of edges of all workers. */
  get numEdges(): number {
    return this.partitionBook.numEdges();
  }

  /** Number of nodes of this worker. */
  get numLocalNodes(): number {
    return this.nodeRange.end - this.nodeRange.start;
  }

  /** Number of edges into nodes of this worker. */
  get numLocalEdges(): number {
    return this.partitionData.allShardEdges.reduce((sum, { src }) => sum + src.length, 0);
  }

  /**
   * Makes the rows of this worker's nodes readable by all. All workers open the same tables in the same order. Rows may
   * be f32, f64 or i32; u8 masks become i32.
   */
  openTable(table: string, rows: Tensor, options: { readonly cacheRows?: number } = {}): NodeFeatureTable {
    if (rows.rank === 0 || rows.shape[0] !== this.numLocalNodes)
      throw new ShapeError(
        expected(
          `${name}.openTable`,
          `${this.numLocalNodes} rows, one for each node held here,`,
          table,
          `shape [${rows.shape.join(', ')}]`,
        ),
      );
    const shape = rows.shape.slice(1);
    const width = shape.reduce((product, n) => product * n, 1);
    const data = toTableRows(rows);
    const { comm, partitionData } = this;
    const label = `${name}-${this.#id}/${this.#tables.length}/${table}`;
    const shared = { width, ranges: partitionData.nodeRanges, comm, ...options };
    const store = new RemoteRowStore(label, data.dataSync<ReduceArray>(), shared);
    const opened = { store, shape, data };
    this.#tables.push(opened);
    return opened;
  }

  /** Returns the degrees of all nodes; `normDegreesOf` reads only the given ones. */
  normDegrees(selfLoops: boolean): { readonly src: Float64Array } {
    const all = iota(this.numNodes);
    return { src: this.normDegreesOf(all, selfLoops) };
  }

  normDegreesOf(ids: Int32Array, selfLoops: boolean): Float64Array {
    const column = selfLoops ? 1 : 0;
    const both = this.#degrees.gatherSync(ids);
    return Float64Array.from(ids, (_, i) => both[2 * i + column]);
  }

  /** Stops answering requests of other workers. Put a barrier before it. */
  close(): void {
    this.#degrees.close();
    for (const { store } of this.#tables) store.close();
  }
}

/** Returns the weighted in-degrees, followed by the same plus 1 for nodes without a self loop. */
function normDegrees({ offsets, indices, weights, firstNode }: InEdges): Float64Array {
  const rows = offsets.length - 1;
  const both = new Float64Array(2 * rows);
  for (let v = 0; v < rows; v++) {
    let total = 0;
    let loop = false;
    for (let p = offsets[v]; p < offsets[v + 1]; p++) {
      total += weights === null ? 1 : weights[p];
      if (indices[p] === v + firstNode) loop = true;
    }
    both[2 * v] = total;
    both[2 * v + 1] = loop ? total : total + 1;
  }
  return both;
}

/** Converts rows to a type that can be read by request. */
function toTableRows(rows: Tensor): Tensor {
  const { dtype } = rows;
  if (dtype === 'u8') return unscoped(() => cast(rows, 'i32'));
  if (dtype === 'f16' || dtype === 'bf16') return unscoped(() => cast(rows, 'f32'));
  return rows.isContiguous ? rows : unscoped(() => rows.clone());
}
