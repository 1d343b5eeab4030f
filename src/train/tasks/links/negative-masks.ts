/**
 * Masks of negatives that are not negatives: the true end of an edge, other edges of the batch, or known edges. The
 * negatives of a chunk are in a hash table, since an epoch looks up hundreds of known ends for each of its edges.
 */
import type { NegativeMask } from '../../../gnn/ops/chunked-softmax-loss.js';
import type { TrainingBatch } from '../graph/batch/training-batch.js';
import type { FilterIndex } from './filter-index.js';

/** The edges of a batch by the end that negatives replace. */
export interface CorruptedEnds {
  readonly replaced: Int32Array;
  readonly kept: Int32Array;
  readonly relations: Int32Array | null;
  /** Whether negatives replace the destinations. */
  readonly tails: boolean;
}

/** @param src whether the sources are replaced. */
export function corruptedEnds(batch: TrainingBatch, src: boolean): CorruptedEnds {
  const none = new Int32Array(0);
  const [replaced, kept] = src ? [batch.src, batch.dst] : [batch.dst, batch.src];
  return { replaced: replaced ?? none, kept: kept ?? none, relations: batch.relations, tails: !src };
}

/** Masks negatives that are the true end of their edge. @param ids of all chunks, the same number for each. */
export function maskPositives(ends: CorruptedEnds, ids: Int32Array, chunks: number): NegativeMask | null {
  return maskEach(ends, ids, chunks, (edge, find) => find(ends.replaced[edge]));
}

/** Masks negatives that make an edge of the batch. */
export function maskBatchEdges(ends: CorruptedEnds, ids: Int32Array, chunks: number): NegativeMask | null {
  const { replaced, kept, relations } = ends;
  const relation = (edge: number): number => relations?.[edge] ?? 0;
  const byKept = (a: number, b: number): number => kept[a] - kept[b] || relation(a) - relation(b);
  const order = Int32Array.from(kept.keys()).sort((a, b) => byKept(a, b) || replaced[a] - replaced[b]);
  // Edges of one query are consecutive in the order: each edge masks the distinct ends of its run.
  const firstOfRun = new Int32Array(order.length);
  for (let i = 0, first = 0; i < order.length; i++) {
    if (byKept(order[first], order[i]) !== 0) first = i;
    firstOfRun[order[i]] = first;
  }
  return maskEach(ends, ids, chunks, (edge, find) => {
    for (let i = firstOfRun[edge]; i < order.length && byKept(order[i], edge) === 0; i++)
      if (i === firstOfRun[edge] || replaced[order[i]] !== replaced[order[i - 1]]) find(replaced[order[i]]);
  });
}

/** Masks negatives that make a known edge. */
export function maskKnownEdges(
  ends: CorruptedEnds,
  ids: Int32Array,
  chunks: number,
  known: Pick<FilterIndex, 'endsOf'>,
): NegativeMask | null {
  const { kept, relations, tails } = ends;
  return maskEach(ends, ids, chunks, (edge, find) => {
    const list = known.endsOf(kept[edge], relations?.[edge] ?? 0, tails);
    for (let p = 0; p < list.length; p++) find(list[p]);
  });
}

/** Masks the negatives that `visit` finds for each edge by their id; null if there are none. */
function maskEach(
  { replaced }: CorruptedEnds,
  ids: Int32Array,
  chunks: number,
  visit: (edge: number, find: (id: number) => void) => void,
): NegativeMask | null {
  const edges = replaced.length;
  const count = ids.length / chunks;
  const perChunk = Math.ceil(edges / chunks);
  const offsets = new Int32Array(edges + 1);
  const positions: number[] = [];
  const table = new PositionTable(count);
  const find = (id: number): void => table.find(id, positions);
  for (let edge = 0; edge < edges; edge++) {
    if (edge % perChunk === 0)
      table.fill(ids.subarray((edge / perChunk) * count, (edge / perChunk + 1) * count));
    const first = positions.length;
    visit(edge, find);
    if (positions.length - first > 1) sortFrom(positions, first);
    offsets[edge + 1] = positions.length;
  }
  return positions.length === 0 ? null : { offsets, positions: Int32Array.from(positions) };
}

/** The positions of each id in a list: a hash table with linear probing, and a chain for ids that occur several times. */
class PositionTable {
  readonly #shift: number;
  /** The first position of an id; −1: free. */
  readonly #slots: Int32Array;
  /** The next position of the same id; −1: none. */
  readonly #next: Int32Array;
  #ids: Int32Array = new Int32Array(0);

  constructor(count: number) {
    // At least four slots per id: a search for one that is missing mostly ends at its first slot.
    const bits = Math.ceil(Math.log2(Math.max(1, count))) + 2;
    this.#shift = 32 - bits;
    this.#slots = new Int32Array(2 ** bits);
    this.#next = new Int32Array(count);
  }

  /** Replaces the list; the number of ids is that of the constructor. */
  fill(ids: Int32Array): void {
    this.#ids = ids;
    this.#slots.fill(-1);
    for (let position = ids.length - 1; position >= 0; position--) {
      const slot = this.#slotOf(ids[position]);
      this.#next[position] = this.#slots[slot];
      this.#slots[slot] = position;
    }
  }

  /** Appends the positions of an id, ascending. */
  find(id: number, to: number[]): void {
    for (let p = this.#slots[this.#slotOf(id)]; p >= 0; p = this.#next[p]) to.push(p);
  }

  /** Returns the slot of an id, or the free one where it would be. */
  #slotOf(id: number): number {
    const last = this.#slots.length - 1;
    let slot = Math.imul(id, 0x9e3779b1) >>> this.#shift;
    for (let p = this.#slots[slot]; p >= 0 && this.#ids[p] !== id; p = this.#slots[slot])
      slot = (slot + 1) & last;
    return slot;
  }
}

function sortFrom(values: number[], first: number): void {
  const sorted = values.slice(first).sort((a, b) => a - b);
  for (let i = 0; i < sorted.length; i++) values[first + i] = sorted[i];
}
