/** Negative samplers: nodes that replace an end of an edge. Draws depend on (seed, epoch, step) of the batch alone. */
import type { NegativeMask } from '../../../gnn/ops/chunked-softmax-loss.js';
import { kernels } from '../../../native/index.js';
import type { EdgeList } from '../../../sample/one-hop-sampler.js';
import type { Tensor } from '../../../tensor/index.js';
import { checkInteger, checkNumber, StateError } from '../../../util/errors.js';
import { checkOptionNames } from '../../../util/option-names.js';
import { Random } from '../../../util/philox.js';
import { streams } from '../graph/batch/samplers.js';
import type { Negatives, TrainingBatch } from '../graph/batch/training-batch.js';
import type { GraphStorage } from '../graph/storage/graph-storage.js';

/** Node ids, whole edges, or a tensor of either: [n], [n, 2] (source, destination), [n, 3] (source, relation, destination). */
export type NegativeDraw = Negatives | Int32Array | EdgeList | Tensor;

export abstract class TrainingNegativeSampler {
  readonly graphStorage: GraphStorage;

  constructor(graphStorage: GraphStorage) {
    this.graphStorage = graphStorage;
  }

  /** Prepares the draws of an epoch, before its first batch. */
  async prepare(): Promise<void> {}

  /**
   * Returns nodes that replace the sources (src true) or destinations; a plain list is one chunk. Or returns whole negative
   * edges, a multiple of the batch's edges: a decoder with the method POS_AND_NEG scores them in both directions, and one
   * call (src true) serves both.
   */
  abstract getNegatives(batch: TrainingBatch, src: boolean): NegativeDraw;
}

export interface RandomNegativeSamplerOptions {
  /** Groups of edges that share negatives (default 1). */
  readonly numChunks?: number;
  /** Negatives of each edge; −1 takes all resident nodes (default 500). */
  readonly numNegatives?: number;
  /** The fraction drawn as ends of random edges of the batch, so in proportion to degree (default 0). */
  readonly degreeFraction?: number;
  /** Take all nodes but those that make a true edge. */
  readonly filtered?: boolean;
  /**
   * Leave out negatives that make an edge of the batch: those drawn by degree from the edge itself ('DEG'), or all
   * ('ALL').
   */
  readonly localFilterMode?: 'DEG' | 'ALL';
  readonly seed?: number;
}

/** Uniform and degree-based corruption of nodes, shared within chunks. */
export class RandomNegativeSampler extends TrainingNegativeSampler {
  readonly numChunks: number;
  readonly numNegatives: number;
  readonly degreeFraction: number;
  readonly filtered: boolean;
  readonly localFilterMode: 'DEG' | 'ALL';
  readonly #random: Random;

  constructor(graphStorage: GraphStorage, options: RandomNegativeSamplerOptions = {}) {
    super(graphStorage);
    checkOptionNames('RandomNegativeSampler', options, {
      numChunks: true,
      numNegatives: true,
      degreeFraction: true,
      filtered: true,
      localFilterMode: true,
      seed: true,
    });
    const where = 'RandomNegativeSampler';
    this.filtered = options.filtered ?? false;
    this.numChunks = this.filtered ? 1 : checkInteger(where, 'numChunks', options.numChunks ?? 1, 1);
    this.numNegatives = this.filtered
      ? -1
      : checkInteger(where, 'numNegatives', options.numNegatives ?? 500, -1);
    this.degreeFraction = this.filtered
      ? 0
      : checkNumber(where, 'degreeFraction', options.degreeFraction ?? 0, 0, 1);
    this.localFilterMode = options.localFilterMode ?? 'DEG';
    this.#random = new Random(options.seed ?? 0, streams.negatives);
  }

  override async prepare(): Promise<void> {
    if (this.filtered) await this.graphStorage.trainFilterIndex();
  }

  override getNegatives(batch: TrainingBatch, src: boolean): Negatives {
    const { numNodes, allResident } = this.graphStorage;
    // Evaluation reads any row by its global id, whatever is resident.
    const ranges = batch.train ? this.graphStorage.trainedRanges() : [{ localStart: 0, rows: numNodes }];
    const resident = ranges.reduce((sum, range) => sum + range.rows, 0);
    if (resident === 0) throw new StateError('RandomNegativeSampler: expected resident nodes, got none.');
    if (this.filtered && batch.train && !allResident)
      throw new StateError(
        'RandomNegativeSampler: expected all nodes in memory for filtered negatives, got a partition buffer. Train without filtered.',
      );
    if (this.numNegatives < 0) {
      const ids = Int32Array.from({ length: resident }, (_, i) => i);
      toLocal(ids, ranges);
      const chunks = Math.min(this.numChunks, 1);
      return { ids, chunks, mask: this.filtered ? maskTrue(batch, ids, src, this.graphStorage) : null };
    }
    const edges = batch.src?.length ?? 0;
    const chunks = Math.max(1, Math.min(this.numChunks, edges));
    const total = chunks * this.numNegatives;
    const ids = new Int32Array(total);
    const random = this.#random.split(batch.at.epoch).split(2 * batch.at.step + (src ? 1 : 0));
    kernels().randomIntegers(ids, total, 0, resident, random.key, 0);
    toLocal(ids, ranges);
    const byDegree = Math.floor(this.numNegatives * this.degreeFraction);
    const origins =
      byDegree > 0 && edges > 0 ? this.#byDegree(batch, src, ids, chunks, byDegree, random) : null;
    return { ids, chunks, mask: this.#mask(batch, src, ids, chunks, byDegree, origins) };
  }

  /** Replaces the first negatives of each chunk by ends of random edges; returns the edge of each. */
  #byDegree(
    batch: TrainingBatch,
    src: boolean,
    ids: Int32Array,
    chunks: number,
    byDegree: number,
    random: Random,
  ): Int32Array {
    const ends = (src ? batch.src : batch.dst) as Int32Array;
    const origins = new Int32Array(chunks * byDegree);
    kernels().randomIntegers(origins, origins.length, 0, ends.length, random.split(1).key, 0);
    for (let c = 0; c < chunks; c++)
      for (let j = 0; j < byDegree; j++) ids[c * this.numNegatives + j] = ends[origins[c * byDegree + j]];
    return origins;
  }

  #mask(
    batch: TrainingBatch,
    src: boolean,
    ids: Int32Array,
    chunks: number,
    byDegree: number,
    origins: Int32Array | null,
  ): NegativeMask | null {
    if (this.localFilterMode === 'ALL') return maskBatch(batch, src, ids, chunks);
    if (origins === null) return null;
    const edges = (batch.src as Int32Array).length;
    const perChunk = Math.ceil(edges / chunks);
    const pairs: number[] = [];
    for (let c = 0; c < chunks; c++) {
      for (let j = 0; j < byDegree; j++) {
        const edge = origins[c * byDegree + j];
        if (Math.floor(edge / perChunk) === c) pairs.push(edge, j);
      }
    }
    return toMask(pairs, edges);
  }
}

/** Converts positions among all resident rows to local ids: a short last partition leaves a gap in its buffer slot. */
function toLocal(ids: Int32Array, ranges: readonly { localStart: number; rows: number }[]): void {
  let before = 0;
  let shift = 0;
  for (const range of ranges) {
    if (range.localStart !== before + shift) {
      const from = before;
      const added = range.localStart - before - shift;
      for (let i = 0; i < ids.length; i++) if (ids[i] >= from + shift) ids[i] += added;
      shift += added;
    }
    before += range.rows;
  }
}

/** Groups pairs (edge, position) by edge. */
function toMask(pairs: readonly number[], edges: number): NegativeMask | null {
  if (pairs.length === 0) return null;
  const byEdge: number[][] = Array.from({ length: edges }, () => []);
  for (let i = 0; i < pairs.length; i += 2) byEdge[pairs[i]].push(pairs[i + 1]);
  const offsets = new Int32Array(edges + 1);
  const positions: number[] = [];
  for (const [edge, own] of byEdge.entries()) {
    positions.push(...own.sort((a, b) => a - b));
    offsets[edge + 1] = positions.length;
  }
  return { offsets, positions: Int32Array.from(positions) };
}

/** Masks negatives that make an edge of the batch. */
function maskBatch(batch: TrainingBatch, src: boolean, ids: Int32Array, chunks: number): NegativeMask | null {
  const kept = (src ? batch.dst : batch.src) as Int32Array;
  const replaced = (src ? batch.src : batch.dst) as Int32Array;
  const known = new Map<string, Set<number>>();
  const key = (i: number) => `${kept[i]}.${batch.relations?.[i] ?? 0}`;
  for (let i = 0; i < kept.length; i++) {
    const others = known.get(key(i));
    if (others === undefined) known.set(key(i), new Set([replaced[i]]));
    else others.add(replaced[i]);
  }
  const perChunk = Math.ceil(kept.length / chunks);
  const count = ids.length / chunks;
  const pairs: number[] = [];
  for (let i = 0; i < kept.length; i++) {
    const others = known.get(key(i)) as Set<number>;
    const from = Math.floor(i / perChunk) * count;
    for (let j = 0; j < count; j++) if (others.has(ids[from + j])) pairs.push(i, j);
  }
  return toMask(pairs, kept.length);
}

/** Masks negatives that make a true training edge; all nodes are resident here. */
function maskTrue(
  batch: TrainingBatch,
  ids: Int32Array,
  src: boolean,
  storage: GraphStorage,
): NegativeMask | null {
  const filter = storage.knownFilter;
  const kept = (src ? batch.dst : batch.src) as Int32Array;
  const lists = filter.lists(kept, batch.relations, !src);
  const positions = new Map<number, number>();
  for (let j = 0; j < ids.length; j++) positions.set(ids[j], j);
  const pairs: number[] = [];
  for (let i = 0; i < kept.length; i++) {
    for (let p = lists.offsets[i]; p < lists.offsets[i + 1]; p++) {
      const position = positions.get(lists.ids[p]);
      if (position !== undefined) pairs.push(i, position);
    }
  }
  return toMask(pairs, kept.length);
}
