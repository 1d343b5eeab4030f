/**
 * Preparation of data for training: node splits, row-normalised features, the largest component. All draws come from a
 * seed; no function changes its argument.
 */
import { type Graph, SparseMatrix, type Subgraph, subgraph } from '../graph/index.js';
import { kernels } from '../native/index.js';
import { fromTypedArray, type Tensor } from '../tensor/index.js';
import { checkInteger, checkNumber, expected, ShapeError, ValueError } from '../util/errors.js';
import { checkOptionNames } from '../util/option-names.js';
import { Random } from '../util/philox.js';
import type { NodeSplits } from './node-data.js';

export interface NodeSplitOptions {
  /** Training nodes per class. Default 20, as in Shchur et al. (2018). */
  readonly trainPerClass?: number;
  /** Validation nodes per class. Default 30. */
  readonly validPerClass?: number;
  /** Fractions of all labelled nodes, instead of counts per class. */
  readonly fractions?: { readonly train: number; readonly valid: number };
  readonly seed?: number;
}

/** Splits the labelled nodes (label >= 0) at random; nodes that are neither train nor valid are test. */
export function randomNodeSplit(labels: Int32Array, options: NodeSplitOptions = {}): NodeSplits {
  checkOptionNames('randomNodeSplit', options, {
    trainPerClass: true,
    validPerClass: true,
    fractions: true,
    seed: true,
  });
  const order = new Int32Array(labels.length);
  kernels().randomPermutation(order, labels.length, new Random(options.seed ?? 0).key);
  const labelled = order.filter((node) => labels[node] >= 0);
  return options.fractions === undefined
    ? splitPerClass(labels, labelled, options)
    : splitByFraction(labelled, options.fractions);
}

function splitByFraction(
  order: Int32Array,
  fractions: { readonly train: number; readonly valid: number },
): NodeSplits {
  const where = 'randomNodeSplit';
  checkNumber(where, 'fractions.train', fractions.train, 0, 1);
  checkNumber(where, 'fractions.valid', fractions.valid, 0, 1 - fractions.train);
  const train = Math.round(fractions.train * order.length);
  const valid = train + Math.round(fractions.valid * order.length);
  return {
    train: order.slice(0, train).sort(),
    valid: order.slice(train, valid).sort(),
    test: order.slice(valid).sort(),
  };
}

function splitPerClass(labels: Int32Array, order: Int32Array, options: NodeSplitOptions): NodeSplits {
  const train = checkInteger('randomNodeSplit', 'trainPerClass', options.trainPerClass ?? 20);
  const valid = checkInteger('randomNodeSplit', 'validPerClass', options.validPerClass ?? 30);
  const seen = new Map<number, number>();
  const splits = { train: [] as number[], valid: [] as number[], test: [] as number[] };
  for (const node of order) {
    const before = seen.get(labels[node]) ?? 0;
    seen.set(labels[node], before + 1);
    const split = before < train ? splits.train : before < train + valid ? splits.valid : splits.test;
    split.push(node);
  }
  for (const [label, count] of seen) {
    if (count < train + valid) {
      const advice = 'Use smaller counts, or fractions.';
      const what = `${train + valid} nodes for train and valid`;
      throw new ValueError(expected('randomNodeSplit', what, `class ${label}`, count, advice));
    }
  }
  return {
    train: Int32Array.from(splits.train).sort(),
    valid: Int32Array.from(splits.valid).sort(),
    test: Int32Array.from(splits.test).sort(),
  };
}

/** Divides each row by the sum of its absolute values; rows of zeros are unchanged. */
export function normalizeFeatures<X extends Tensor | SparseMatrix>(features: X): X {
  if (features instanceof SparseMatrix) {
    const { offsets } = features.adjacency;
    const values = features.values.slice();
    for (let r = 0; r < features.rows; r++) scaleRow(values, offsets[r], offsets[r + 1]);
    return features.withValues(values) as X;
  }
  if (features.rank !== 2 || features.dtype !== 'f32') {
    const got = `${features.dtype} [${features.shape.join(', ')}]`;
    throw new ShapeError(expected('normalizeFeatures', 'an f32 matrix', 'features', got));
  }
  const [rows, columns] = features.shape;
  const values = Float32Array.from(features.dataSync<Float32Array>());
  for (let r = 0; r < rows; r++) scaleRow(values, r * columns, (r + 1) * columns);
  return fromTypedArray(values, [rows, columns]) as X;
}

function scaleRow(values: Float32Array, from: number, to: number): void {
  let sum = 0;
  for (let i = from; i < to; i++) sum += Math.abs(values[i]);
  if (sum > 0) for (let i = from; i < to; i++) values[i] /= sum;
}

/** Returns the largest weakly connected component; the first of equal ones. */
export function largestConnectedComponent(graph: Graph): Subgraph {
  const component = connectedComponents(graph);
  const sizes = new Int32Array(graph.numNodes);
  for (const c of component) sizes[c]++;
  let best = 0;
  for (let c = 1; c < sizes.length; c++) if (sizes[c] > sizes[best]) best = c;
  return subgraph(
    graph,
    Int32Array.from(component.keys()).filter((node) => component[node] === best),
  );
}

/** Returns, for each node, the smallest node of its weakly connected component. */
export function connectedComponents(graph: Graph): Int32Array {
  const { src, dst } = graph.edges();
  const parent = Int32Array.from({ length: graph.numNodes }, (_, node) => node);
  const root = (node: number): number => {
    while (parent[node] !== node) {
      parent[node] = parent[parent[node]];
      node = parent[node];
    }
    return node;
  };
  for (let i = 0; i < src.length; i++) {
    const a = root(src[i]);
    const b = root(dst[i]);
    // The smaller root becomes the parent, so the root is the smallest node.
    if (a < b) parent[b] = a;
    else parent[a] = b;
  }
  return parent.map((_, node) => root(node));
}
