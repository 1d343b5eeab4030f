/** Core numbers, compared with peeling by definition. */
import { Random } from 'skein/util';
import { expect, test } from 'vitest';
import { type CoreEdges, coreNumbers } from '#internal/graph/k-core.js';

/** Removes nodes with fewer than k neighbours until none is left, for every k. */
function byDefinition({ numNodes, src, dst }: CoreEdges): number[] {
  const neighbours = Array.from({ length: numNodes }, () => new Set<number>());
  for (const [e, a] of src.entries())
    if (a !== dst[e]) {
      neighbours[a].add(dst[e]);
      neighbours[dst[e]].add(a);
    }
  const core = new Array<number>(numNodes).fill(0);
  for (let k = 1; k < numNodes; k++) {
    const left = new Set(neighbours.keys());
    const degree = (node: number): number => [...neighbours[node]].filter((other) => left.has(other)).length;
    for (let leaving = [0]; leaving.length > 0; ) {
      leaving = [...left].filter((node) => degree(node) < k);
      for (const node of leaving) left.delete(node);
    }
    for (const node of left) core[node] = k;
  }
  return core;
}

test('a clique with a tail, loops and parallel edges', () => {
  const edges = {
    numNodes: 7,
    // 0, 1, 2, 3 are a clique, 3 – 4 – 5 a path; 6 has a loop only.
    src: Int32Array.of(0, 0, 0, 1, 1, 2, 2, 3, 4, 6, 4),
    dst: Int32Array.of(1, 2, 3, 2, 3, 3, 3, 4, 5, 6, 5),
  };
  expect([...coreNumbers(edges)]).toEqual([3, 3, 3, 3, 1, 1, 0]);
});

test('random graphs', () => {
  const random = new Random(2);
  for (const [numNodes, count] of [
    [1, 0],
    [12, 30],
    [30, 40],
    [40, 300],
  ]) {
    const draw = (): Int32Array => Int32Array.from({ length: count }, () => random.nextInt(numNodes));
    const edges = { numNodes, src: draw(), dst: draw() };
    expect([...coreNumbers(edges)]).toEqual(byDefinition(edges));
  }
});
