/** MariusGraph: sorted edge lists, relations, one-hop neighbours. */
import { MariusGraph } from 'skein/marius';
import { describe, expect, test } from 'vitest';

const src = Int32Array.of(0, 0, 1, 2, 3, 4);
const dst = Int32Array.of(1, 2, 4, 3, 0, 1);
const relations = Int32Array.of(0, 0, 1, 0, 1, 0);

describe('MariusGraph', () => {
  const graph = new MariusGraph({ src, dst, relations }, { numNodes: 5 });

  test('relations of another length are refused', () => {
    expect(() => new MariusGraph({ src, dst, relations: Int32Array.of(1) })).toThrow(
      'expected 6 relations for relations, got 1',
    );
  });

  test('edges by destination and by source, with their relations and offsets', () => {
    const incoming = graph.getEdges();
    expect([...incoming.dst]).toEqual([0, 1, 1, 2, 3, 4]);
    expect([...incoming.src]).toEqual([3, 0, 4, 0, 2, 1]);
    expect([...(graph.getRelationIDs(true) ?? [])]).toEqual([1, 0, 0, 0, 0, 1]);
    expect([...graph.getNeighborOffsets(true)]).toEqual([0, 1, 3, 4, 5]);
    expect([...graph.getNumNeighbors(true)]).toEqual([1, 2, 1, 1, 1]);
    const outgoing = graph.getEdges(false);
    expect([...outgoing.src]).toEqual([0, 0, 1, 2, 3, 4]);
    expect([...outgoing.dst]).toEqual([1, 2, 4, 3, 0, 1]);
    expect([...graph.getNumNeighbors(false)]).toEqual([2, 1, 1, 1, 1]);
  });

  test('members under their names', () => {
    expect([...graph.getNodeIDs()]).toEqual([0, 1, 2, 3, 4]);
    expect([...graph.inSortedUniques]).toEqual([0, 1, 2, 3, 4]);
    expect([...graph.outSortedUniques]).toEqual([0, 1, 2, 3, 4]);
    expect([...graph.outOffsets]).toEqual([0, 2, 3, 4, 5]);
    expect([...graph.inOffsets]).toEqual([...graph.getNeighborOffsets(true)]);
    expect([...graph.outNumNeighbors]).toEqual([...graph.getNumNeighbors(false)]);
    expect([...graph.inNumNeighbors]).toEqual([...graph.getNumNeighbors(true)]);
    expect(graph.srcSortedEdges).toEqual(graph.getEdges(false));
    expect(graph.dstSortedEdges).toEqual(graph.getEdges(true));
    expect([...graph.activeInMemorySubgraph.src]).toEqual([...src]);
  });

  test('neighbours of some nodes: all, a few, by chance', () => {
    const all = graph.getNeighborsForNodeIds(Int32Array.of(1, 3), true, 'ALL');
    expect([...all.offsets]).toEqual([0, 2]);
    expect([...all.edges.src]).toEqual([0, 4, 2]);
    const one = graph.getNeighborsForNodeIds(Int32Array.of(1, 3), true, 'UNIFORM', 1);
    expect([...one.offsets]).toEqual([0, 1]);
    expect(one.edges.src.length).toBe(2);
    const none = graph.getNeighborsForNodeIds(Int32Array.of(1, 3), true, 'DROPOUT', -1, 1);
    expect(none.edges.src.length).toBe(0);
    const typo = 'SOME' as 'ALL';
    expect(() => graph.getNeighborsForNodeIds(Int32Array.of(1), true, typo)).toThrow(
      'ALL, UNIFORM or DROPOUT',
    );
    expect(() => graph.getNeighborsForNodeIds(Int32Array.of(9), true)).toThrow('9');
  });

  test('without relations there are none, and an empty graph says so', () => {
    const plain = new MariusGraph({ src, dst });
    expect(plain.getRelationIDs()).toBeNull();
    plain.clear();
    expect([...plain.getNodeIDs()]).toEqual([]);
    expect(() => plain.getEdges()).toThrow('empty graph');
    expect(() => new MariusGraph().getNumNeighbors()).toThrow('empty graph');
  });
});
