/** Puts a batch together: pairs and their times in, roots to sample from; then, with the sample, the batch and its state. */
import type { TemporalGraph } from '../graph/index.js';
import type { TemporalSample } from '../sample/index.js';
import { gatherRows, type Tensor, tensor } from '../tensor/index.js';
import type { TemporalBatch } from './batch.js';
import type { SharedMailBox } from './mailbox/index.js';
import { NodeIndex } from './node-index.js';
import { PairEncoder } from './pair-encoder.js';

/** Pairs that met, or are asked about, and for each the same number of nodes that might have come instead. */
export interface Pairs {
  /** Rows of the stream; −1 for pairs that are no events. */
  readonly eventRows: Int32Array;
  readonly src: Int32Array;
  readonly dst: Int32Array;
  readonly times: Float64Array;
  readonly negatives: Int32Array;
}

export interface Roots {
  readonly nodes: Int32Array;
  readonly times: Float64Array;
}

/** Pairs with their roots and what was sampled for these. */
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

  /** The events of some rows. */
  pairs(eventRows: Int32Array, negatives: Int32Array): Pairs {
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
    return { eventRows, ...pairs, negatives };
  }

  /** Sources, destinations, negatives, each at the time of its pair. */
  roots({ src, dst, times, negatives }: Pairs): Roots {
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
    return { nodes, times: at };
  }

  /** The batch, with the state as it is now. */
  make(pairs: Pairs, roots: Roots, sample: TemporalSample): TemporalBatch {
    return this.makeEach([{ pairs, roots, sample }])[0];
  }

  /** Several batches, all with the state as it is now. */
  makeEach(all: readonly SampledPairs[]): TemporalBatch[] {
    const found = all.map(({ roots, sample }) => {
      // A model that samples nothing asks about its roots alone.
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
      // A stream that has not begun has no rows, but its events will have a width.
      edgeFeatures: graph.features ?? (graph.featureWidth > 0 ? new Float32Array(0) : null),
      featureWidth: graph.featureWidth,
      pairFeatures: this.#pairs === null ? null : this.#encode(this.#pairs, pairs, roots),
      nodeFeatures: graph.nodeFeatures === null ? null : gatherRows(graph.nodeFeatures, nodes),
    };
  }

  /** Events first, then every event's source with each of its negatives. */
  #encode(encoder: PairEncoder, { src, negatives }: Pairs, roots: Roots): Tensor {
    const count = src.length;
    const sources = new Int32Array(roots.nodes.length - count);
    sources.set(src);
    sources.set(repeat(src, count === 0 ? 0 : negatives.length / count), count);
    const rows = encoder.encode(sources, roots.nodes.subarray(count), roots.times.subarray(count));
    return tensor(rows, { shape: [sources.length, PairEncoder.width] });
  }
}

/** Each element `times` times in a row. */
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
