/**
 * A map of rows that keeps neighbourhoods together: UMAP (McInnes, Healy and Melville, 2018). Neighbours are found exactly, by
 * cosine similarity; the layout starts on the principal plane and draws from a seed, so equal rows give equal maps.
 */
import { setImmediate } from 'node:timers/promises';
import type { Tile } from '../../storage/trained-rows.js';
import { checkInteger, checkNumber } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { kernelScorer } from '../search/block-scorer.js';
import { searchRows } from '../search/search-rows.js';
import { principalPlane } from './principal-components.js';

export interface UmapOptions {
  /** Neighbours of a row that the layout keeps close: few show detail, many show the whole. Default 15. */
  readonly neighbors?: number;
  /** Passes over the neighbours. Default 500, and 200 for more than 10,000 rows. */
  readonly epochs?: number;
  readonly seed?: number;
  /** Told the share of the work that is done. */
  readonly onProgress?: (done: number) => void;
  readonly signal?: AbortSignal | undefined;
}

export interface MapPoints {
  readonly x: Float64Array;
  readonly y: Float64Array;
}

/** The curve 1 / (1 + a d^(2b)) that is nearest to the authors' default, min_dist .1 and spread 1. */
const [a, b] = [1.5769434603113077, 0.8950608779109733];

/** Points that repel a point, for each neighbour that attracts it. */
const negatives = 5;

/** Milliseconds after which other work of the process runs. */
const slice = 12;

/** @param rows numbers of `width` columns */
export async function umap(rows: Float32Array, width: number, options: UmapOptions = {}): Promise<MapPoints> {
  checkOptionNames('umap', options, {
    ...{ neighbors: true, epochs: true, seed: true, onProgress: true, signal: true },
  });
  const count = rows.length / width;
  const { neighbors = 15, epochs = count > 10_000 ? 200 : 500, seed = 1, onProgress, signal } = options;
  checkInteger('umap', 'neighbors', neighbors, 2, 200);
  checkInteger('umap', 'epochs', epochs, 1, 10_000);
  checkNumber('umap', 'seed', seed, 0, 2 ** 32 - 1);
  const start = spread(principalPlane(rows, width));
  if (count < 3) return start;
  const near = await nearest(rows, width, Math.min(neighbors, count - 1), {
    signal,
    onProgress: (done) => onProgress?.(0.2 * done),
  });
  const edges = fuzzyEdges(near, epochs);
  const layout = new Layout(start, edges, epochs, seed);
  let since = performance.now();
  for (let epoch = 0; epoch < epochs; epoch++) {
    layout.step(epoch);
    if (performance.now() - since < slice) continue;
    onProgress?.(0.2 + (0.8 * (epoch + 1)) / epochs);
    await setImmediate();
    signal?.throwIfAborted();
    since = performance.now();
  }
  return start;
}

interface Nearest {
  readonly count: number;
  readonly k: number;
  readonly ids: Int32Array;
  readonly distances: Float64Array;
}

/** Finds the k nearest others of every row by 1 − cosine similarity. */
async function nearest(
  rows: Float32Array,
  width: number,
  k: number,
  { signal, onProgress }: Pick<UmapOptions, 'signal' | 'onProgress'>,
): Promise<Nearest> {
  const count = rows.length / width;
  const unit = unitRows(rows, width);
  const ids = new Int32Array(count * k);
  const distances = new Float64Array(count * k);
  const most = 64;
  let since = performance.now();
  for (let from = 0; from < count; from += most) {
    const group = Math.min(most, count - from);
    const [found] = await searchRows(oneTile(unit, count), width, [
      {
        scorer: kernelScorer('dot', {
          rows: unit.subarray(from * width, (from + group) * width),
          ...{ count: group, width },
        }),
        queries: Array.from({ length: group }, (_, i) => ({ count: k, exclude: new Set([from + i]) })),
        ...{ among: null, scale: null },
      },
    ]);
    for (const [i, list] of found.entries())
      for (const [j, { id, score }] of list.entries()) {
        ids[(from + i) * k + j] = id;
        distances[(from + i) * k + j] = Math.max(0, 1 - score);
      }
    onProgress?.((from + group) / count);
    if (performance.now() - since >= slice) {
      await setImmediate();
      since = performance.now();
    }
    signal?.throwIfAborted();
  }
  return { count, k, ids, distances };
}

async function* oneTile(rows: Float32Array, count: number): AsyncGenerator<Tile> {
  yield { start: 0, count, rows };
}

/** Rows of length 1; a row of zeros, or with a number that is not finite, is 0. */
function unitRows(rows: Float32Array, width: number): Float32Array {
  const unit = rows.slice();
  for (let from = 0; from < rows.length; from += width) {
    let squares = 0;
    for (let i = from; i < from + width; i++) squares += rows[i] * rows[i];
    const factor = squares > 0 && Number.isFinite(squares) ? 1 / Math.sqrt(squares) : 0;
    for (let i = from; i < from + width; i++) unit[i] = factor === 0 ? 0 : rows[i] * factor;
  }
  return unit;
}

interface FuzzyEdges {
  readonly from: Int32Array;
  readonly to: Int32Array;
  /** Epochs between two uses of an edge: 1 for the strongest. */
  readonly every: Float64Array;
}

/** Turns distances into the weights of an undirected graph; drops edges too weak to be used once. */
function fuzzyEdges({ count, k, ids, distances }: Nearest, epochs: number): FuzzyEdges {
  const weights = new Float64Array(count * k);
  for (let i = 0; i < count; i++) {
    const own = distances.subarray(i * k, (i + 1) * k);
    const closest = own.find((distance) => distance > 0) ?? 0;
    const sigma = bandwidth(own, closest);
    for (let j = 0; j < k; j++) weights[i * k + j] = membership(own[j], closest, sigma);
  }
  const from: number[] = [];
  const to: number[] = [];
  const strength: number[] = [];
  for (let i = 0; i < count; i++)
    for (let j = 0; j < k; j++) {
      const other = ids[i * k + j];
      const back = ids.subarray(other * k, (other + 1) * k).indexOf(i);
      // A pair that is in both lists is taken once, from the lower row.
      if (back >= 0 && other < i) continue;
      const [there, here] = [weights[i * k + j], back < 0 ? 0 : weights[other * k + back]];
      const either = there + here - there * here;
      from.push(i, other);
      to.push(other, i);
      strength.push(either, either);
    }
  const strongest = strength.reduce((most, value) => Math.max(most, value), 0);
  const used = Array.from(strength.keys()).filter((e) => strength[e] * epochs >= strongest);
  return {
    from: Int32Array.from(used, (e) => from[e]),
    to: Int32Array.from(used, (e) => to[e]),
    every: Float64Array.from(used, (e) => strongest / strength[e]),
  };
}

const membership = (distance: number, closest: number, sigma: number): number =>
  distance <= closest || sigma === 0 ? 1 : Math.exp(-(distance - closest) / sigma);

/** Returns the width with which the memberships of a row add up to log2(k). */
function bandwidth(distances: Float64Array, closest: number): number {
  const wanted = Math.log2(distances.length);
  const mean = distances.reduce((sum, distance) => sum + distance, 0) / distances.length;
  let [low, high, sigma] = [0, Number.POSITIVE_INFINITY, mean || 1];
  for (let step = 0; step < 64; step++) {
    const sum = distances.reduce((total, distance) => total + membership(distance, closest, sigma), 0);
    if (Math.abs(sum - wanted) < 1e-5) break;
    if (sum > wanted) high = sigma;
    else low = sigma;
    sigma = Number.isFinite(high) ? (low + high) / 2 : sigma * 2;
    if (!Number.isFinite(sigma)) break;
  }
  return Math.max(Number.isFinite(sigma) ? sigma : 0, 1e-3 * mean);
}

/** Scales a plane to the extent that the layout expects, and moves equal points apart. */
function spread({ x, y }: MapPoints): MapPoints {
  const most = Math.max(extent(x), extent(y)) || 1;
  const scaled = (values: Float64Array, phase: number): Float64Array =>
    values.map((value, i) => (10 * value) / most + 1e-3 * Math.sin(i * 12.9898 + phase));
  return { x: scaled(x, 0), y: scaled(y, 1.3) };
}

const extent = (values: Float64Array): number =>
  values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);

/** Stochastic gradient descent: neighbours attract, points drawn at random repel. */
class Layout {
  readonly #x: Float64Array;
  readonly #y: Float64Array;
  readonly #edges: FuzzyEdges;
  readonly #epochs: number;
  /** The epoch of each edge's next use. */
  readonly #next: Float64Array;
  #word: number;

  constructor({ x, y }: MapPoints, edges: FuzzyEdges, epochs: number, seed: number) {
    this.#x = x;
    this.#y = y;
    this.#edges = edges;
    this.#epochs = epochs;
    this.#next = edges.every.slice();
    this.#word = (seed ^ 0x9e3779b9) | 0 || 1;
  }

  step(epoch: number): void {
    const { from, to, every } = this.#edges;
    const next = this.#next;
    const rate = 1 - epoch / this.#epochs;
    const count = this.#x.length;
    for (let e = 0; e < from.length; e++) {
      if (next[e] > epoch + 1) continue;
      next[e] += every[e];
      this.#attract(from[e], to[e], rate);
      for (let n = 0; n < negatives; n++) {
        const other = this.#draw(count);
        if (other !== from[e]) this.#repel(from[e], other, rate);
      }
    }
  }

  #attract(i: number, j: number, rate: number): void {
    const [x, y] = [this.#x, this.#y];
    const [dx, dy] = [x[i] - x[j], y[i] - y[j]];
    const squared = dx * dx + dy * dy;
    if (squared === 0) return;
    const power = squared ** b;
    const force = (-2 * a * b * (power / squared)) / (1 + a * power);
    const [mx, my] = [rate * clip(force * dx), rate * clip(force * dy)];
    x[i] += mx;
    y[i] += my;
    x[j] -= mx;
    y[j] -= my;
  }

  #repel(i: number, j: number, rate: number): void {
    const [x, y] = [this.#x, this.#y];
    const [dx, dy] = [x[i] - x[j], y[i] - y[j]];
    const squared = dx * dx + dy * dy;
    const force = (2 * b) / ((0.001 + squared) * (1 + a * squared ** b));
    x[i] += rate * clip(force * dx);
    y[i] += rate * clip(force * dy);
  }

  /** Draws by xorshift32: a layout takes some hundred million draws, and none of them must be unpredictable. */
  #draw(count: number): number {
    let word = this.#word;
    word ^= word << 13;
    word ^= word >>> 17;
    word ^= word << 5;
    this.#word = word;
    return Math.floor(((word >>> 0) / 4294967296) * count);
  }
}

/** Moves are at most 4 a step, so that no point is thrown away. */
const clip = (value: number): number => Math.max(-4, Math.min(4, value));
