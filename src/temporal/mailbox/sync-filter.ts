/**
 * Selects the changes of shared nodes that are sent to the other workers: those whose memory differs from what was last sent (cosine
 * distance), and those that were skipped too often. This saves traffic; it does not bound the error.
 *
 * The distance is 1 − cos(new, last sent). A node that was never sent has a zero vector, distance 1. The cosine
 * ignores length, hence `maxSkip`. After Hotspot Memory Sharing (MemShare, PVLDB 18(9), 2025).
 */
import { binaryCode, type FloatArray, kernels, reduceCode, type TypedArray } from '../../native/index.js';
import type { Ids, Tensor } from '../../tensor/index.js';
import { checkIds } from '../../tensor/ops/common.js';
import {
  checkInteger,
  checkNumber,
  expected,
  FormatError,
  ShapeError,
  ValueError,
} from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';

export interface SyncFilterOptions {
  readonly numNodes: number;
  /** Nodes that have replicas; changes of others are never sent by this filter. */
  readonly sharedNodes: Ids;
  /** Width of a node's memory. */
  readonly width: number;
  /** Changes of a greater cosine distance are sent (0.3). */
  readonly minDistance?: number;
  /** Maximum number of consecutive skips of a node; the next change is sent in any case (10). */
  readonly maxSkip?: number;
}

export interface SyncCounts {
  readonly sent: number;
  readonly skipped: number;
  /** Number of changes sent only because they had been skipped too often. */
  readonly forced: number;
}

export class SyncFilter {
  readonly width: number;
  readonly minDistance: number;
  readonly maxSkip: number;
  readonly #nodes: Int32Array;
  /** Index of a node among the shared ones, −1 for others. */
  readonly #place: Int32Array;
  /** Memory that was last sent [shared, width]. */
  readonly #sent: Float32Array;
  /** Number of consecutive skips per node. */
  readonly #skips: Int32Array;
  #counts = { sent: 0, skipped: 0, forced: 0 };

  constructor(options: SyncFilterOptions) {
    checkOptionNames('SyncFilter', options, {
      numNodes: true,
      sharedNodes: true,
      width: true,
      minDistance: true,
      maxSkip: true,
    });
    const where = 'SyncFilter';
    const numNodes = checkInteger(where, 'numNodes', options.numNodes);
    this.#nodes = checkIds(where, 'sharedNodes', options.sharedNodes, numNodes).slice();
    this.width = checkInteger(where, 'width', options.width, 1);
    this.minDistance = checkNumber(where, 'minDistance', options.minDistance ?? 0.3, 0, 2);
    this.maxSkip = checkInteger(where, 'maxSkip', options.maxSkip ?? 10);
    this.#place = new Int32Array(numNodes).fill(-1);
    this.#nodes.forEach((node, i) => {
      if (this.#place[node] >= 0)
        throw new ValueError(expected(where, 'different nodes', 'sharedNodes', node));
      this.#place[node] = i;
    });
    this.#sent = new Float32Array(this.#nodes.length * this.width);
    this.#skips = new Int32Array(this.#nodes.length);
  }

  get counts(): SyncCounts {
    return { ...this.#counts };
  }

  /**
   * Rows of `ids` to send now, ascending; they count as sent. Every node at most once (`getUpdateMemory` sees to that).
   *
   * @param memory [ids, width].
   */
  select(ids: Int32Array, memory: Tensor): Int32Array {
    const { rows, places, values } = this.#sharedRows('select', ids, memory);
    const distances = this.#distances(places, values);
    const chosen: number[] = [];
    for (let i = 0; i < rows.length; i++) {
      const far = distances[i] > this.minDistance;
      if (!far && this.#skips[places[i]] < this.maxSkip) {
        this.#skips[places[i]]++;
        this.#counts.skipped++;
        continue;
      }
      if (!far) this.#counts.forced++;
      chosen.push(i);
    }
    this.#store(places, values, chosen);
    return Int32Array.from(chosen, (i) => rows[i]);
  }

  /** Nodes whose last change was kept back. A drain sends them, then says so by `markSent`. */
  waiting(): Int32Array {
    return this.#nodes.filter((_, i) => this.#skips[i] > 0);
  }

  markSent(ids: Int32Array, memory: Tensor): void {
    const { places, values } = this.#sharedRows('markSent', ids, memory);
    this.#store(places, values, [...places.keys()]);
  }

  /** Starts an epoch: nothing has been sent. */
  reset(): void {
    this.#sent.fill(0);
    this.#skips.fill(0);
    this.#counts = { sent: 0, skipped: 0, forced: 0 };
  }

  snapshot(): Readonly<Record<string, TypedArray>> {
    const { sent, skipped, forced } = this.#counts;
    const counts = Float64Array.of(sent, skipped, forced);
    return { sent: this.#sent.slice(), skips: this.#skips.slice(), counts };
  }

  restore(snapshot: Readonly<Record<string, TypedArray>>): void {
    const { sent, skips, counts } = snapshot;
    if (sent?.length !== this.#sent.length || skips?.length !== this.#skips.length || counts?.length !== 3) {
      const what = `the state of ${this.#nodes.length} shared nodes of width ${this.width}`;
      throw new FormatError(expected('SyncFilter.restore', what, 'snapshot', `${skips?.length} nodes`));
    }
    this.#sent.set(sent);
    this.#skips.set(skips);
    this.#counts = { sent: counts[0], skipped: counts[1], forced: counts[2] };
  }

  #sharedRows(
    where: string,
    ids: Int32Array,
    memory: Tensor,
  ): { readonly rows: Int32Array; readonly places: Int32Array; readonly values: Float32Array } {
    checkIds(where, 'ids', ids, this.#place.length);
    if (
      memory.dtype !== 'f32' ||
      memory.rank !== 2 ||
      memory.shape[0] !== ids.length ||
      memory.shape[1] !== this.width
    ) {
      const got = `${memory.dtype} [${memory.shape.join(', ')}]`;
      throw new ShapeError(expected(where, `f32 [${ids.length}, ${this.width}]`, 'memory', got));
    }
    const rows = Int32Array.from(ids.keys()).filter((row) => this.#place[ids[row]] >= 0);
    const places = rows.map((row) => this.#place[ids[row]]);
    const twice =
      places.length === new Set(places).size ? -1 : places.findIndex((p, i) => places.indexOf(p) !== i);
    if (twice >= 0) {
      const advice = 'Merge them by getUpdateMemory first.';
      throw new ValueError(expected(where, 'every node once', 'ids', ids[rows[twice]], advice));
    }
    const values = new Float32Array(rows.length * this.width);
    kernels().gatherRows(memory.dataSync(), rows, values, rows.length, this.width * 4);
    return { rows, places, values };
  }

  #distances(places: Int32Array, values: Float32Array): Float64Array {
    const n = places.length;
    const known = new Float32Array(values.length);
    kernels().gatherRows(this.#sent, places, known, n, this.width * 4);
    const dot = this.#rowDots(values, known, n);
    const own = this.#rowDots(values, values, n);
    const old = this.#rowDots(known, known, n);
    return Float64Array.from({ length: n }, (_, i) => {
      if (own[i] === 0 && old[i] === 0) return 0;
      const scale = Math.sqrt(own[i] * old[i]);
      return scale === 0 ? 1 : 1 - dot[i] / scale;
    });
  }

  #rowDots(a: Float32Array, b: Float32Array, n: number): FloatArray {
    const products = new Float32Array(a.length);
    const sums = new Float32Array(n);
    kernels().binary(binaryCode.mul, a, b, products, a.length, null);
    kernels().reduce(reduceCode.sum, products, sums, n, this.width, 1);
    return sums;
  }

  #store(places: Int32Array, values: Float32Array, chosen: readonly number[]): void {
    const n = chosen.length;
    const picked = new Float32Array(n * this.width);
    kernels().gatherRows(values, Int32Array.from(chosen), picked, n, this.width * 4);
    kernels().putRows(
      picked,
      Int32Array.from(chosen, (i) => places[i]),
      this.#sent,
      n,
      this.width * 4,
    );
    for (const i of chosen) this.#skips[places[i]] = 0;
    this.#counts.sent += n;
  }
}
