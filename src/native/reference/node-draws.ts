/**
 * The draws of a node in one hop, as plain loops: Floyd's algorithm, draws with replacement, weighted draws, edge dropout.
 * Integers only, and positions in ascending order, so that every implementation picks the same edges in the same order.
 */
import { mulHigh32, philox4x32 } from '../../util/philox.js';
import type { RandomKey } from '../kernels.js';

/** One hop over one relation; see `sampleNeighbors` in kernels.ts. */
export interface Hop {
  readonly offsets: Int32Array;
  readonly weights: Uint32Array | null;
  readonly fanout: number;
  readonly drop: number;
  readonly replace: boolean;
  /** Id of the node whose row is the first. */
  readonly first?: number;
}

/** The words of one node in order. */
export class NodeWords {
  readonly #block = new Uint32Array(4);
  readonly #key: RandomKey;
  readonly #c2: number;
  readonly #c3: number;
  #node = 0;
  #drawn = 0;

  constructor(key: RandomKey, step: number, tag: number) {
    this.#key = key;
    this.#c2 = tag ^ key[2];
    this.#c3 = step ^ key[3];
  }

  restart(node: number): void {
    this.#node = node;
    this.#drawn = 0;
  }

  next(): number {
    const lane = this.#drawn & 3;
    if (lane === 0) this.block(this.#node, this.#drawn >> 2);
    this.#drawn++;
    return this.#block[lane];
  }

  /** The four words of a counter, valid until the next draw. */
  block(c0: number, c1: number): Uint32Array {
    philox4x32(c0, c1, this.#c2, this.#c3, this.#key[0], this.#key[1], this.#block);
    return this.#block;
  }
}

/** Upper bound of the number of edges that these nodes take. */
export function boundEdges(hop: Hop, nodes: Int32Array, begin: number, end: number): number {
  let total = 0;
  for (let i = begin; i < end; i++) {
    const row = nodes[i] - (hop.first ?? 0);
    const degree = hop.offsets[row + 1] - hop.offsets[row];
    if (hop.fanout < 0 || (!hop.replace && degree < hop.fanout)) total += degree;
    else if (degree > 0) total += hop.fanout;
  }
  return total;
}

/** Writes the positions that `node` takes to positions[at …] and returns where they end. */
export function drawPositions(
  hop: Hop,
  words: NodeWords,
  node: number,
  positions: Int32Array,
  at: number,
): number {
  const row = node - (hop.first ?? 0);
  const start = hop.offsets[row];
  const degree = hop.offsets[row + 1] - start;
  words.restart(node);
  if (hop.drop !== 0) {
    for (let i = 0; i < degree; i++) if (words.next() >= hop.drop) positions[at++] = start + i;
    return at;
  }
  if (hop.weights !== null) return drawWeighted(hop, words, start, degree, positions, at);
  if (degree === 0) return at;
  if (hop.fanout < 0 || (!hop.replace && degree <= hop.fanout)) {
    for (let i = 0; i < degree; i++) positions[at++] = start + i;
    return at;
  }
  const end = at + hop.fanout;
  if (hop.replace) {
    for (let i = at; i < end; i++) positions[i] = start + mulHigh32(words.next(), degree);
  } else {
    const taken = new Set<number>();
    for (let last = degree - hop.fanout; last < degree; last++) {
      const drawn = mulHigh32(words.next(), last + 1);
      taken.add(taken.has(drawn) ? last : drawn);
    }
    let i = at;
    for (const pick of taken) positions[i++] = start + pick;
  }
  positions.subarray(at, end).sort();
  return end;
}

function drawWeighted(
  hop: Hop,
  words: NodeWords,
  start: number,
  degree: number,
  positions: Int32Array,
  at: number,
): number {
  const sums = (hop.weights as Uint32Array).subarray(start, start + degree);
  const before = (i: number) => (i === 0 ? 0 : sums[i - 1]);
  if (hop.fanout < 0 || (!hop.replace && degree <= hop.fanout)) {
    for (let i = 0; i < degree; i++) if (sums[i] !== before(i)) positions[at++] = start + i;
    return at;
  }
  const picks: number[] = [];
  let left = degree === 0 ? 0 : sums[degree - 1];
  while (picks.length < hop.fanout && left > 0) {
    let u = mulHigh32(words.next(), left);
    if (!hop.replace) {
      for (const taken of picks) {
        if (u < before(taken)) break;
        u += sums[taken] - before(taken);
      }
    }
    let low = 0;
    for (let high = degree; low < high; ) {
      const middle = (low + high) >>> 1;
      if (sums[middle] > u) high = middle;
      else low = middle + 1;
    }
    if (!hop.replace) left -= sums[low] - before(low);
    picks.push(low);
    picks.sort((a, b) => a - b);
  }
  for (const pick of picks) positions[at++] = start + pick;
  return at;
}
