/**
 * Random and regular graphs: the same seed gives the same graph on any machine and for any number of threads.
 *
 * R-MAT: Chakrabarti, Zhan, Faloutsos, "R-MAT: a recursive model for graph mining", SDM 2004. Preferential attachment:
 * Barabási, Albert, Science 286 (1999). Skipping over absent edges: Batagelj, Brandes, Phys. Rev. E 71 (2005).
 */
import type { Graph } from '../graph/index.js';
import { kernels } from '../native/index.js';
import { fromTypedArray, type Tensor } from '../tensor/index.js';
import { checkInteger, checkNumber, expected, ShapeError, ValueError } from '../util/errors.js';
import { checkOptionNames } from '../util/option-names.js';
import { Random } from '../util/philox.js';
import type { NodeDataset } from './dataset.js';
import { EdgeCollector, toGraph } from './edge-collector.js';

const maxNodes = 2 ** 31 - 1;

/** Returns a grid of rows × columns nodes, each connected with its horizontal and vertical neighbours in both directions. */
export function grid(rows: number, columns: number, options: { readonly periodic?: boolean } = {}): Graph {
  checkOptionNames('grid', options, { periodic: true });
  checkInteger('grid', 'rows', rows, 1, maxNodes);
  checkInteger('grid', 'columns', columns, 1, Math.floor(maxNodes / rows));
  const edges = new EdgeCollector(4 * rows * columns);
  // A ring of two would repeat its edge, a ring of one would be a self loop.
  const wraps = (side: number): boolean => options.periodic === true && side > 2;
  for (let r = 0; r < rows; r++) {
    for (let c = 0; c < columns; c++) {
      const node = r * columns + c;
      if (c + 1 < columns) edges.addBoth(node, node + 1);
      else if (wraps(columns)) edges.addBoth(node, r * columns);
      if (r + 1 < rows) edges.addBoth(node, node + columns);
      else if (wraps(rows)) edges.addBoth(node, c);
    }
  }
  return toGraph(edges.finish(rows * columns));
}

export interface ErdosRenyiOptions {
  /** Probability of each edge. */
  readonly probability: number;
  /** Draw each ordered pair independently; otherwise unordered pairs, connected in both directions. Default false. */
  readonly directed?: boolean;
  readonly seed?: number;
}

/** Returns a graph in which each pair of different nodes is connected with the same probability. */
export function erdosRenyi(numNodes: number, options: ErdosRenyiOptions): Graph {
  checkOptionNames('erdosRenyi', options, { probability: true, directed: true, seed: true });
  checkInteger('erdosRenyi', 'numNodes', numNodes, 0, maxNodes);
  const random = new Random(options.seed ?? 0);
  const p = checkNumber('erdosRenyi', 'probability', options.probability, 0, 1);
  const edges = new EdgeCollector();
  if (options.directed === true) {
    // A row has no cell for the node itself.
    visitCells(random, p, numNodes * (numNodes - 1), (cell) => {
      const from = Math.floor(cell / (numNodes - 1));
      const to = cell % (numNodes - 1);
      edges.add(from, to < from ? to : to + 1);
    });
  } else {
    visitPairs(random, p, numNodes, (a, b) => edges.addBoth(a, b));
  }
  return toGraph(edges.finish(numNodes));
}

/** Calls `visit` for each of `count` cells with probability p, in order. */
function visitCells(random: Random, p: number, count: number, visit: (cell: number) => void): void {
  if (p === 0) return;
  const scale = p === 1 ? 0 : 1 / Math.log1p(-p);
  // The number of skipped cells has a geometric distribution.
  for (let cell = -1; ; ) {
    cell += 1 + (p === 1 ? 0 : Math.floor(Math.log(1 - random.nextFloat()) * scale));
    if (cell >= count) return;
    visit(cell);
  }
}

/** Calls `visit` for each unordered pair of n nodes with probability p. */
function visitPairs(random: Random, p: number, n: number, visit: (a: number, b: number) => void): void {
  let row = 1;
  let start = 0;
  visitCells(random, p, (n * (n - 1)) / 2, (cell) => {
    while (cell - start >= row) start += row++;
    visit(row, cell - start);
  });
}

/** Returns a graph in which each new node is connected with `edgesPerNode` older ones, drawn in proportion to their degree. */
export function barabasiAlbert(
  numNodes: number,
  options: { readonly edgesPerNode: number; readonly seed?: number },
): Graph {
  checkOptionNames('barabasiAlbert', options, { edgesPerNode: true, seed: true });
  const m = checkInteger('barabasiAlbert', 'edgesPerNode', options.edgesPerNode, 1, maxNodes);
  checkInteger('barabasiAlbert', 'numNodes', numNodes, m + 1, maxNodes);
  const random = new Random(options.seed ?? 0);
  const count = (numNodes - m) * m;
  const edges = new EdgeCollector(2 * count);
  // Holds each end of each edge, so a uniform draw is in proportion to the degree.
  const ends = new Int32Array(2 * count);
  let filled = 0;
  const chosen = new Set<number>();
  for (let node = m; node < numNodes; node++) {
    chosen.clear();
    // The first new node is connected with all existing ones.
    if (node === m) for (let old = 0; old < m; old++) chosen.add(old);
    while (chosen.size < m) chosen.add(ends[random.nextInt(filled)]);
    for (const old of chosen) {
      edges.addBoth(node, old);
      ends[filled++] = node;
      ends[filled++] = old;
    }
  }
  return toGraph(edges.finish(numNodes));
}

export interface BlockModelOptions {
  /** Probability of an edge between two nodes of blocks i and j; symmetric. */
  readonly probabilities: readonly (readonly number[])[];
  /** Columns of the features. Default 16. */
  readonly numFeatures?: number;
  /** Scale of the block centres in units of the noise. Default 1. */
  readonly separation?: number;
  readonly seed?: number;
}

/**
 * Draws a stochastic block model as a dataset: the class of a node is its block; its features are the normally distributed
 * centre of the block, times `separation`, plus standard normal noise.
 *
 * @example
 * const data = stochasticBlockModel([500, 500], { probabilities: [[0.02, 0.002], [0.002, 0.02]], seed: 7 });
 */
export function stochasticBlockModel(
  sizes: readonly number[],
  options: BlockModelOptions,
): NodeDataset & { readonly features: Tensor } {
  checkOptionNames('stochasticBlockModel', options, {
    probabilities: true,
    numFeatures: true,
    separation: true,
    seed: true,
  });
  const where = 'stochasticBlockModel';
  sizes.forEach((size, b) => {
    checkInteger(where, `the size of block ${b}`, size, 0, maxNodes);
  });
  const p = checkProbabilities(where, sizes.length, options.probabilities);
  const random = new Random(options.seed ?? 0);
  const starts = [0];
  for (const size of sizes) starts.push(starts[starts.length - 1] + size);
  const numNodes = checkInteger(where, 'the number of nodes', starts[sizes.length], 0, maxNodes);
  const edges = new EdgeCollector();
  for (let i = 0; i < sizes.length; i++) {
    visitPairs(random, p[i][i], sizes[i], (a, b) => edges.addBoth(starts[i] + a, starts[i] + b));
    for (let j = i + 1; j < sizes.length; j++) {
      visitCells(random, p[i][j], sizes[i] * sizes[j], (cell) =>
        edges.addBoth(starts[i] + Math.floor(cell / sizes[j]), starts[j] + (cell % sizes[j])),
      );
    }
  }
  const labels = new Int32Array(numNodes);
  sizes.forEach((_, b) => {
    labels.fill(b, starts[b], starts[b + 1]);
  });
  const width = checkInteger(where, 'numFeatures', options.numFeatures ?? 16, 1);
  const separation = checkNumber(where, 'separation', options.separation ?? 1);
  return {
    kind: 'nodes',
    name: 'stochastic-block-model',
    graph: toGraph(edges.finish(numNodes)),
    features: fromTypedArray(blockFeatures(labels, sizes.length, width, separation, random), [
      numNodes,
      width,
    ]),
    labels,
    numClasses: sizes.length,
    splits: null,
  };
}

function checkProbabilities(where: string, blocks: number, p: BlockModelOptions['probabilities']): typeof p {
  if (p.length !== blocks || p.some((row) => row.length !== blocks)) {
    const got = `${p.length} × ${p[0]?.length ?? 0}`;
    throw new ShapeError(expected(where, `${blocks} × ${blocks} numbers`, 'probabilities', got));
  }
  for (let i = 0; i < blocks; i++) {
    for (let j = 0; j < blocks; j++) {
      checkNumber(where, `probabilities[${i}][${j}]`, p[i][j], 0, 1);
      if (p[i][j] !== p[j][i])
        throw new ValueError(expected(where, 'a symmetric matrix', `probabilities[${i}][${j}]`, p[i][j]));
    }
  }
  return p;
}

function blockFeatures(
  labels: Int32Array,
  blocks: number,
  width: number,
  separation: number,
  random: Random,
): Float32Array {
  const centres = new Float32Array(blocks * width);
  const values = new Float32Array(labels.length * width);
  kernels().randomNormal(centres, centres.length, 0, separation, random.split(1).key, 0);
  kernels().randomNormal(values, values.length, 0, 1, random.split(2).key, 0);
  for (let node = 0; node < labels.length; node++) {
    for (let c = 0; c < width; c++) values[node * width + c] += centres[labels[node] * width + c];
  }
  return values;
}
