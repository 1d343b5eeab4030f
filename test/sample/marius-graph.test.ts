/** MariusGraph: sorted edge lists, relations, one-hop neighbours; GNNGraph as its sampled form. */
import { type GNNGraph, LayeredNeighborSampler, MariusGraph } from 'skein/sample';
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

describe('GNNGraph as a MariusGraph', () => {
  const { graph } = new MariusGraph({ src, dst, relations }, { numNodes: 5 });
  const sample = (): GNNGraph =>
    new LayeredNeighborSampler(graph, {
      layers: [-1, -1],
      relations: { ids: relations, count: 2 },
    }).getNeighbors(Int32Array.of(3));

  test('relations of sampled edges; against their direction they are others', () => {
    const dense = sample().performMap();
    expect(dense).toBeInstanceOf(MariusGraph);
    expect([...(dense.getRelationIDs(true) ?? [])]).toEqual([1, 0, 0]);
    expect([...(dense.getRelationIDs(false) ?? [])]).toEqual([0, 0, 0, 1]);
    // Rows 0, 2, 3: incoming first, then outgoing with r + 2.
    expect([...(dense.blockRelations() ?? [])]).toEqual([1, 2, 2, 0, 2, 0, 3]);
    expect([...dense.getNodeIDs()]).toEqual([1, 0, 2, 3]);
  });

  test('edges taken out are gone from all layers', () => {
    const dense = sample();
    const hidden = 3; // 2 → 3
    const ends = new Map<number, string>();
    dense.filterEdges((id, src, dst) => {
      ends.set(id, `${src} → ${dst}`);
      return id !== hidden;
    });
    dense.performMap();
    const { src, dst } = graph.edges();
    for (const [id, text] of ends) expect(text).toBe(`${src[id]} → ${dst[id]}`);
    expect(ends.size).toBeGreaterThan(3);
    expect([...dense.getEdgeIDs(true)]).toEqual([4, 1]);
    expect([...dense.getEdgeIDs(false)]).toEqual([0, 1, 4]);
    dense.prepareForNextLayer();
    expect([...dense.getEdgeIDs(true)]).toEqual([]);
    expect([...dense.getEdgeIDs(false)]).toEqual([4]);
  });

  test('a wrong number of relations is refused', () => {
    const wrong = { ids: Int32Array.of(0), count: 1 };
    expect(() => new LayeredNeighborSampler(graph, { layers: [-1], relations: wrong })).toThrow(
      '6 relations',
    );
  });
});
