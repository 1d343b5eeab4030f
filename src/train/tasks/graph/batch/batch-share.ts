/**
 * A worker's share of a batch of edges, or of nodes. The batch is drawn whole by every worker, with the counters of its number in the
 * epoch, so that it is the same for any number of workers; then each keeps consecutive edges and the negatives of their
 * chunks. Chunks that are cut in two become pieces of their own, because a decoder takes chunks of equal length.
 */
import type { NegativeMask } from '../../../../gnn/index.js';
import { evenRange } from '../../../../util/arrays.js';
import type { Batch, Negatives } from './batch.js';

/** Consecutive edges of a share with the chunks of negatives that belong to them; both count from the share's first. */
export interface BatchPiece {
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
  readonly pieces: readonly BatchPiece[];
  /** Ends of all edges of the batch: what must not be seen of any of them. */
  readonly allSrc: Int32Array;
  readonly allDst: Int32Array;
}

/** One of `size` workers. */
export interface Place {
  readonly rank: number;
  readonly size: number;
}

/** This worker's part of the nodes of a batch: consecutive ones, none when there are fewer than workers. */
export function ownNodes(nodes: Int32Array, { rank, size }: Place): Int32Array {
  const { start, end } = evenRange(nodes.length, rank, size);
  return size === 1 ? nodes : nodes.slice(start, end);
}

/** Where results of a share stand among those of all: batch by batch, destinations replaced before sources. */
export function resultPlace(
  batch: Batch,
  direction: 'tail' | 'head',
  first = 0,
): { readonly place?: number } {
  if (batch.share === null) return {};
  const { total, from } = batch.share;
  return { place: 2 * batch.startIndex + (direction === 'tail' ? 0 : total) + from + first };
}

/** The nodes that the edges and negatives of a batch have; they may repeat. */
export function nodesOf({ src, dst, srcNegatives, dstNegatives }: Batch): Int32Array {
  const lists = [src, dst, srcNegatives?.ids, dstNegatives?.ids].flatMap((list) => list ?? []);
  const all = new Int32Array(lists.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const list of lists) {
    all.set(list, at);
    at += list.length;
  }
  return all;
}

/** Leaves this worker's edges and negatives in the batch; the size of the batch stays that of the whole. */
export function takeShare(batch: Batch, { rank, size }: Place): void {
  const { src, dst } = batch;
  if (src === null || dst === null || size === 1) return;
  const total = src.length;
  const { start: from, end: to } = evenRange(total, rank, size);
  const totalChunks = batch.dstNegatives?.chunks ?? batch.srcNegatives?.chunks ?? 1;
  const perChunk = Math.max(1, Math.ceil(total / totalChunks));
  const firstChunk = Math.min(Math.floor(from / perChunk), totalChunks - 1);
  const endChunk = to === from ? firstChunk : Math.ceil(to / perChunk);
  const pieces = cut(from, to, perChunk).map(({ start, end }) => ({
    from: start - from,
    to: end - from,
    firstChunk: Math.floor(start / perChunk) - firstChunk,
    chunks: Math.ceil(end / perChunk) - Math.floor(start / perChunk),
  }));
  batch.share = { total, from, totalChunks, firstChunk, pieces, allSrc: src, allDst: dst };
  batch.src = src.slice(from, to);
  batch.dst = dst.slice(from, to);
  batch.relations = batch.relations?.slice(from, to) ?? null;
  const chunks = { first: firstChunk, end: endChunk };
  batch.srcNegatives = negativesOf(batch.srcNegatives, chunks, from, to);
  batch.dstNegatives = negativesOf(batch.dstNegatives, chunks, from, to);
  if (batch.evaluation !== null) {
    const { tiles, trueSources, trueDestinations } = batch.evaluation;
    const lists = (all: typeof trueSources): typeof trueSources =>
      all === null ? null : { offsets: shifted(all.offsets, from, to), ids: idsBetween(all, from, to) };
    batch.evaluation = { tiles, trueSources: lists(trueSources), trueDestinations: lists(trueDestinations) };
  }
}

/** Edges of the rest of a chunk, of whole chunks, and of the beginning of one. */
function cut(from: number, to: number, perChunk: number): { readonly start: number; readonly end: number }[] {
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

/** The mask of edges from … to − 1; null when it leaves nothing out. */
export function maskBetween(mask: NegativeMask, from: number, to: number): NegativeMask | null {
  const positions = mask.positions.slice(mask.offsets[from], mask.offsets[to]);
  return positions.length === 0 ? null : { offsets: shifted(mask.offsets, from, to), positions };
}

function idsBetween(
  all: { readonly offsets: ArrayLike<number>; readonly ids: Int32Array },
  from: number,
  to: number,
) {
  return all.ids.slice(all.offsets[from], all.offsets[to]);
}

/** Offsets of lists from … to − 1, from 0. */
function shifted(offsets: Int32Array, from: number, to: number): Int32Array {
  return offsets.slice(from, to + 1).map((offset) => offset - offsets[from]);
}
