/** Marius's document, classes MariusGraph and GNNGraph: members and functions as the document declares them. */
import { type EdgeList, GNNGraph, kHopNeighborSampler, MariusGraph } from 'skein/marius';
import { describe, expect, test } from 'vitest';
import { memoryStorage } from '../train/tiny.js';

const src = Int32Array.of(0, 0, 1, 2, 3, 4);
const dst = Int32Array.of(1, 2, 4, 3, 0, 1);
const relations = Int32Array.of(0, 0, 1, 0, 1, 0);

describe('MariusGraph', () => {
  const graph = new MariusGraph({ src, dst, relations }, { numNodes: 5 });

  test('wrong edges and hops are rejected with their names', () => {
    expect(() => new MariusGraph({} as never)).toThrow(
      'MariusGraph: expected an Int32Array for edges.src, got undefined. Give { src, dst }',
    );
    expect(() => new MariusGraph('edges' as never)).toThrow('for edges.src');
    expect(() => new MariusGraph({ src, dst: dst.subarray(1) })).toThrow('expected 6 ids (as src)');
    expect(() => new GNNGraph({} as never)).toThrow('GNNGraph: expected an Int32Array for hopOffsets');
  });

  test('relations of another length are refused', () => {
    expect(() => new MariusGraph({ src, dst, relations: Int32Array.of(1) })).toThrow(
      'expected 6 relations for relations, got 1',
    );
  });

  test('edges by destination and by source, with their relations and offsets', () => {
    // Indices getEdges(bool incoming = true)
    const incoming = graph.getEdges();
    expect([...incoming.dst]).toEqual([0, 1, 1, 2, 3, 4]);
    expect([...incoming.src]).toEqual([3, 0, 4, 0, 2, 1]);
    // Indices getRelationIDs(bool incoming = true)
    expect([...(graph.getRelationIDs(true) ?? [])]).toEqual([1, 0, 0, 0, 0, 1]);
    // Indices getNeighborOffsets(bool incoming = true)
    expect([...graph.getNeighborOffsets(true)]).toEqual([0, 1, 3, 4, 5]);
    // torch::Tensor getNumNeighbors(bool incoming = true)
    expect([...graph.getNumNeighbors(true)]).toEqual([1, 2, 1, 1, 1]);
    const outgoing = graph.getEdges(false);
    expect([...outgoing.src]).toEqual([0, 0, 1, 2, 3, 4]);
    expect([...outgoing.dst]).toEqual([1, 2, 4, 3, 0, 1]);
    expect([...graph.getNumNeighbors(false)]).toEqual([2, 1, 1, 1, 1]);
  });

  test('members under their names', () => {
    // Indices getNodeIDs(); Indices node_ids_
    expect([...graph.getNodeIDs()]).toEqual([0, 1, 2, 3, 4]);
    expect([...graph.nodeIds]).toEqual([0, 1, 2, 3, 4]);
    // Indices in_sorted_uniques_, out_sorted_uniques_
    expect([...graph.inSortedUniques]).toEqual([0, 1, 2, 3, 4]);
    expect([...graph.outSortedUniques]).toEqual([0, 1, 2, 3, 4]);
    // Indices out_offsets_, in_offsets_; torch::Tensor out_num_neighbors_, in_num_neighbors_
    expect([...graph.outOffsets]).toEqual([0, 2, 3, 4, 5]);
    expect([...graph.inOffsets]).toEqual([...graph.getNeighborOffsets(true)]);
    expect([...graph.outNumNeighbors]).toEqual([...graph.getNumNeighbors(false)]);
    expect([...graph.inNumNeighbors]).toEqual([...graph.getNumNeighbors(true)]);
    // EdgeList src_sorted_edges_, dst_sorted_edges_, active_in_memory_subgraph_
    expect(graph.srcSortedEdges).toEqual(graph.getEdges(false));
    expect(graph.dstSortedEdges).toEqual(graph.getEdges(true));
    expect([...graph.activeInMemorySubgraph.src]).toEqual([...src]);
  });

  test('neighbours of some nodes: all, a few, by chance', () => {
    // std::tuple<torch::Tensor, torch::Tensor> getNeighborsForNodeIds(torch::Tensor node_ids, bool incoming,
    //     NeighborSamplingStrategy neighbor_sampling_strategy, int max_neighbors_size)
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
    // MariusGraph(EdgeList edges)
    const plain = new MariusGraph({ src, dst });
    expect(plain.getRelationIDs()).toBeNull();
    // void clear()
    plain.clear();
    expect([...plain.getNodeIDs()]).toEqual([]);
    expect(() => plain.getEdges()).toThrow('empty graph');
    expect(() => new MariusGraph().getNumNeighbors()).toThrow('empty graph');
  });
});

describe('GNNGraph', () => {
  /** Two hops of all neighbours around node 3. */
  const sampled = async (): Promise<GNNGraph> => {
    const train = Int32Array.from([0, 0, 1, 0, 0, 2, 1, 1, 4, 2, 0, 3, 3, 1, 0, 4, 0, 1]);
    const storage = memoryStorage({ numNodes: 5, numRelations: 2, train });
    await storage.startEpoch(0);
    await storage.loadGraph();
    return new kHopNeighborSampler(storage, 2, 'ALL').getNeighbors(Int32Array.of(3), true, true);
  };
  const edgesOf = (lists: readonly EdgeList[]) =>
    lists.map((list) => [...list.src].map((s, i) => [s, list.relations?.[i], list.dst[i]]));

  test('GNNGraph(): empty, with messages where a sample is needed', () => {
    const empty = new GNNGraph();
    expect(empty).toBeInstanceOf(MariusGraph);
    expect([empty.numRows, empty.numLayers, empty.numTargets, empty.numNodesInMemory]).toEqual([0, 0, 0, 0]);
    expect([empty.inNeighborsVec, empty.inNeighborsMapping]).toEqual([[], null]);
    expect(() => empty.getLayerOffset()).toThrow('GNNGraph: expected a sample, got an empty graph.');
  });

  test('members of a sample', async () => {
    const graph = await sampled();
    // Indices hop_offsets_, node_ids_ (MariusGraph)
    expect([...graph.hopOffsets]).toEqual([0, 1, 3, 4]);
    expect([...graph.nodeIds]).toEqual([1, 0, 2, 3]);
    // Indices in_neighbors_mapping_, out_neighbors_mapping_
    expect([graph.inNeighborsMapping, graph.outNeighborsMapping]).toEqual([null, null]);
    graph.performMap();
    expect([...(graph.inNeighborsMapping ?? [])]).toEqual([3, 1, 2]);
    expect([...(graph.outNeighborsMapping ?? [])]).toEqual([0, 2, 3, 1]);
    // std::vector<torch::Tensor> in_neighbors_vec_, out_neighbors_vec_
    const incoming = [
      [
        [3, 1, 0],
        [0, 0, 2],
      ],
      [[2, 0, 3]],
    ];
    expect(edgesOf(graph.inNeighborsVec)).toEqual(incoming);
    expect(edgesOf(graph.outNeighborsVec)).toEqual([
      [
        [0, 0, 1],
        [0, 0, 2],
        [2, 0, 3],
      ],
      [[3, 1, 0]],
    ]);
    // int num_nodes_in_memory_
    expect(graph.numNodesInMemory).toBe(5);
  });

  test('getNeighborIDs, getLayerOffset, performMap, prepareForNextLayer', async () => {
    const graph = await sampled();
    // Indices getNeighborIDs(bool incoming = true, bool global = false)
    expect([...graph.getNeighborIDs(true, true)]).toEqual([3, 0, 2]);
    expect(() => graph.getNeighborIDs()).toThrow('performMap()');
    // int64_t getLayerOffset()
    expect(graph.getLayerOffset()).toBe(1);
    // void performMap()
    expect([...graph.performMap().getNeighborIDs()]).toEqual([3, 1, 2]);
    // void prepareForNextLayer()
    graph.prepareForNextLayer();
    expect([...graph.nodeIds]).toEqual([0, 2, 3]);
    expect([...graph.hopOffsets]).toEqual([0, 2, 3]);
    expect([...graph.getNeighborIDs(true)]).toEqual([1]);
    expect(graph.getLayerOffset()).toBe(2);
    graph.clear();
    expect(graph.numRows).toBe(0);
  });

  test.each([true, false])(
    'the constructor of nine arguments gives the sample again (mapping %s)',
    async (mapped) => {
      const wanted = await sampled();
      const offsets = [wanted.inOffsets, wanted.outOffsets];
      wanted.performMap();
      // GNNGraph(Indices hop_offsets, Indices node_ids, Indices in_offsets, std::vector<torch::Tensor> in_neighbors_vec,
      //     Indices in_neighbors_mapping, Indices out_offsets, std::vector<torch::Tensor> out_neighbors_vec,
      //     Indices out_neighbors_mapping, int num_nodes_in_memory)
      const graph = new GNNGraph(
        ...[wanted.hopOffsets, wanted.nodeIds],
        ...[offsets[0], wanted.inNeighborsVec, mapped ? wanted.inNeighborsMapping : null],
        ...[offsets[1], wanted.outNeighborsVec, mapped ? wanted.outNeighborsMapping : null],
        wanted.numNodesInMemory,
      );
      expect(graph.inNeighborsMapping === null).toBe(!mapped);
      graph.performMap();
      for (;;) {
        for (const incoming of [true, false]) {
          expect(graph.getEdges(incoming)).toEqual(wanted.getEdges(incoming));
          expect(graph.getNeighborIDs(incoming)).toEqual(wanted.getNeighborIDs(incoming));
          expect(graph.getNumNeighbors(incoming)).toEqual(wanted.getNumNeighbors(incoming));
        }
        expect(graph.block().adjacency.indices).toEqual(wanted.block().adjacency.indices);
        expect(graph.blockRelations()).toEqual(wanted.blockRelations());
        if (graph.numLayers <= 1) break;
        graph.prepareForNextLayer();
        wanted.prepareForNextLayer();
      }
      expect(graph.numNodesInMemory).toBe(5);
    },
  );

  test('wrong arrays are rejected', () => {
    const [hops, nodes] = [Int32Array.of(0, 1, 2), Int32Array.of(7, 8)];
    const edge = { src: Int32Array.of(9), dst: Int32Array.of(8) };
    expect(() => new GNNGraph(Int32Array.of(0, 1, 3), nodes)).toThrow(
      'then the number of nodes 2 for hopOffsets',
    );
    expect(() => new GNNGraph(hops, nodes, Int32Array.of(0), [edge])).toThrow(
      'expected neighbours that are among nodeIds for inNeighborsVec, got 9',
    );
  });
});
