/**
 * A worker's partition of a graph as one block: rows of all other workers are fetched in one exchange (one shot), then
 * everything is computed as on one machine. Fewer and larger messages than shard by shard, and memory for all rows used
 * here.
 *
 * A tensor that is used several times is fetched once, at its first use, whether it is a field or an argument.
 */
import type { AggregateOptions, AttentionOptions } from '../../graph/index.js';
import { aggregate } from '../../graph/ops/aggregate.js';
import { attention } from '../../graph/ops/attention.js';
import { srcToEdges } from '../../graph/ops/edge-rows.js';
import { additiveScores, dotScores } from '../../graph/ops/scores.js';
import type { Tensor } from '../../tensor/index.js';
import { type DistributedEdges, DistributedGraph } from './distributed-graph.js';
import { HaloCache } from './ops/halo-exchange.js';
import { type ShardingOptions, useCodec } from './sharding-options.js';

export class DistributedBlock extends DistributedGraph {
  readonly options: Required<ShardingOptions>;
  readonly #halo: HaloCache;

  /** @internal Use `getFullPartitionGraph`. */
  constructor(edges: DistributedEdges, options: Required<ShardingOptions>) {
    super(edges);
    this.options = options;
    useCodec(this.link, options);
    this.#halo = new HaloCache(edges.link, options.maxCollectiveSize);
  }

  /** Fetches the rows that other workers own: [own, …] to [rows used here, …]. */
  fetch(x: Tensor): Tensor {
    return this.#halo.fetch(x);
  }

  override aggregate(x: Tensor, options: AggregateOptions = {}): Tensor {
    const { srcScale = null, ...rest } = options;
    const used = srcScale === null ? rest : { ...rest, srcScale: this.exchangeFactors(srcScale) };
    return aggregate(this.adjacency, this.fetch(x), used, this.dstOffset);
  }

  override srcToEdges(x: Tensor): Tensor {
    return srcToEdges(this.adjacency, this.fetch(x));
  }

  override dotScores(src: Tensor, dst: Tensor): Tensor {
    return dotScores(this.adjacency, this.fetch(src), dst);
  }

  override additiveScores(src: Tensor, dst: Tensor, a: Tensor, edge: Tensor | null, slope: number): Tensor {
    return additiveScores(this.adjacency, this.fetch(src), dst, a, edge, slope);
  }

  override attention(
    value: Tensor,
    srcScore: Tensor,
    dstScore: Tensor,
    options: AttentionOptions = {},
  ): Tensor {
    const [z, el] = [this.fetch(value), this.fetch(srcScore)];
    return attention(this.adjacency, z, el, dstScore, options, () => this.rowIds('positions'));
  }

  protected override withEdges(edges: DistributedEdges): this {
    return new DistributedBlock(edges, this.options) as this;
  }
}
