/** Generators and splits: same seed, same graph; the sizes, degrees and shares that they promise. */
import {
  barabasiAlbert,
  connectedComponents,
  erdosRenyi,
  grid,
  karateClub,
  largestConnectedComponent,
  loadDataset,
  normalizeFeatures,
  randomLinkSplit,
  randomNodeSplit,
  rmat,
  stochasticBlockModel,
} from 'skein/data';
import { Graph, SparseMatrix } from 'skein/graph';
import { fromArray, type Tensor } from 'skein/tensor';
import { ShapeError, ValueError } from 'skein/util';
import { describe, expect, test } from 'vitest';
import { rmatEdges } from '#internal/data/rmat.js';
import { referenceKernels, withKernels } from '#internal/native/index.js';

const pairs = (graph: Graph): string[] => {
  const { src, dst } = graph.edges();
  return Array.from(src, (s, i) => `${s}-${dst[i]}`);
};
const isSymmetric = (graph: Graph): boolean => {
  const set = new Set(pairs(graph));
  return [...set].every((pair) => set.has(pair.split('-').reverse().join('-')));
};
const isSimple = (graph: Graph): boolean => {
  const all = pairs(graph);
  return new Set(all).size === all.length && all.every((pair) => pair.split('-')[0] !== pair.split('-')[1]);
};

describe('generators', () => {
  test('the same seed gives the same graph, another seed another', () => {
    const make: ((seed: number) => Graph)[] = [
      (seed) => rmat(64, { numEdges: 200, seed }),
      (seed) => rmat(50, { numEdges: 200, shuffle: true, seed }),
      (seed) => erdosRenyi(40, { probability: 0.1, seed }),
      (seed) => barabasiAlbert(40, { edgesPerNode: 3, seed }),
      (seed) =>
        stochasticBlockModel([20, 20], {
          probabilities: [
            [0.3, 0.1],
            [0.1, 0.3],
          ],
          seed,
        }).graph,
    ];
    for (const generator of make) {
      expect(pairs(generator(1))).toEqual(pairs(generator(1)));
      expect(pairs(generator(1))).not.toEqual(pairs(generator(2)));
    }
  });

  test('R-MAT does not depend on the kernels', () => {
    const options = { numEdges: 70_000, seed: 3, shuffle: true };
    const plain = withKernels(referenceKernels, () => rmatEdges(1000, options));
    expect(rmatEdges(1000, options)).toEqual(plain);
  });

  test.each([1, 2, 3, 6, 7, 11])(
    'R-MAT of %i levels has the chances of its quadrants at every level',
    (levels) => {
      const [a, b, c] = [0.5, 0.2, 0.1];
      const numEdges = 200_000;
      const { src, dst } = rmatEdges(2 ** levels, { numEdges, a, b, c, seed: 5 });
      for (let level = 0; level < levels; level++) {
        const counts = [0, 0, 0, 0];
        for (let i = 0; i < numEdges; i++) counts[2 * ((src[i] >> level) & 1) + ((dst[i] >> level) & 1)]++;
        [a, b, c, 0.2].forEach((p, quadrant) => {
          // Five standard deviations.
          expect(Math.abs(counts[quadrant] / numEdges - p)).toBeLessThan(
            5 * Math.sqrt((p * (1 - p)) / numEdges),
          );
        });
      }
    },
  );

  test('R-MAT with any number of nodes stays in range', () => {
    const { src, dst, numNodes } = rmatEdges(777, { numEdges: 5000, seed: 1 });
    expect(numNodes).toBe(777);
    for (const ids of [src, dst]) expect(ids.every((id) => id >= 0 && id < 777)).toBe(true);
    expect(rmatEdges(1, { numEdges: 3 }).src).toEqual(Int32Array.of(0, 0, 0));
    expect(() => rmat(8, { numEdges: 1, a: 0.9, b: 0.9 })).toThrow(ValueError);
  });

  test('Erdős–Rényi: number of edges, no loops, no repeats', () => {
    const n = 400;
    for (const directed of [false, true]) {
      const graph = erdosRenyi(n, { probability: 0.05, directed, seed: 2 });
      const links = directed ? n * (n - 1) : (n * (n - 1)) / 2;
      const found = graph.numEdges / (directed ? 1 : 2);
      expect(Math.abs(found - 0.05 * links)).toBeLessThan(5 * Math.sqrt(links * 0.05 * 0.95));
      expect(isSimple(graph)).toBe(true);
      expect(isSymmetric(graph)).toBe(!directed);
    }
    expect(erdosRenyi(5, { probability: 1 }).numEdges).toBe(20);
    expect(erdosRenyi(5, { probability: 1, directed: true }).numEdges).toBe(20);
    expect(erdosRenyi(5, { probability: 0 }).numEdges).toBe(0);
    expect(erdosRenyi(0, { probability: 0.5 }).numNodes).toBe(0);
  });

  test('Barabási–Albert: size, connected, skewed', () => {
    const graph = barabasiAlbert(2000, { edgesPerNode: 3, seed: 1 });
    expect(graph.numEdges).toBe(2 * 3 * 1997);
    expect(isSimple(graph) && isSymmetric(graph)).toBe(true);
    expect(new Set(connectedComponents(graph)).size).toBe(1);
    const degrees = new Int32Array(2000);
    for (const node of graph.edges().dst) degrees[node]++;
    expect(Math.min(...degrees.subarray(3))).toBe(3);
    expect(Math.max(...degrees)).toBeGreaterThan(60);
    expect(() => barabasiAlbert(3, { edgesPerNode: 3 })).toThrow(ValueError);
  });

  test('grids, with and without a seam', () => {
    expect(grid(3, 4).numEdges).toBe(2 * (3 * 3 + 2 * 4));
    expect(grid(3, 4, { periodic: true }).numEdges).toBe(2 * 2 * 12);
    expect(isSimple(grid(2, 2, { periodic: true })) && isSymmetric(grid(3, 3, { periodic: true }))).toBe(
      true,
    );
    expect(grid(1, 1).numEdges).toBe(0);
  });

  test('block model: shares of edges, classes, features near their centre', () => {
    const data = stochasticBlockModel([150, 250], {
      ...{
        probabilities: [
          [0.2, 0.02],
          [0.02, 0.1],
        ],
        numFeatures: 8,
        separation: 4,
        seed: 9,
      },
    });
    expect(data.labels.filter((label) => label === 1).length).toBe(250);
    expect(isSimple(data.graph) && isSymmetric(data.graph)).toBe(true);
    const { src, dst } = data.graph.edges();
    const between = src.filter((s, i) => data.labels[s] !== data.labels[dst[i]]).length / 2;
    expect(Math.abs(between - 0.02 * 150 * 250)).toBeLessThan(5 * Math.sqrt(0.02 * 150 * 250));
    expect((data.features as Tensor).shape).toEqual([400, 8]);
    expect(() => stochasticBlockModel([1, 2], { probabilities: [[1]] })).toThrow(ShapeError);
    expect(() =>
      stochasticBlockModel([1, 2], {
        probabilities: [
          [0, 0.1],
          [0.2, 0],
        ],
      }),
    ).toThrow(/symmetric/);
  });
});

describe('splits', () => {
  const labels = Int32Array.from({ length: 300 }, (_, i) => (i % 10 === 0 ? -1 : i % 3));

  test('per class: 20 and 30, the rest is test, unlabelled nodes are left out', () => {
    const { train, valid, test } = randomNodeSplit(labels, { seed: 4 });
    expect([train.length, valid.length, test.length]).toEqual([60, 90, 120]);
    for (const label of [0, 1, 2]) {
      expect(train.filter((node) => labels[node] === label).length).toBe(20);
      expect(valid.filter((node) => labels[node] === label).length).toBe(30);
    }
    const all = [...train, ...valid, ...test];
    expect(new Set(all).size).toBe(270);
    expect(all.every((node) => labels[node] >= 0)).toBe(true);
    expect(randomNodeSplit(labels, { seed: 4 })).toEqual({ train, valid, test });
    expect(randomNodeSplit(labels, { seed: 5 }).train).not.toEqual(train);
  });

  test('by shares; a class that is too small is named', () => {
    const { train, valid, test } = randomNodeSplit(labels, { fractions: { train: 0.5, valid: 0.2 } });
    expect([train.length, valid.length, test.length]).toEqual([135, 54, 81]);
    expect(() => randomNodeSplit(labels, { trainPerClass: 70 })).toThrow(
      /100 nodes for train and valid for class \d/,
    );
    expect(() => randomNodeSplit(labels, { fractions: { train: 0.9, valid: 0.2 } })).toThrow(ValueError);
  });

  test('links of an undirected graph: splits are disjoint, messages never contain the links to predict', () => {
    const graph = barabasiAlbert(200, { edgesPerNode: 4, seed: 1 });
    const { train, valid, test } = randomLinkSplit(graph, { seed: 3, negatives: 2 });
    const links = graph.numEdges / 2;
    expect(train.src.length + valid.src.length + test.src.length).toBe(links);
    expect(valid.src.length).toBe(Math.round(0.1 * links));
    expect(test.src.length).toBe(Math.round(0.2 * links));
    expect(train.graph.numEdges).toBe(2 * train.src.length);
    expect(test.graph.numEdges).toBe(2 * (train.src.length + valid.src.length));
    const existing = new Set(pairs(graph));
    for (const part of [valid, test]) {
      const seen = new Set(pairs(part.graph));
      part.src.forEach((s, i) => {
        expect(existing.has(`${s}-${part.dst[i]}`)).toBe(true);
        expect(seen.has(`${s}-${part.dst[i]}`) || seen.has(`${part.dst[i]}-${s}`)).toBe(false);
      });
    }
    const negative = new Set<string>();
    for (const part of [train, valid, test]) {
      expect(part.negativeSrc.length).toBe(2 * part.src.length);
      part.negativeSrc.forEach((s, i) => {
        expect(s).not.toBe(part.negativeDst[i]);
        expect(existing.has(`${s}-${part.negativeDst[i]}`)).toBe(false);
        negative.add(`${s}-${part.negativeDst[i]}`);
      });
    }
    expect(negative.size).toBe(2 * links);
  });

  test('links of a directed graph; supervision apart from messages; repeated edges count once', () => {
    const graph = erdosRenyi(60, { probability: 0.1, directed: true, seed: 1 });
    const { train } = randomLinkSplit(graph, { valid: 0, test: 0, disjointTrain: 0.25 });
    expect(train.graph.numEdges + train.src.length).toBe(graph.numEdges);
    expect(train.src.length).toBe(Math.round(0.25 * graph.numEdges));
    const repeated = Graph.fromEdges([0, 0, 0, 1], [1, 1, 1, 2], { numNodes: 4 });
    expect(randomLinkSplit(repeated, { valid: 0, test: 0 }).train.src.length).toBe(2);
    expect(() => randomLinkSplit(erdosRenyi(6, { probability: 1 }))).toThrow(/too dense/);
  });
});

describe('transforms', () => {
  test('rows sum to 1, dense and sparse; zeros stay', () => {
    const dense = fromArray([
      [1, 3, 0],
      [0, 0, 0],
      [-1, 1, 2],
    ]);
    const wanted = [
      [0.25, 0.75, 0],
      [0, 0, 0],
      [-0.25, 0.25, 0.5],
    ];
    expect(normalizeFeatures(dense).toArray()).toEqual(wanted);
    expect(normalizeFeatures(SparseMatrix.fromDense(dense)).toDense().toArray()).toEqual(wanted);
    expect(dense.dataSync()[1]).toBe(3);
    expect(() => normalizeFeatures(fromArray([1, 2]))).toThrow(ShapeError);
  });

  test('the largest component, edges seen in both directions', () => {
    const graph = Graph.fromEdges([0, 4, 3, 1], [5, 3, 2, 1], { numNodes: 7 });
    expect(connectedComponents(graph)).toEqual(Int32Array.of(0, 1, 2, 2, 2, 0, 6));
    const part = largestConnectedComponent(graph);
    expect(part.nodeIds).toEqual(Int32Array.of(2, 3, 4));
    expect(pairs(part.graph).sort()).toEqual(['1-0', '2-1']);
  });

  test('the karate club as a dataset', async () => {
    const { graph, features, labels } = await loadDataset('karate-club');
    expect(graph.numEdges).toBe(2 * karateClub().edges.length);
    expect(features.shape).toEqual([34, 34]);
    expect(labels.length).toBe(34);
    expect(isSymmetric(graph)).toBe(true);
  });
});
