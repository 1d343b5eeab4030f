/**
 * The structure of a graph: edges grouped by destination (CSC), and by source (CSR) on demand.
 *
 * The *position* of an edge is its index in the order by destination. Edges of one destination keep the order in which
 * they were given, so the lowest position is the lowest edge id. Multi-edges, self loops and isolated nodes are kept.
 * An adjacency is immutable; CSR and degrees are computed once and cached. It is on the CPU even if features are on a
 * device, whose kernels cache copies of it.
 */
import { type FloatArray, kernels, type Offsets } from '../native/index.js';
import { onDevice } from '../tensor/device.js';
import { checkInteger, expected, ValueError } from '../util/errors.js';

/** Edges by source: `indices` are destinations, `positions` the positions of the same edges. */
export interface OutEdges {
  readonly offsets: Offsets;
  readonly indices: Int32Array;
  readonly positions: Int32Array;
}

/** Edges from here on have no Int32 id: such a graph has Float64 offsets and no edges by source. */
const idLimit = 2 ** 31;

export class Adjacency {
  readonly numSrc: number;
  readonly numDst: number;
  readonly numEdges: number;
  /** Positions of destination v: offsets[v] … offsets[v+1]−1. */
  readonly offsets: Offsets;
  /** The source at each position. */
  readonly indices: Int32Array;
  /** The edge id at each position; null if both are equal. */
  readonly edgeIds: Int32Array | null;
  #out: OutEdges | null = null;
  #destinations: Int32Array | null = null;
  #edgePositions: Int32Array | null = null;
  readonly #degrees = new Map<string, Int32Array>();
  readonly #meanScales = new Map<string, FloatArray>();

  private constructor(
    numSrc: number,
    numDst: number,
    offsets: Offsets,
    indices: Int32Array,
    edgeIds: Int32Array | null,
  ) {
    this.numSrc = numSrc;
    this.numDst = numDst;
    this.offsets = offsets;
    this.indices = indices;
    this.edgeIds = edgeIds;
    this.numEdges = indices.length;
  }

  /** Sorts edges by destination. Ids must have been checked. */
  static fromEdges(src: Int32Array, dst: Int32Array, numSrc: number, numDst: number): Adjacency {
    if (src.length >= idLimit) {
      throw new ValueError(
        `Graph: expected fewer than ${idLimit} edges in a list, got ${src.length}. Sort larger graphs beforehand and use Graph.fromCsc.`,
      );
    }
    const offsets = new Int32Array(numDst + 1);
    if (isAscending(dst)) {
      countInto(offsets, dst);
      return new Adjacency(numSrc, numDst, offsets, src, null);
    }
    const order = new Int32Array(dst.length);
    kernels().groupByKey(dst, offsets, order, dst.length, numDst);
    const indices = new Int32Array(src.length);
    kernels().gatherRows(src, order, indices, src.length, 4);
    return new Adjacency(numSrc, numDst, offsets, indices, order);
  }

  /** Makes an adjacency from sorted arrays, after checking them. */
  static fromCsc(
    offsets: Offsets,
    indices: Int32Array,
    numSrc: number,
    edgeIds: Int32Array | null = null,
  ): Adjacency {
    if (!(indices instanceof Int32Array))
      throw new ValueError(expected('Graph.fromCsc', 'an Int32Array', 'indices', indices));
    checkOffsets(offsets, indices.length);
    checkNodeIds('Graph.fromCsc', 'indices', indices, numSrc);
    if (edgeIds !== null) checkPermutation(edgeIds, indices.length);
    return new Adjacency(numSrc, offsets.length - 1, offsets, indices, edgeIds);
  }

  /** Makes an adjacency from arrays made by Skein, without checks. @internal */
  static trusted(
    offsets: Offsets,
    indices: Int32Array,
    numSrc: number,
    edgeIds: Int32Array | null = null,
  ): Adjacency {
    return new Adjacency(numSrc, offsets.length - 1, offsets, indices, edgeIds);
  }

  /** Returns the edges by source, sorted on first use. */
  out(): OutEdges {
    this.#out ??= onDevice(null, () => this.#bySource());
    return this.#out;
  }

  #bySource(): OutEdges {
    const { numEdges, numSrc, indices } = this;
    if (numEdges >= idLimit)
      throw new ValueError(`Graph: edges by source need fewer than ${idLimit} edges, got ${numEdges}.`);
    const offsets = new Int32Array(numSrc + 1);
    const positions = new Int32Array(numEdges);
    kernels().groupByKey(indices, offsets, positions, numEdges, numSrc);
    const destinations = new Int32Array(numEdges);
    kernels().gatherRows(this.destinations(), positions, destinations, numEdges, 4);
    return { offsets, indices: destinations, positions };
  }

  /** Returns the destination at each position. */
  destinations(): Int32Array {
    if (this.#destinations !== null) return this.#destinations;
    const all = new Int32Array(this.numEdges);
    for (let v = 0; v < this.numDst; v++) {
      const from = this.offsets[v];
      const to = this.offsets[v + 1];
      if (to > from) all.fill(v, from, to);
    }
    this.#destinations = all;
    return all;
  }

  /** Returns the position of each edge id; null if both are equal. */
  edgePositions(): Int32Array | null {
    if (this.edgeIds === null) return null;
    if (this.#edgePositions === null) {
      const positions = new Int32Array(this.numEdges);
      for (let position = 0; position < positions.length; position++)
        positions[this.edgeIds[position]] = position;
      this.#edgePositions = positions;
    }
    return this.#edgePositions;
  }

  inDegrees(): Int32Array {
    return this.#cached('in', () => differences(this.offsets));
  }

  outDegrees(): Int32Array {
    return this.#cached('out', () => {
      if (this.#out !== null) return differences(this.#out.offsets);
      const counts = new Int32Array(this.numSrc);
      for (let position = 0; position < this.numEdges; position++) counts[this.indices[position]]++;
      return counts;
    });
  }

  #cached(name: string, make: () => Int32Array): Int32Array {
    let degrees = this.#degrees.get(name);
    if (degrees === undefined) {
      degrees = make();
      this.#degrees.set(name, degrees);
    }
    return degrees;
  }

  /** Returns the factor of a mean: 1 / (edges into v, plus `extra`), 0 if there are none. */
  meanScale(dtype: 'f32' | 'f64', extra: number): FloatArray {
    const key = `${dtype}${extra}`;
    let scale = this.#meanScales.get(key);
    if (scale === undefined) {
      scale = dtype === 'f32' ? new Float32Array(this.numDst) : new Float64Array(this.numDst);
      for (let v = 0; v < this.numDst; v++) {
        const count = this.offsets[v + 1] - this.offsets[v] + extra;
        scale[v] = count === 0 ? 0 : 1 / count;
      }
      this.#meanScales.set(key, scale);
    }
    return scale;
  }

  /** Returns source and destination of every edge, by edge id. */
  edges(): { src: Int32Array; dst: Int32Array } {
    const positions = this.edgePositions();
    const dst = this.destinations();
    if (positions === null) return { src: this.indices.slice(), dst: dst.slice() };
    const n = this.numEdges;
    const result = { src: new Int32Array(n), dst: new Int32Array(n) };
    onDevice(null, () => {
      kernels().gatherRows(this.indices, positions, result.src, n, 4);
      kernels().gatherRows(dst, positions, result.dst, n, 4);
    });
    return result;
  }
}

/** Throws if an id is outside [0, count); the error names the first. */
export function checkNodeIds(where: string, name: string, ids: Int32Array, count: number): void {
  const bad = onDevice(null, () => kernels().findOutOfRange(ids, ids.length, 0, count));
  if (bad < 0) return;
  const range = count === 0 ? 'no ids (there are no nodes)' : `ids from 0 to ${count - 1}`;
  throw new ValueError(expected(where, range, name, `${ids[bad]} at position ${bad}`), {
    position: bad,
    id: ids[bad],
  });
}

function checkPermutation(ids: Int32Array, count: number): void {
  const where = 'Graph.fromCsc';
  if (!(ids instanceof Int32Array)) throw new ValueError(expected(where, 'an Int32Array', 'edgeIds', ids));
  if (ids.length !== count) throw new ValueError(expected(where, `${count} edge ids`, 'edgeIds', ids.length));
  checkNodeIds(where, 'edgeIds', ids, count);
  const seen = new Uint8Array(count);
  for (let position = 0; position < count; position++) {
    if (seen[ids[position]] !== 0)
      throw new ValueError(
        expected(where, 'every edge id once', 'edgeIds', `${ids[position]} again at position ${position}`),
      );
    seen[ids[position]] = 1;
  }
}

function checkOffsets(offsets: Offsets, edges: number): void {
  if (!(offsets instanceof Int32Array) && !(offsets instanceof Float64Array))
    throw new ValueError(expected('Graph.fromCsc', 'an Int32Array or a Float64Array', 'offsets', offsets));
  checkInteger('Graph.fromCsc', 'offsets.length', offsets.length, 1);
  const last = offsets[offsets.length - 1];
  if (offsets[0] !== 0 || last !== edges) {
    throw new ValueError(
      expected('Graph.fromCsc', `offsets from 0 to ${edges}`, 'offsets', `${offsets[0]} to ${last}`),
    );
  }
  for (let i = 1; i < offsets.length; i++) {
    if (!(offsets[i] >= offsets[i - 1]) || !Number.isInteger(offsets[i])) {
      const got = `${offsets[i]} after ${offsets[i - 1]} at position ${i}`;
      throw new ValueError(expected('Graph.fromCsc', 'ascending whole numbers', 'offsets', got));
    }
  }
}

function isAscending(keys: Int32Array): boolean {
  for (let i = 1; i < keys.length; i++) if (keys[i] < keys[i - 1]) return false;
  return true;
}

function countInto(offsets: Int32Array, keys: Int32Array): void {
  for (let i = 0; i < keys.length; i++) offsets[keys[i] + 1]++;
  for (let v = 1; v < offsets.length; v++) offsets[v] += offsets[v - 1];
}

function differences(offsets: Offsets): Int32Array {
  const result = new Int32Array(offsets.length - 1);
  for (let i = 0; i < result.length; i++) result[i] = offsets[i + 1] - offsets[i];
  return result;
}
