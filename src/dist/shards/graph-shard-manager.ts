/**
 * A worker's partition of a graph as N shards, one for each worker that owns sources. Message passing proceeds shard by
 * shard: rows of one worker at a time are fetched, used and dropped, so memory per worker falls with the number of
 * workers however dense the graph is. In backward they are fetched again ('sar') or were kept ('sa').
 *
 * A `MessageGraph`: layers take it in place of a graph on one machine. All its operations are collective: every worker
 * calls the same ones in the same order.
 */
import type {
  AggregateOptions,
  AttentionOptions,
  Message,
  NodeFunction,
  Reduce,
  UserMessage,
} from '../../graph/index.js';
import { applyEdges, applyNodes, checkReduce, findMessage, updateAll } from '../../graph/message-passing.js';
import type { Tensor } from '../../tensor/index.js';
import { StateError } from '../../util/errors.js';
import { DistributedBlock } from './distributed-block.js';
import { type DistributedEdges, DistributedGraph } from './distributed-graph.js';
import { type GraphShard, type SourceSegment, splitIntoShards } from './graph-shard.js';
import { aggregate } from './ops/aggregate.js';
import { attention } from './ops/attention.js';
import { srcToEdges } from './ops/edge-rows.js';
import type { MessageTarget } from './ops/message-run.js';
import { additiveScores, dotScores } from './ops/scores.js';
import { shardMessages } from './ops/shard-messages.js';
import type { ShardMode } from './shard-rows.js';
import { makeSteps, type Step } from './shard-schedule.js';
import { type ShardingOptions, useCodec } from './sharding-options.js';

/** Created on first use, because one-shot graphs do not need it. */
interface ShardSchedule {
  readonly own: GraphShard;
  readonly chunks: readonly GraphShard[];
  readonly steps: readonly Step[];
}

export class GraphShardManager extends DistributedGraph implements MessageTarget {
  readonly mode: ShardMode;
  readonly pipelineDepth: number;
  readonly options: Required<ShardingOptions>;
  readonly #edges: DistributedEdges;
  #shards: readonly GraphShard[] | null = null;
  #schedule: ShardSchedule | null = null;
  #deleted = false;

  /** @internal Use `constructFullGraph` or `constructMfgs`. */
  constructor(edges: DistributedEdges, options: Required<ShardingOptions>) {
    super(edges);
    this.options = options;
    this.mode = options.mode;
    this.pipelineDepth = options.pipelineDepth;
    this.#edges = edges;
    useCodec(this.link, options);
  }

  /** One shard for each worker that owns sources. Operations split large ones into chunks. */
  get shards(): readonly GraphShard[] {
    this.#checkNotDeleted();
    const { starts, sizesExpectedFromOthers, numOwn, comm } = this.link;
    this.#shards ??= this.#splitEdges(
      starts.map((start, owner) => ({
        owner,
        start,
        count: owner === comm.rank ? numOwn : sizesExpectedFromOthers[owner],
      })),
    );
    return this.#shards;
  }

  /** The edges from own nodes. */
  get own(): GraphShard {
    return this.#shardSchedule().own;
  }

  /** The edges from other workers' nodes, by the chunks in which rows are fetched. */
  get chunks(): readonly GraphShard[] {
    return this.#shardSchedule().chunks;
  }

  get steps(): readonly Step[] {
    return this.#shardSchedule().steps;
  }

  #shardSchedule(): ShardSchedule {
    this.#checkNotDeleted();
    if (this.#schedule !== null) return this.#schedule;
    const { link, options } = this;
    const steps = makeSteps(link, options.windowRows);
    const segments = steps.flatMap(({ recv }) =>
      recv === null
        ? []
        : [
            {
              owner: recv.worker,
              start: link.starts[recv.worker] + recv.start,
              count: recv.end - recv.start,
            },
          ],
    );
    // Own rows last, so that chunks are numbered in the order of steps.
    const shards = this.#splitEdges([...segments, { owner: link.comm.rank, start: 0, count: link.numOwn }]);
    this.#schedule = { steps, chunks: shards.slice(0, -1), own: shards[shards.length - 1] };
    return this.#schedule;
  }

  #splitEdges(segments: readonly SourceSegment[]): GraphShard[] {
    return splitIntoShards(this.adjacency, segments, this.usedIds, this.seeds);
  }

  #checkNotDeleted(): void {
    if (!this.#deleted) return;
    throw new StateError(
      'GraphShardManager: expected its shards, got a graph after getFullPartitionGraph(). Use that graph, or pass deleteShardData = false.',
    );
  }

  get numDst(): number {
    return this.adjacency.numDst;
  }

  get edgeIds(): Int32Array | null {
    return this.adjacency.edgeIds;
  }

  /** For each worker, the rows of this worker that it needs. */
  get indicesRequiredFromMe(): readonly Int32Array[] {
    return this.link.indicesRequiredFromMe;
  }

  /** Number of rows fetched from each worker. */
  get sizesExpectedFromOthers(): readonly number[] {
    return this.link.sizesExpectedFromOthers;
  }

  meanScale(dtype: 'f32' | 'f64', extra: number): Float32Array | Float64Array {
    return this.adjacency.meanScale(dtype, extra);
  }

  /**
   * Returns one graph of all edges into own nodes, which fetches the rows of all workers in one exchange. This graph
   * cannot be used afterwards unless `deleteShardData` is false.
   */
  getFullPartitionGraph(deleteShardData = true): DistributedBlock {
    const frames = { src: this.srcdata, dst: this.dstdata };
    // A separate link, because it caches input rows in another form.
    const link = this.link.withComm(this.link.comm);
    const block = new DistributedBlock({ ...this.#edges, link, frames }, this.options);
    for (const [name, t] of Object.entries(this.edata)) block.edata[name] = t;
    if (deleteShardData) {
      this.#shards = null;
      this.#schedule = null;
      this.#deleted = true;
    }
    return block;
  }

  override aggregate(x: Tensor, options: AggregateOptions = {}): Tensor {
    return aggregate(this, x, options, {
      selfOffset: this.dstOffset,
      exchangeFactors: (own) => this.exchangeFactors(own),
      meanScale: (dtype, extra) => this.meanScale(dtype, extra),
    });
  }

  override srcToEdges(x: Tensor): Tensor {
    return srcToEdges(this, x);
  }

  override dotScores(src: Tensor, dst: Tensor): Tensor {
    return dotScores(this, src, dst);
  }

  override additiveScores(src: Tensor, dst: Tensor, a: Tensor, edge: Tensor | null, slope: number): Tensor {
    return additiveScores(this, src, dst, a, edge, slope);
  }

  override attention(
    value: Tensor,
    srcScore: Tensor,
    dstScore: Tensor,
    options: AttentionOptions = {},
  ): Tensor {
    return attention(this, value, srcScore, dstScore, options, () => this.rowIds('positions'));
  }

  override updateAll(message: Message | UserMessage, reduce: Reduce, apply?: NodeFunction): void {
    if (typeof message !== 'function') updateAll(this, message, reduce);
    else {
      checkReduce(reduce);
      const choose = (names: readonly string[]): readonly string[] => [findMessage(names, reduce)];
      this.dstdata[reduce.out] = shardMessages(this, message, choose, reduce.op)[reduce.message];
    }
    if (apply !== undefined) applyNodes(this, apply);
  }

  override applyEdges(message: Message | UserMessage): void {
    if (typeof message !== 'function') {
      applyEdges(this, message);
      return;
    }
    const rows = shardMessages(this, message, (names) => names, null);
    for (const [name, byPosition] of Object.entries(rows)) this.edata[name] = this.toEdgeIds(byPosition);
  }

  protected override withEdges(edges: DistributedEdges): this {
    return new GraphShardManager(edges, this.options) as this;
  }
}
