/** Graphology: numbers for nodes, edges, features and classes, and results written back. */
import { MultiDirectedGraph, MultiGraph, UndirectedGraph } from 'graphology';
import { fromArray, Graph, ShapeError, ValueError } from 'skein';
import { fromGraphology, toGraphology } from 'skein/graph';
import { expect, test } from 'vitest';

function club(): MultiGraph {
  const network = new MultiGraph();
  network.addNode('ana', { age: 30, active: true, spot: [1, 2], team: 'red' });
  network.addNode('bob', { age: 40, active: false, spot: Float32Array.of(3, 4) });
  network.addNode('eve', { age: 50, active: true, spot: [5, 6], team: 7 });
  network.addEdgeWithKey('e1', 'ana', 'bob', { w: 0.5 });
  network.addUndirectedEdgeWithKey('e2', 'bob', 'eve', { w: 2 });
  network.addUndirectedEdgeWithKey('e3', 'eve', 'eve', { w: 3 });
  return network;
}

test('a mixed graph: an undirected edge is one in each direction', () => {
  const { graph, names, edgeNames, features, labels, classNames } = fromGraphology(club());
  expect(names).toEqual(['ana', 'bob', 'eve']);
  expect(edgeNames).toEqual(['e1', 'e2', 'e2', 'e3']);
  expect(graph.edges()).toEqual({ src: Int32Array.of(0, 1, 2, 2), dst: Int32Array.of(1, 2, 1, 2) });
  expect([features, labels, classNames]).toEqual([null, null, null]);
});

test('features, classes and weights', () => {
  const options = { features: ['age', 'active', 'spot'], label: 'team', weight: 'w' };
  const { graph, features, labels, classNames } = fromGraphology(club(), options);
  expect(features?.toArray()).toEqual([
    [30, 1, 1, 2],
    [40, 0, 3, 4],
    [50, 1, 5, 6],
  ]);
  expect(labels).toEqual(Int32Array.of(0, -1, 1));
  expect(classNames).toEqual(['red', '7']);
  expect(Array.from(graph.edgeWeight ?? []).sort()).toEqual([0.5, 2, 2, 3]);
});

test('wrong attributes and arguments have their node or edge', () => {
  expect(() => fromGraphology([] as never)).toThrow(/expected a graphology graph for network/);
  expect(() => fromGraphology(club(), { features: ['team'] })).toThrow(
    /finite numbers or booleans for team of the node ana, got "red"/,
  );
  expect(() => fromGraphology(club(), { features: ['height'] })).toThrow(
    /height of the node ana, got undefined/,
  );
  const ragged = club();
  ragged.setNodeAttribute('eve', 'spot', [1]);
  expect(() => fromGraphology(ragged, { features: ['spot'] })).toThrow(ShapeError);
  expect(() => fromGraphology(club(), { weight: 'cost' })).toThrow(/cost of the edge e1, got undefined/);
  expect(() => fromGraphology(club(), { labels: 'team' } as never)).toThrow(ValueError);
});

test('results are written to the nodes that are there', () => {
  const network = club();
  const { names } = fromGraphology(network);
  const embedding = fromArray([
    [1, 2],
    [3, 4],
    [5, 6],
  ]);
  const written = toGraphology(network, {
    ...{ names, attributes: { embedding, team: ['red', 'blue', null], score: Float32Array.of(0.5, 1, 2) } },
  });
  expect(written).toBe(network);
  expect(network.size).toBe(3);
  expect(network.getNodeAttributes('bob')).toMatchObject({
    age: 40,
    embedding: [3, 4],
    team: 'blue',
    score: 1,
  });
  expect(network.getNodeAttribute('eve', 'team')).toBe(7);
});

test('a graph becomes a graphology graph and back', () => {
  const graph = Graph.fromEdges([0, 1, 1, 0], [1, 0, 2, 1], { numNodes: 3 });
  const edgeAttributes = { kind: ['a', 'b', 'c', 'd'] };
  const multi = toGraphology(new MultiDirectedGraph(), { graph, edgeAttributes });
  expect([multi.order, multi.size]).toEqual([3, 4]);
  expect(fromGraphology(multi).graph.edges()).toEqual(graph.edges());
  const simple = toGraphology(new UndirectedGraph(), { graph, names: ['x', 'y', 'z'] });
  expect(simple.mapEdges((_edge, _values, source, target) => source + target)).toEqual(['xy', 'yz']);
});

test('a wrong number of values changes nothing', () => {
  const network = new MultiGraph();
  const names = ['a', 'b'];
  for (const source of [
    { names, attributes: { good: [1, 2], wrong: [1] } },
    { names, attributes: { wrong: fromArray([[[1]], [[2]]]) } },
    { names, graph: Graph.fromEdges([0], [0], { numNodes: 1 }) },
    { names, edgeAttributes: { wrong: [] } },
    {},
  ])
    expect(() => toGraphology(network, source)).toThrow(/toGraphology: expected/);
  expect(network.order).toBe(0);
});
