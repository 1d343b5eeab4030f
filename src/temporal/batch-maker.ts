/** Makes batches: from pairs and their times the roots to sample from; from the sample the batch with its memory and mail. */
import type { TemporalGraph } from '../graph/index.js';
import type { TemporalSample } from '../sample/index.js';
import { gatherRows, type Tensor, tensor } from '../tensor/index.js';
import type { TemporalBatch } from './batch.js';
import type { SharedMailBox } from './mailbox/index.js';
import { NodeIndex } from './node-index.js';
import { PairEncoder } from './pair-encoder.js';

/** Pairs of events or of a query, each with the same number of negatives. */
export interface Pairs {
  /** Rows of the stream; −1 for pairs of a query. */
  readonly eventRows: Int32Array;
  readonly src: Int32Array;
  readonly dst: Int32Array;
  readonly times: Float64Array;
  readonly negatives: Int32Array;
  /** As in `TemporalBatch`. */
  readonly rowLimit?: number;
}

export interface Roots {
  readonly nodes: Int32Array;
  readonly times: Float64Array;
  /** As in `TemporalBatch`. */
  readonly rowLimit?: number;
}

/** Pairs with their roots and the sample of these. */
export interface SampledPairs {
  readonly pairs: Pairs;
  readonly roots: Roots;
  readonly sample: TemporalSample;
}

export class BatchMaker {
  readonly #graph: TemporalGraph;
  readonly #mailbox: SharedMailBox | null;
  readonly #index: NodeIndex;
  readonly #pairs: PairEncoder | null;

  constructor(graph: TemporalGraph, mailbox: SharedMailBox | null, pairDepth = 0) {
    this.#graph = graph;
    this.#pairs = pairDepth === 0 ? null : new PairEncoder(graph, pairDepth);
    this.#mailbox = mailbox;
    this.#index = new NodeIndex(graph.numNodes);
  }

  /** Returns the events of some rows. */
  pairs(eventRows: Int32Array, negatives: Int32Array, rowLimit?: number): Pairs {
    const { src, dst, time } = this.#graph;
    const count = eventRows.length;
    const pairs = {
      src: new Int32Array(count),
      dst: new Int32Array(count),
      times: new Float64Array(count),
    };
    for (let i = 0; i < count; i++) {
      const row = eventRows[i];
      pairs.src[i] = src[row];
      pairs.dst[i] = dst[row];
      pairs.times[i] = time[row];
    }
    return { eventRows, ...pairs, negatives, ...(rowLimit === undefined ? {} : { rowLimit }) };
  }

  /** Returns sources, destinations and negatives, each at the time of its pair. */
  roots({ src, dst, times, negatives, rowLimit }: Pairs): Roots {
    const count = src.length;
    const amount = count === 0 ? 0 : negatives.length / count;
    const nodes = new Int32Array(count * (2 + amount));
    const at = new Float64Array(nodes.length);
    nodes.set(src);
    nodes.set(dst, count);
    nodes.set(negatives, 2 * count);
    at.set(times);
    at.set(times, count);
    for (let i = 0; i < count; i++) at.fill(times[i], 2 * count + i * amount, 2 * count + (i + 1) * amount);
    return { nodes, times: at, ...(rowLimit === undefined ? {} : { rowLimit }) };
  }

  /** Makes a batch with the current memory and mail. */
  make(pairs: Pairs, roots: Roots, sample: TemporalSample): TemporalBatch {
    return this.makeEach([{ pairs, roots, sample }])[0];
  }

  /** Makes several batches, all with the current memory and mail. */
  makeEach(all: readonly SampledPairs[]): TemporalBatch[] {
    const found = all.map(({ roots, sample }) => {
      // Without sampling the nodes of a batch are its roots.
      const last = sample.snapshots.map((window) => window[window.length - 1]?.srcNodes ?? roots.nodes);
      return this.#index.unique(last);
    });
    const lists = found.map(({ nodes }) => nodes);
    const states = this.#mailbox?.readEach(lists, true) ?? null;
    return all.map((one, i) => ({ ...this.#stateless(one, found[i]), state: states?.[i] ?? null }));
  }

  #stateless(
    { pairs, roots, sample }: SampledPairs,
    { nodes, positions }: ReturnType<NodeIndex['unique']>,
  ): Omit<TemporalBatch, 'state'> {
    const graph = this.#graph;
    const count = pairs.src.length;
    const { hops, snapshots } = sample;
    return {
      ...pairs,
      ...{ hops, snapshots, nodes, nodeOfRow: positions },
      rootNodes: roots.nodes,
      rootTimes: roots.times,
      srcRoots: range(0, count),
      dstRoots: range(count, 2 * count),
      negRoots: range(2 * count, roots.nodes.length),
      // A stream without events has no rows, but a width.
      edgeFeatures: graph.features ?? (graph.featureWidth > 0 ? new Float32Array(0) : null),
      featureWidth: graph.featureWidth,
      pairFeatures: this.#pairs === null ? null : this.#encode(this.#pairs, pairs, roots),
      nodeFeatures: graph.nodeFeatures === null ? null : gatherRows(graph.nodeFeatures, nodes),
    };
  }

  /** Encodes the pairs of events, then every event's source with each of its negatives. */
  #encode(encoder: PairEncoder, { src, negatives }: Pairs, roots: Roots): Tensor {
    const count = src.length;
    const sources = new Int32Array(roots.nodes.length - count);
    sources.set(src);
    sources.set(repeat(src, count === 0 ? 0 : negatives.length / count), count);
    const rows = encoder.encode(
      sources,
      roots.nodes.subarray(count),
      roots.times.subarray(count),
      roots.rowLimit,
    );
    return tensor(rows, { shape: [sources.length, PairEncoder.width] });
  }
}

/** Repeats each element `times` times in a row. */
function repeat(rows: Int32Array, times: number): Int32Array {
  const out = new Int32Array(rows.length * times);
  for (let i = 0; i < rows.length; i++) out.fill(rows[i], i * times, (i + 1) * times);
  return out;
}

export function range(begin: number, end: number): Int32Array {
  const rows = new Int32Array(end - begin);
  for (let i = 0; i < rows.length; i++) rows[i] = begin + i;
  return rows;
}
