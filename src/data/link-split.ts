/**
 * Random split of edges for link prediction, with negative edges.
 *
 * The training and the validation split pass messages over the training edges, the test split over training and validation
 * edges. In an undirected graph both directions of an edge go to the same split.
 */
import type { Graph } from '../graph/index.js';
import { kernels } from '../native/index.js';
import { checkNumber, expected, ValueError } from '../util/errors.js';
import { checkOptionNames } from '../util/option-names.js';
import { Random } from '../util/philox.js';
import { EdgeCollector, toGraph } from './edge-collector.js';
import { coalesceEdges } from './edges.js';

export interface LinkSplitOptions {
  /** Fraction of the edges. Default 0.1. */
  readonly valid?: number;
  /** Fraction of the edges. Default 0.2. */
  readonly test?: number;
  /** Whether a → b and b → a are one edge. Default: whether the graph has the reverse of each edge. */
  readonly undirected?: boolean;
  /** Negative edges per edge. Default 1. */
  readonly negatives?: number;
  /** Fraction of the training edges that are only predicted and pass no message; 0 uses all training edges for both. */
  readonly disjointTrain?: number;
  readonly seed?: number;
}

/** One split: the graph for messages and the links to predict. */
export interface LinkSplit {
  readonly graph: Graph;
  /** Existing links; one direction of an undirected edge. */
  readonly src: Int32Array;
  readonly dst: Int32Array;
  /** Pairs without an edge in the whole graph, distinct over all splits; no self loops. */
  readonly negativeSrc: Int32Array;
  readonly negativeDst: Int32Array;
}

export interface LinkSplits {
  readonly train: LinkSplit;
  readonly valid: LinkSplit;
  readonly test: LinkSplit;
}

/** Splits the edges of a graph. Duplicate edges count once; edge weights are dropped. */
export function randomLinkSplit(graph: Graph, options: LinkSplitOptions = {}): LinkSplits {
  checkOptionNames('randomLinkSplit', options, {
    valid: true,
    test: true,
    undirected: true,
    negatives: true,
    disjointTrain: true,
    seed: true,
  });
  const where = 'randomLinkSplit';
  const valid = checkNumber(where, 'valid', options.valid ?? 0.1, 0, 1);
  const test = checkNumber(where, 'test', options.test ?? 0.2, 0, 1 - valid);
  const disjoint = checkNumber(where, 'disjointTrain', options.disjointTrain ?? 0, 0, 1);
  const ratio = checkNumber(where, 'negatives', options.negatives ?? 1, 0);
  const random = new Random(options.seed ?? 0);
  const pairs = new PairSet(graph);
  const undirected = options.undirected ?? pairs.isSymmetric();
  const links = listLinks(graph, undirected);
  const order = new Int32Array(links.src.length);
  kernels().randomPermutation(order, order.length, random.split(1).key);

  const numValid = Math.round(valid * order.length);
  const numTest = Math.round(test * order.length);
  const numTrain = order.length - numValid - numTest;
  const trainAll = order.subarray(0, numTrain);
  const numMessages = numTrain - Math.round(disjoint * numTrain);
  const messages = disjoint > 0 ? order.subarray(0, numMessages) : trainAll;
  const sampler = new NegativeSampler(pairs, undirected, random.split(2));
  const makeSplit = (seen: Int32Array, predicted: Int32Array): LinkSplit => {
    const negative = sampler.draw(Math.round(ratio * predicted.length));
    return {
      graph: makeGraph(links, seen, undirected, graph.numNodes),
      src: predicted.map((i) => links.src[i]),
      dst: predicted.map((i) => links.dst[i]),
      negativeSrc: negative.src,
      negativeDst: negative.dst,
    };
  };
  return {
    train: makeSplit(messages, disjoint > 0 ? order.subarray(numMessages, numTrain) : trainAll),
    valid: makeSplit(trainAll, order.subarray(numTrain, numTrain + numValid)),
    test: makeSplit(order.subarray(0, numTrain + numValid), order.subarray(numTrain + numValid)),
  };
}

interface Links {
  readonly src: Int32Array;
  readonly dst: Int32Array;
}

/** Returns the edges without duplicates, so that no edge is in two splits; in an undirected graph, those with src <= dst. */
function listLinks(graph: Graph, undirected: boolean): Links {
  const { src, dst } = coalesceEdges({ numNodes: graph.numNodes, ...graph.edges() });
  if (!undirected) return { src, dst };
  const kept = Int32Array.from(src.keys()).filter((i) => src[i] <= dst[i]);
  return { src: kept.map((i) => src[i]), dst: kept.map((i) => dst[i]) };
}

function makeGraph(links: Links, chosen: Int32Array, undirected: boolean, numNodes: number): Graph {
  const edges = new EdgeCollector(2 * chosen.length);
  for (const i of chosen) {
    if (undirected && links.src[i] !== links.dst[i]) edges.addBoth(links.src[i], links.dst[i]);
    else edges.add(links.src[i], links.dst[i]);
  }
  return toGraph(edges.finish(numNodes));
}

/** Set of edges as sorted numbers src · n + dst, which are exact below 2^53. */
class PairSet {
  readonly numNodes: number;
  readonly #keys: Float64Array;

  constructor(graph: Graph) {
    this.numNodes = graph.numNodes;
    const { src, dst } = graph.edges();
    const keys = new Float64Array(src.length);
    for (let i = 0; i < keys.length; i++) keys[i] = src[i] * this.numNodes + dst[i];
    this.#keys = keys.sort();
  }

  has(src: number, dst: number): boolean {
    const key = src * this.numNodes + dst;
    let low = 0;
    let high = this.#keys.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#keys[middle] < key) low = middle + 1;
      else high = middle;
    }
    return this.#keys[low] === key;
  }

  isSymmetric(): boolean {
    return this.#keys.every((key) => this.has(key % this.numNodes, Math.floor(key / this.numNodes)));
  }
}

class NegativeSampler {
  readonly #taken = new Set<number>();

  constructor(
    readonly pairs: PairSet,
    readonly undirected: boolean,
    readonly random: Random,
  ) {}

  draw(count: number): Links {
    const n = this.pairs.numNodes;
    const src = new Int32Array(count);
    const dst = new Int32Array(count);
    // Rejection sampling ends soon unless almost every pair is an edge.
    let attempts = 100 * count + 1000;
    for (let i = 0; i < count; ) {
      if (n < 2 || attempts-- === 0) {
        const advice = 'The graph is too dense; request fewer.';
        throw new ValueError(
          expected('randomLinkSplit', `${count} pairs without an edge`, 'negatives', i, advice),
        );
      }
      const [a, b] = this.#pair(n);
      const key = a * n + b;
      if (a === b || this.#taken.has(key) || this.pairs.has(a, b)) continue;
      if (this.undirected && this.pairs.has(b, a)) continue;
      this.#taken.add(key);
      src[i] = a;
      dst[i++] = b;
    }
    return { src, dst };
  }

  #pair(n: number): readonly [number, number] {
    const a = this.random.nextInt(n);
    const b = this.random.nextInt(n);
    return this.undirected && a > b ? [b, a] : [a, b];
  }
}
