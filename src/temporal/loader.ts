/**
 * Batches of a stream in time order, with negatives, sampled past and, where a mailbox is given, the memory and mail of every node.
 *
 * Neighbours of the next batch are sampled while this one is computed; memory and mail are read when the batch is requested, after
 * the commit of the previous one, so that nothing is stale. The loader of a partition goes through the events of the partition and
 * samples neighbours from the whole stream.
 *
 * @example
 * const mailbox = new SharedMailBox({ numNodes: graph.numNodes, memoryParam, dimEdgeFeat: graph.featureWidth });
 * const loader = new TemporalLoader(graph, { sampler, negatives, mailbox, batchSize: 200 });
 * for await (const batch of loader.epoch(0)) runtime.train(batch);
 */
import { TemporalGraph } from '../graph/index.js';
import type { TemporalNeighborSampler } from '../sample/index.js';
import { expected, ValueError } from '../util/errors.js';
import { checkOptionNames } from '../util/option-names.js';
import type { TemporalBatch } from './batch.js';
import { BatchMaker, type Pairs, type Roots, range, type SampledPairs } from './batch-maker.js';
import { type BatchRowsOptions, batchBoundaries } from './batch-rows.js';
import type { SharedMailBox } from './mailbox/index.js';
import { disposeRows } from './mailbox/rows.js';
import type { TemporalBatches } from './steps.js';

/** One partition of a stream, as `partitionLoad` returns it. */
export interface StreamPartition {
  /** The whole stream. */
  readonly graph: TemporalGraph;
  /** Nodes of the partition, ascending. */
  readonly ids: Int32Array;
  /** Rows of its events in the stream, ascending. */
  readonly eids: Int32Array;
}

/** Draws negatives: `amount` nodes for each of the events. */
export interface NegativeSource {
  readonly amount: number;
  draw(eventRows: Int32Array, at: { readonly epoch: number }): Int32Array;
}

export interface TemporalLoaderOptions extends BatchRowsOptions {
  readonly sampler: TemporalNeighborSampler;
  readonly negatives?: NegativeSource | null;
  /** Read for every batch; without one batches carry no memory. A row per node of the stream, or of its partition. */
  readonly mailbox?: SharedMailBox | null;
  /** Events to go through, as ascending rows of the stream. Default: all, or those of the partition. */
  readonly rows?: Int32Array;
  /** Past events of either end that are searched for the other; 0: batches carry no `pairFeatures`. */
  readonly pairDepth?: number;
  /**
   * When events become visible to the scores of later ones. 'moment' (default): as soon as time has passed, except in memory,
   * which is read at the beginning of a batch. 'batch': after their batch, everywhere.
   */
  readonly cadence?: 'moment' | 'batch';
  /** Release the rows of a batch's state when the next batch is requested; they must not be used any more. Default false. */
  readonly recycle?: boolean;
}

export class TemporalLoader implements TemporalBatches<TemporalBatch> {
  readonly graph: TemporalGraph;
  readonly #options: TemporalLoaderOptions;
  readonly #rows: Int32Array | null;
  readonly #maker: BatchMaker;

  constructor(stream: TemporalGraph | StreamPartition, options: TemporalLoaderOptions) {
    checkOptionNames('TemporalLoader', options, {
      batchSize: true,
      chunks: true,
      tieGroups: true,
      seed: true,
      windowOf: true,
      sampler: true,
      negatives: true,
      mailbox: true,
      rows: true,
      pairDepth: true,
      cadence: true,
      recycle: true,
    });
    const [graph, partition] = stream instanceof TemporalGraph ? [stream, null] : [stream.graph, stream];
    this.graph = graph;
    this.#options = options;
    const rows = options.rows ?? partition?.eids ?? null;
    this.#rows = rows === null ? null : checkRows(rows, graph.numEvents);
    options.mailbox?.useStream({ graph, ids: partition?.ids ?? null });
    this.#maker = new BatchMaker(graph, options.mailbox ?? null, options.pairDepth ?? 0);
  }

  get numEvents(): number {
    return this.#rows?.length ?? this.graph.numEvents;
  }

  /** Returns the positions at which the batches of an epoch begin, with the end. */
  boundaries(epoch: number): Int32Array {
    const { time } = this.graph;
    const rows = this.#rows;
    const at = rows === null ? (i: number) => time[i] : (i: number) => time[rows[i]];
    return batchBoundaries(at, this.numEvents, this.#options, epoch);
  }

  numBatches(epoch: number): number {
    return Math.max(0, this.boundaries(epoch).length - 1);
  }

  /** Yields the batches of an epoch, from batch `from` on. */
  async *epoch(epoch: number, from = 0): AsyncGenerator<TemporalBatch> {
    const boundaries = this.boundaries(epoch);
    const count = boundaries.length - 1;
    let next = from < count ? this.#start(boundaries, epoch, from) : null;
    for (let step = from; next !== null; step++) {
      const now: Promise<SampledPairs> = next;
      next = step + 1 < count ? this.#start(boundaries, epoch, step + 1) : null;
      // A failure of the next batch is thrown when that batch is requested; until then it must not count as unhandled.
      next?.catch(() => undefined);
      const { pairs, roots, sample } = await now;
      const batch = this.#maker.make(pairs, roots, sample);
      yield batch;
      if (this.#options.recycle === true && batch.state !== null) disposeRows(batch.state);
    }
  }

  /** Returns the batch of given events, sampled synchronously. */
  batch(rows: Int32Array, at: { readonly epoch: number; readonly step: number }): TemporalBatch {
    const { pairs, roots } = this.#prepare(rows, at.epoch);
    return this.#maker.make(pairs, roots, this.#options.sampler.sample(roots, at));
  }

  /** Samples a batch; sampling starts before this returns. */
  async #start(boundaries: Int32Array, epoch: number, step: number): Promise<SampledPairs> {
    const [begin, end] = [boundaries[step], boundaries[step + 1]];
    const { pairs, roots } = this.#prepare(this.#rows?.slice(begin, end) ?? range(begin, end), epoch);
    return { pairs, roots, sample: await this.#options.sampler.sampleAsync(roots, { epoch, step }) };
  }

  #prepare(rows: Int32Array, epoch: number): { readonly pairs: Pairs; readonly roots: Roots } {
    const negatives = this.#options.negatives?.draw(rows, { epoch }) ?? new Int32Array(0);
    const pairs = this.#maker.pairs(rows, negatives, rowLimitOf(this.#options, rows));
    return { pairs, roots: this.#maker.roots(pairs) };
  }
}

/** Returns the first row that a batch must not see beyond its times: with cadence 'batch' its own first row. */
export function rowLimitOf(
  { cadence = 'moment' }: Pick<TemporalLoaderOptions, 'cadence'>,
  rows: Int32Array,
): number | undefined {
  return cadence === 'batch' && rows.length > 0 ? rows[0] : undefined;
}

function checkRows(rows: Int32Array, numEvents: number): Int32Array {
  for (let i = 0; i < rows.length; i++) {
    const follows = i === 0 || rows[i] > rows[i - 1];
    if (!follows || rows[i] < 0 || rows[i] >= numEvents)
      throw new ValueError(
        expected('TemporalLoader', `ascending rows of ${numEvents} events`, `rows[${i}]`, rows[i]),
      );
  }
  return rows;
}
