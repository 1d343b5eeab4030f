/**
 * Link prediction by counting: an end is ranked by how often it occurs at that end of that relation in training. The
 * edges, candidates, filters, ties and metrics are those of the model's evaluation.
 */
import type { NegativeMask } from '../../../gnn/ops/chunked-softmax-loss.js';
import type { IdLists } from '../../../gnn/ops/id-lists.js';
import { LinkPredictionReporter } from '../../run/index.js';
import type { Baseline, HeldOut } from '../../task.js';
import { maskBetween, resultPosition, type ShareSegment } from '../graph/batch/batch-share.js';
import type { BatchSource } from '../graph/batch/batch-source.js';
import type { Negatives, TrainingBatch } from '../graph/batch/training-batch.js';
import { type Candidates, positionIn } from './candidates.js';
import type { Direction, EndCounts } from './end-counts.js';
import type { LinkPredictionModel } from './link-prediction-model.js';

/** Held-out edges that are ranked; the rest of a larger split would take longer and change little. */
const mostRanked = 50_000;
/** Training edges that are counted: above, the counts take too much memory next to what is trained. */
const mostCounted = { allResident: 2 ** 24, buffered: 2 ** 20 };

/** A score at or below which a negative is masked. */
const maskedScore = -2e9;

/** Returns the metrics of counting on a split, in the directions that the model ranked; null if they would take too long. */
export async function countingBaseline(
  source: BatchSource,
  { reporter, decoder, workers }: LinkPredictionModel,
  split: HeldOut,
): Promise<Baseline | null> {
  const { storage } = source;
  const train = storage.split('train');
  const most = storage.allResident ? mostCounted.allResident : mostCounted.buffered;
  // Corrupted relations are ranked instead of nodes.
  if (train === null || train.numEdges > most || decoder.method === 'CORRUPT_REL') return null;
  const counts = await storage.endCounts();
  const directions = reporter.size === 0 ? bothDirections : [...reporter.resultsByDirection().keys()];
  const { ties, metrics } = reporter;
  const counted = new LinkPredictionReporter({ ties, metrics });
  const ranker = new CountRanker(counts, counted);
  let done = 0;
  while (source.hasNext() && done < mostRanked) {
    const batch = await source.draw();
    for (const direction of directions) ranker.add(batch, direction);
    done += batch.batchSize;
  }
  if (workers !== null) counted.shareResults(workers);
  const isPartial = done < source.numItemsOf(split);
  return { name: 'counting', metrics: counted.results(), ...(isPartial ? { items: done } : {}) };
}

const bothDirections: readonly Direction[] = ['tail', 'head'];

/** The counts of the nodes at an end of one relation. */
interface LoadedEnds {
  readonly nodes: Int32Array;
  /** Numbers above zero, ascending. */
  readonly sorted: Int32Array;
}

class CountRanker {
  readonly #counts: EndCounts;
  readonly #reporter: LinkPredictionReporter;
  /** The count of each node at the loaded end of the loaded relation. */
  readonly #scores: Int32Array;
  #loaded: { readonly key: string; readonly ends: LoadedEnds } | null = null;
  readonly #sorted = new Map<string, Int32Array>();

  constructor(counts: EndCounts, reporter: LinkPredictionReporter) {
    this.#counts = counts;
    this.#reporter = reporter;
    this.#scores = new Int32Array(counts.numNodes);
  }

  /** Adds the ranks of a batch's edges. */
  add(batch: TrainingBatch, direction: Direction): void {
    const { evaluation, share } = batch;
    if (evaluation !== null) {
      const filter = direction === 'tail' ? evaluation.trueDestinations : evaluation.trueSources;
      this.#rankAll(batch, direction, filter, evaluation.candidates ?? null);
    } else
      for (const segment of share === null ? [null] : share.segments)
        this.#rankNegatives(batch, direction, segment);
  }

  #rankAll(
    batch: TrainingBatch,
    direction: Direction,
    filter: IdLists | null,
    among: Candidates | null,
  ): void {
    const targets = (direction === 'tail' ? batch.dst : batch.src) as Int32Array;
    const count = targets.length;
    const greater = new Int32Array(count);
    const equal = new Int32Array(count);
    const candidates = new Int32Array(count);
    const scores = this.#scores;
    for (const i of byRelation(batch.relations, 0, count)) {
      const relation = relationOf(batch.relations, i);
      const { sorted } = this.#load(relation, direction);
      const nodes = among?.of(relation, direction) ?? null;
      const isCandidate = (node: number): boolean =>
        nodes === null || scores[node] > 0 || positionIn(nodes, node) >= 0;
      const target = targets[i];
      const score = scores[target];
      const above = upperBound(sorted, score);
      candidates[i] = (nodes?.length ?? scores.length) - (isCandidate(target) ? 1 : 0);
      greater[i] = sorted.length - above;
      equal[i] = score === 0 ? candidates[i] - sorted.length : above - upperBound(sorted, score - 1) - 1;
      let before = -1;
      for (let k = filter?.offsets[i] ?? 0; filter !== null && k < filter.offsets[i + 1]; k++) {
        const id = filter.ids[k];
        if (id === before || id === target || !isCandidate(id)) continue;
        before = id;
        candidates[i]--;
        if (scores[id] > score) greater[i]--;
        else if (scores[id] === score) equal[i]--;
      }
    }
    this.#reporter.addCounts(greater, equal, candidates, detailsOf(batch, direction, null));
  }

  #rankNegatives(batch: TrainingBatch, direction: Direction, segment: ShareSegment | null): void {
    const tail = direction === 'tail';
    const negatives = tail ? batch.dstNegatives : batch.srcNegatives;
    if (negatives === null) return;
    const targets = (tail ? batch.dst : batch.src) as Int32Array;
    const { from, to, ids, chunks, mask } = ofSegment(negatives, segment, targets.length);
    const perChunk = Math.ceil((to - from) / chunks);
    const width = ids.length / chunks;
    const positive = new Float64Array(to - from);
    const negative = new Float64Array((to - from) * width);
    const scores = this.#scores;
    for (const i of byRelation(batch.relations, from, to)) {
      this.#load(relationOf(batch.relations, i), direction);
      const row = i - from;
      const first = Math.floor(row / perChunk) * width;
      positive[row] = scores[targets[i]];
      for (let j = 0; j < width; j++) negative[row * width + j] = scores[ids[first + j]];
      for (let k = mask?.offsets[row] ?? 0; mask !== null && k < mask.offsets[row + 1]; k++)
        negative[row * width + mask.positions[k]] = maskedScore;
    }
    this.#reporter.addResult(positive, negative, detailsOf(batch, direction, segment));
  }

  /** Puts the counts of one end of a relation into the array of scores. */
  #load(relation: number, direction: Direction): LoadedEnds {
    const key = `${direction} ${relation}`;
    if (this.#loaded?.key === key) return this.#loaded.ends;
    for (const node of this.#loaded?.ends.nodes ?? []) this.#scores[node] = 0;
    const { nodes, counts } = this.#counts.of(relation, direction);
    for (let i = 0; i < nodes.length; i++) this.#scores[nodes[i]] = counts[i];
    let sorted = this.#sorted.get(key);
    if (sorted === undefined) {
      sorted = counts.slice().sort();
      this.#sorted.set(key, sorted);
    }
    const ends = { nodes, sorted };
    this.#loaded = { key, ends };
    return ends;
  }
}

function relationOf(relations: Int32Array | null, edge: number): number {
  return relations === null ? 0 : relations[edge];
}

/** Returns the edges from … to − 1 in the order of their relations, so that each relation is loaded once. */
function byRelation(relations: Int32Array | null, from: number, to: number): Int32Array {
  const edges = Int32Array.from({ length: to - from }, (_, i) => from + i);
  return relations === null ? edges : edges.sort((a, b) => relations[a] - relations[b] || a - b);
}

function detailsOf(batch: TrainingBatch, direction: Direction, segment: ShareSegment | null) {
  const { relations } = batch;
  const own = segment === null ? relations : (relations?.subarray(segment.from, segment.to) ?? null);
  return {
    direction,
    ...(own === null ? {} : { relations: own }),
    ...resultPosition(batch, direction, segment?.from),
  };
}

/** Returns the edges and negatives of a worker's segment of a batch, or of the whole batch. */
function ofSegment({ ids, chunks, mask = null }: Negatives, segment: ShareSegment | null, edges: number) {
  if (segment === null) return { from: 0, to: edges, ids, chunks, mask };
  const { from, to, firstChunk } = segment;
  const width = ids.length / chunks;
  const cut: NegativeMask | null = mask === null ? null : maskBetween(mask, from, to);
  return {
    ...{ from, to, chunks: segment.chunks, mask: cut },
    ids: ids.subarray(firstChunk * width, (firstChunk + segment.chunks) * width),
  };
}

/** Returns the number of values that are at most `limit`, in an ascending array. */
function upperBound(values: Int32Array, limit: number): number {
  let [low, high] = [0, values.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (values[middle] <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}
