/**
 * A worker's share of a batch of edges, or of nodes. Every worker draws the whole batch, with the counters of its step in
 * the epoch, so that it is the same for any number of workers; then each keeps consecutive edges and the negatives of
 * their chunks. A share is scored in segments of equal chunks, because a decoder takes chunks of equal length.
 */
import type { NegativeMask } from '../../../../gnn/ops/chunked-softmax-loss.js';
import type { IdLists } from '../../../../gnn/ops/id-lists.js';
import type { EdgeList } from '../../../../sample/one-hop-sampler.js';
import { concatInt32, evenRange } from '../../../../util/arrays.js';
import type { Negatives, TrainingBatch } from './training-batch.js';

/** Consecutive edges of a share with the chunks of negatives that belong to them; both count from the share's first. */
export interface ShareSegment {
  readonly from: number;
  readonly to: number;
  readonly firstChunk: number;
  readonly chunks: number;
}

export interface BatchShare {
  /** Edges of the whole batch, and the first of this share. */
  readonly total: number;
  readonly from: number;
  /** Chunks of the whole batch, and the first that this share has. */
  readonly totalChunks: number;
  readonly firstChunk: number;
  readonly segments: readonly ShareSegment[];
  /** Ends of all edges of the batch, which no worker may sample. */
  readonly allSrc: Int32Array;
  readonly allDst: Int32Array;
}

/** One of `size` workers. */
export interface WorkerRank {
  readonly rank: number;
  readonly size: number;
}

/** Returns this worker's share of the nodes of a batch: consecutive ones, none when there are fewer than workers. */
export function shareNodes(nodes: Int32Array, { rank, size }: WorkerRank): Int32Array {
  const { start, end } = evenRange(nodes.length, rank, size);
  return size === 1 ? nodes : nodes.slice(start, end);
}

/** Returns the position of a share's results among all: batch by batch, destinations replaced before sources. */
export function resultPosition(
  { share, startIndex }: TrainingBatch,
  direction: 'tail' | 'head',
  first = 0,
): { readonly position?: number } {
  if (share === null) return {};
  const { total, from } = share;
  return { position: 2 * startIndex + (direction === 'tail' ? 0 : total) + from + first };
}

/** Returns the nodes of the edges and negatives of a batch; they may repeat. */
export function nodesOf(batch: TrainingBatch): Int32Array {
  const { src, dst, srcNegatives, dstNegatives, negativeEdges } = batch;
  const lists = [
    ...[src, dst, srcNegatives?.ids, dstNegatives?.ids],
    ...[negativeEdges?.src, negativeEdges?.dst],
  ].flatMap((list) => list ?? []);
  return concatInt32(lists);
}

/** Returns the batch with this worker's edges and negatives; `batchSize` stays that of the whole. */
export function takeShare(batch: TrainingBatch, { rank, size }: WorkerRank): TrainingBatch {
  const { src, dst, evaluation, negativeEdges } = batch;
  if (src === null || dst === null || size === 1) return batch;
  const total = src.length;
  const { start: from, end: to } = evenRange(total, rank, size);
  const totalChunks = batch.dstNegatives?.chunks ?? batch.srcNegatives?.chunks ?? 1;
  const perChunk = Math.max(1, Math.ceil(total / totalChunks));
  const firstChunk = Math.min(Math.floor(from / perChunk), totalChunks - 1);
  const endChunk = to === from ? firstChunk : Math.ceil(to / perChunk);
  const segments = segmentsOf(from, to, perChunk).map(({ start, end }) => ({
    from: start - from,
    to: end - from,
    firstChunk: Math.floor(start / perChunk) - firstChunk,
    chunks: Math.ceil(end / perChunk) - Math.floor(start / perChunk),
  }));
  const chunks = { first: firstChunk, end: endChunk };
  const lists = (all: IdLists | null): IdLists | null =>
    all === null ? null : { offsets: shiftOffsets(all.offsets, from, to), ids: idsBetween(all, from, to) };
  return batch.with({
    share: { total, from, totalChunks, firstChunk, segments, allSrc: src, allDst: dst },
    src: src.slice(from, to),
    dst: dst.slice(from, to),
    relations: batch.relations?.slice(from, to) ?? null,
    edgeWeights: batch.edgeWeights?.slice(from, to) ?? null,
    srcNegatives: negativesOf(batch.srcNegatives, chunks, from, to),
    dstNegatives: negativesOf(batch.dstNegatives, chunks, from, to),
    negativeEdges: negativeEdges === null ? null : edgesBetween(negativeEdges, total, from, to),
    evaluation:
      evaluation === null
        ? null
        : {
            tiles: evaluation.tiles,
            candidates: evaluation.candidates ?? null,
            trueSources: lists(evaluation.trueSources),
            trueDestinations: lists(evaluation.trueDestinations),
          },
  });
}

/** Returns the negative edges of edges from … to − 1 of `total`. */
export function edgesBetween(edges: EdgeList, total: number, from: number, to: number): EdgeList {
  const perEdge = edges.src.length / total;
  const slice = (ids: Int32Array): Int32Array => ids.subarray(from * perEdge, to * perEdge);
  const { src, dst, relations = null } = edges;
  return { src: slice(src), dst: slice(dst), relations: relations === null ? null : slice(relations) };
}

/** Splits edges into the rest of a chunk, whole chunks, and the beginning of one. */
function segmentsOf(
  from: number,
  to: number,
  perChunk: number,
): { readonly start: number; readonly end: number }[] {
  const head = Math.min(to, Math.ceil(from / perChunk) * perChunk);
  const body = Math.max(head, Math.floor(to / perChunk) * perChunk);
  const found = [
    { start: from, end: head },
    { start: head, end: body },
    { start: body, end: to },
  ];
  return found.filter(({ start, end }) => end > start);
}

function negativesOf(
  negatives: Negatives | null,
  { first, end }: { readonly first: number; readonly end: number },
  from: number,
  to: number,
): Negatives | null {
  if (negatives === null) return null;
  const count = negatives.ids.length / negatives.chunks;
  const mask = negatives.mask ?? null;
  return {
    ids: negatives.ids.slice(first * count, end * count),
    chunks: end - first,
    mask: mask === null ? null : maskBetween(mask, from, to),
  };
}

/** Returns the mask of edges from … to − 1; null when it leaves nothing out. */
export function maskBetween(mask: NegativeMask, from: number, to: number): NegativeMask | null {
  const positions = mask.positions.slice(mask.offsets[from], mask.offsets[to]);
  return positions.length === 0 ? null : { offsets: shiftOffsets(mask.offsets, from, to), positions };
}

function idsBetween(all: IdLists, from: number, to: number): Int32Array {
  return all.ids.slice(all.offsets[from], all.offsets[to]);
}

/** Returns the offsets of lists from … to − 1, starting at 0. */
function shiftOffsets(offsets: Int32Array, from: number, to: number): Int32Array {
  return offsets.slice(from, to + 1).map((offset) => offset - offsets[from]);
}
