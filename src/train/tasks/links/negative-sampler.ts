/** Negative samplers: nodes that replace an end of an edge. Draws depend on (seed, epoch, step) of the batch alone. */
import { type NegativeMask, negativeMask } from '../../../gnn/ops/chunked-softmax-loss.js';
import { kernels } from '../../../native/index.js';
import type { EdgeList } from '../../../sample/one-hop-sampler.js';
import type { Tensor } from '../../../tensor/index.js';
import { checkInteger, checkNumber, StateError } from '../../../util/errors.js';
import { checkOptionNames } from '../../../util/option-names.js';
import { Random } from '../../../util/philox.js';
import { streams } from '../graph/batch/samplers.js';
import type { Negatives, TrainingBatch } from '../graph/batch/training-batch.js';
import type { GraphStorage } from '../graph/storage/graph-storage.js';
import { corruptedEnds, maskBatchEdges, maskKnownEdges, maskPositives } from './negative-masks.js';

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

/** Negatives that replace the source and the destination of an edge. */
export interface NegativesPerEnd {
  readonly src: number;
  readonly dst: number;
}

export interface RandomNegativeSamplerOptions {
  /** Groups of edges that share negatives (default 1). */
  readonly numChunks?: number;
  /** Negatives of each edge, for both ends or for each; −1 takes all resident nodes (default 500). */
  readonly numNegatives?: number | NegativesPerEnd;
  /** The fraction drawn as ends of random edges of the batch, so in proportion to degree (default 0). */
  readonly degreeFraction?: number;
  /** Take all nodes but those that make a true edge. */
  readonly filtered?: boolean;
  /**
   * Leave out negatives that make an edge of the batch: those drawn by degree from the edge itself ('DEG'), or all
   * ('ALL').
   */
  readonly localFilterMode?: 'DEG' | 'ALL';
  /** Leave out drawn negatives that are the true end of their edge (default false). All nodes never include it. */
  readonly selfFilter?: boolean;
  /**
   * Take the known ends of a chunk's edges as negatives too: sources where destinations are replaced, and destinations
   * where sources are; implies selfFilter (default false).
   */
  readonly knownEnds?: boolean;
  /** Leave out drawn negatives that make a training edge; implies the other filters (default false). */
  readonly knownFilter?: boolean;
  /**
   * Draw the replaced ends among nodes that training edges have at that end, or, with node types, among all nodes of such a
   * type: items for the destinations of purchases (default false: among all nodes).
   */
  readonly seenEnds?: boolean;
  readonly seed?: number;
}

/** Uniform and degree-based corruption of nodes, shared within chunks. */
export class RandomNegativeSampler extends TrainingNegativeSampler {
  readonly numChunks: number;
  readonly numNegatives: number | NegativesPerEnd;
  readonly degreeFraction: number;
  readonly filtered: boolean;
  readonly localFilterMode: 'DEG' | 'ALL';
  readonly selfFilter: boolean;
  readonly knownEnds: boolean;
  readonly knownFilter: boolean;
  readonly seenEnds: boolean;
  /** Nodes to draw sources and destinations from; null: all. */
  #ends: { readonly src: Int32Array; readonly dst: Int32Array } | null = null;
  readonly #random: Random;

  constructor(graphStorage: GraphStorage, options: RandomNegativeSamplerOptions = {}) {
    super(graphStorage);
    checkOptionNames('RandomNegativeSampler', options, {
      numChunks: true,
      numNegatives: true,
      degreeFraction: true,
      filtered: true,
      localFilterMode: true,
      selfFilter: true,
      knownEnds: true,
      knownFilter: true,
      seenEnds: true,
      seed: true,
    });
    const where = 'RandomNegativeSampler';
    this.filtered = options.filtered ?? false;
    this.numChunks = this.filtered ? 1 : checkInteger(where, 'numChunks', options.numChunks ?? 1, 1);
    this.numNegatives = this.filtered ? -1 : checkCounts(where, options.numNegatives ?? 500);
    this.degreeFraction = this.filtered
      ? 0
      : checkNumber(where, 'degreeFraction', options.degreeFraction ?? 0, 0, 1);
    this.localFilterMode = options.localFilterMode ?? 'DEG';
    this.knownEnds = options.knownEnds ?? false;
    this.knownFilter = options.knownFilter ?? false;
    this.seenEnds = options.seenEnds ?? false;
    this.selfFilter = this.knownEnds || (options.selfFilter ?? false);
    this.#random = new Random(options.seed ?? 0, streams.negatives);
  }

  override async prepare(): Promise<void> {
    if (this.filtered || this.knownFilter) await this.graphStorage.trainFilterIndex();
    if (!this.seenEnds || this.#ends !== null) return;
    const candidates = await this.graphStorage.candidates();
    this.#ends = { src: candidates.ofAll('head'), dst: candidates.ofAll('tail') };
  }

  override getNegatives(batch: TrainingBatch, src: boolean): Negatives {
    const { numNodes, allResident } = this.graphStorage;
    // Evaluation reads any row by its global id, whatever is resident.
    const ranges = batch.train ? this.graphStorage.trainedRanges() : [{ localStart: 0, rows: numNodes }];
    const among = this.#among(batch, src);
    const resident = among?.length ?? ranges.reduce((sum, range) => sum + range.rows, 0);
    if (resident === 0) throw new StateError('RandomNegativeSampler: expected resident nodes, got none.');
    if ((this.filtered || this.knownFilter) && batch.train && !allResident)
      throw new StateError(
        `RandomNegativeSampler: expected all nodes in memory for filtered negatives, got a partition buffer. Train without ${this.filtered ? 'filtered' : 'knownFilter'}.`,
      );
    const ends = corruptedEnds(batch, src);
    const count =
      typeof this.numNegatives === 'number' ? this.numNegatives : this.numNegatives[src ? 'src' : 'dst'];
    if (count < 0) {
      const ids = among?.slice() ?? Int32Array.from({ length: resident }, (_, i) => i);
      if (among === null) toLocal(ids, ranges);
      const mask =
        this.filtered || this.knownFilter
          ? maskKnownEdges(ends, ids, 1, this.graphStorage.knownFilter)
          : this.localFilterMode === 'ALL'
            ? maskBatchEdges(ends, ids, 1)
            : maskPositives(ends, ids, 1);
      return { ids, chunks: 1, mask };
    }
    const edges = ends.replaced.length;
    const chunks = Math.max(1, Math.min(this.numChunks, edges));
    const total = chunks * count;
    const drawn = new Int32Array(total);
    const random = this.#random.split(batch.at.epoch).split(2 * batch.at.step + (src ? 1 : 0));
    kernels().randomIntegers(drawn, total, 0, resident, random.key, 0);
    if (among === null) toLocal(drawn, ranges);
    else for (let i = 0; i < total; i++) drawn[i] = among[drawn[i]];
    const byDegree = Math.floor(count * this.degreeFraction);
    const origins =
      byDegree > 0 && edges > 0 ? drawByDegree(ends.replaced, drawn, chunks, byDegree, random) : null;
    const ids = this.knownEnds && edges > 0 ? withKnownEnds(ends.kept, drawn, chunks) : drawn;
    if (this.knownFilter)
      return { ids, chunks, mask: maskKnownEdges(ends, ids, chunks, this.graphStorage.knownFilter) };
    if (this.localFilterMode === 'ALL') return { ids, chunks, mask: maskBatchEdges(ends, ids, chunks) };
    // A negative drawn from its own edge is the true end of that edge, so this includes those that DEG leaves out.
    if (this.selfFilter) return { ids, chunks, mask: maskPositives(ends, ids, chunks) };
    return { ids, chunks, mask: origins === null ? null : maskOrigins(origins, edges, chunks, byDegree) };
  }

  /** Returns the nodes that an end is drawn from; null: all. */
  #among(batch: TrainingBatch, src: boolean): Int32Array | null {
    if (!this.seenEnds) return null;
    if (batch.train && !this.graphStorage.allResident)
      throw new StateError(
        'RandomNegativeSampler: expected all nodes in memory for negatives among seen ends, got a partition buffer. Train without seenEnds.',
      );
    if (this.#ends === null)
      throw new StateError('RandomNegativeSampler: expected prepare() before negatives among seen ends.');
    return src ? this.#ends.src : this.#ends.dst;
  }
}

function checkCounts(where: string, given: number | NegativesPerEnd): number | NegativesPerEnd {
  if (typeof given !== 'object') return checkInteger(where, 'numNegatives', given, -1);
  return {
    src: checkInteger(where, 'numNegatives.src', given.src, 1),
    dst: checkInteger(where, 'numNegatives.dst', given.dst, 1),
  };
}

/** Replaces the first negatives of each chunk by ends of random edges; returns the edge of each. */
function drawByDegree(
  ends: Int32Array,
  ids: Int32Array,
  chunks: number,
  byDegree: number,
  random: Random,
): Int32Array {
  const count = ids.length / chunks;
  const origins = new Int32Array(chunks * byDegree);
  kernels().randomIntegers(origins, origins.length, 0, ends.length, random.split(1).key, 0);
  for (let c = 0; c < chunks; c++)
    for (let j = 0; j < byDegree; j++) ids[c * count + j] = ends[origins[c * byDegree + j]];
  return origins;
}

/** Adds the known ends of each chunk's edges to its negatives. A short last chunk repeats those of its first edges. */
function withKnownEnds(known: Int32Array, drawn: Int32Array, chunks: number): Int32Array {
  const perChunk = Math.ceil(known.length / chunks);
  const count = drawn.length / chunks;
  const ids = new Int32Array(chunks * (count + perChunk));
  for (let c = 0; c < chunks; c++) {
    const to = c * (count + perChunk);
    ids.set(drawn.subarray(c * count, (c + 1) * count), to);
    const first = Math.min(c * perChunk, known.length - 1);
    const edges = Math.min(perChunk, known.length - first);
    for (let j = 0; j < perChunk; j++) ids[to + count + j] = known[first + (j % edges)];
  }
  return ids;
}

/** Masks negatives that were drawn by degree from the edge itself. */
function maskOrigins(
  origins: Int32Array,
  edges: number,
  chunks: number,
  byDegree: number,
): NegativeMask | null {
  const perChunk = Math.ceil(edges / chunks);
  const pairs: number[] = [];
  for (let c = 0; c < chunks; c++) {
    for (let j = 0; j < byDegree; j++) {
      const edge = origins[c * byDegree + j];
      if (Math.floor(edge / perChunk) === c) pairs.push(edge, j);
    }
  }
  return pairs.length === 0 ? null : negativeMask(Int32Array.from(pairs), edges);
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
