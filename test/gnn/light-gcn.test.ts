/** LightGCN against dense matrices: users and items, isolated nodes, weights, and the gradient. */
import { LightGCN } from 'skein/gnn';
import { Graph } from 'skein/graph';
import { fromTypedArray, rand, type Tensor } from 'skein/tensor';
import { describe, expect, it } from 'vitest';
import { expectClose } from '../nn/golden.js';

/** Three users, four items (3 … 6) and a node without edges. */
const pairs = [
  [0, 3],
  [0, 4],
  [0, 5],
  [1, 4],
  [2, 4],
  [2, 5],
];
const numNodes = 7 + 1;
const ends = (at: 0 | 1): number[] => pairs.map((pair) => pair[at]);

function graphOf(weights: readonly number[] | null): Graph {
  const [users, items] = [ends(0), ends(1)];
  const edgeWeight = weights === null ? {} : { edgeWeight: Float32Array.from([...weights, ...weights]) };
  return Graph.fromEdges([...users, ...items], [...items, ...users], { numNodes, ...edgeWeight });
}

/** Mean of (D^-½ A D^-½)ᵏ x for k = 0 … hops, by loops over the matrix. */
function dense(weights: readonly number[] | null, x: number[][], hops: number): number[][] {
  const a = Array.from({ length: numNodes }, () => new Array<number>(numNodes).fill(0));
  for (const [i, [u, v]] of pairs.entries()) {
    a[u][v] = weights?.[i] ?? 1;
    a[v][u] = weights?.[i] ?? 1;
  }
  const degree = a.map((row) => row.reduce((sum, w) => sum + w, 0));
  const zeros = (): number[][] => x.map((row) => row.map(() => 0));
  let z = x;
  const total = x.map((row) => [...row]);
  for (let hop = 0; hop < hops; hop++) {
    const next = zeros();
    for (let v = 0; v < numNodes; v++)
      for (let u = 0; u < numNodes; u++)
        if (a[u][v] > 0)
          for (let c = 0; c < x[v].length; c++)
            next[v][c] += (a[u][v] / Math.sqrt(degree[u] * degree[v])) * z[u][c];
    z = next;
    for (let v = 0; v < numNodes; v++) for (let c = 0; c < x[v].length; c++) total[v][c] += z[v][c];
  }
  return total.map((row) => row.map((value) => value / (hops + 1)));
}

const rowsOf = (x: Tensor): number[][] => {
  const values = [...(x.dataSync() as Float64Array)];
  return Array.from({ length: numNodes }, (_, i) => values.slice(i * 3, i * 3 + 3));
};

describe.each([
  ['without weights', null],
  ['with weights', [0.5, 2, 1, 4, 0.25, 1]],
] as const)('LightGCN %s', (_name, weights) => {
  it.each([0, 1, 2, 3])('is the mean of the layers for %i hops', (hops) => {
    const x = rand([numNodes, 3], { dtype: 'f64' });
    const y = new LightGCN({ hops }).forward(graphOf(weights), x);
    expectClose(y, dense(weights, rowsOf(x), hops).flat(), 1e-12, 'rows');
  });

  it('has a symmetric operator: the gradient of a sum is the layer applied to ones', () => {
    const x = rand([numNodes, 3], { dtype: 'f64' }).setRequiresGrad();
    const layer = new LightGCN({ hops: 3 });
    layer.forward(graphOf(weights), x).sum().backward();
    const ones = Array.from({ length: numNodes }, () => [1, 1, 1]);
    expectClose(x.grad as Tensor, dense(weights, ones, 3).flat(), 1e-12, 'gradient');
  });
});

it('has no parameters, and keeps a fraction of the rows of nodes without edges', () => {
  const layer = new LightGCN({ hops: 3 });
  expect(layer.parameters()).toEqual([]);
  const x = fromTypedArray(new Float64Array(numNodes * 3).fill(2), [numNodes, 3]);
  expect([...layer.forward(graphOf(null), x).dataSync()].slice(-3)).toEqual([0.5, 0.5, 0.5]);
});

it('rejects wrong arguments', () => {
  expect(() => new LightGCN({ hops: -1 })).toThrow(/hops/);
  expect(() => new LightGCN({ layers: 2 } as object)).toThrow(/layers/);
  expect(() => new LightGCN().forward(graphOf(null), [[1]] as unknown as Tensor)).toThrow(/a tensor/);
});
