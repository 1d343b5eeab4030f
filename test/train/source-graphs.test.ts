/** The source's graphs, name by name: what it is called there, what it is called here, and a call of it. */
import { GNNGraph, kHopNeighborSampler, MariusGraph } from 'skein/marius';
import { expect, test } from 'vitest';
import { memoryStorage } from './tiny.js';

/** The worked graph of the notes, and its sample of two hops around node 3. */
const worked = new MariusGraph({
  src: Int32Array.of(0, 0, 1, 2, 3, 4),
  dst: Int32Array.of(1, 2, 4, 3, 0, 1),
  relations: Int32Array.of(0, 0, 1, 0, 1, 0),
});
const sampled = async (): Promise<GNNGraph> => {
  const train = Int32Array.from([0, 0, 1, 0, 0, 2, 1, 1, 4, 2, 0, 3, 3, 1, 0, 4, 0, 1]);
  const own = memoryStorage({ numNodes: 5, numRelations: 2, train });
  await own.startEpoch(0);
  await own.loadGraph();
  return new kHopNeighborSampler(own, 2, 'ALL').getNeighbors(Int32Array.of(3), true, true);
};

type Call = () => unknown;
/** Source name, our name, a call and what it must give. */
const api: readonly (readonly [source: string, ours: string, call: Call, wanted: unknown])[] = [
  ['MariusGraph()', 'new MariusGraph()', () => new MariusGraph() instanceof MariusGraph, true],
  [
    'MariusGraph::src_sorted_edges_',
    'srcSortedEdges',
    () => [...worked.srcSortedEdges.src],
    [0, 0, 1, 2, 3, 4],
  ],
  [
    'MariusGraph::dst_sorted_edges_',
    'dstSortedEdges',
    () => [...worked.dstSortedEdges.dst],
    [0, 1, 1, 2, 3, 4],
  ],
  [
    'MariusGraph::active_in_memory_subgraph_',
    'activeInMemorySubgraph',
    () => worked.activeInMemorySubgraph.src.length,
    6,
  ],
  ['MariusGraph::node_ids_', 'getNodeIDs', () => [...worked.getNodeIDs()], [0, 1, 2, 3, 4]],
  [
    'MariusGraph::out_sorted_uniques_',
    'outSortedUniques',
    () => [...worked.outSortedUniques],
    [0, 1, 2, 3, 4],
  ],
  ['MariusGraph::out_offsets_', 'outOffsets', () => [...worked.outOffsets].slice(0, 5), [0, 2, 3, 4, 5]],
  ['MariusGraph::out_num_neighbors_', 'outNumNeighbors', () => [...worked.outNumNeighbors], [2, 1, 1, 1, 1]],
  ['MariusGraph::in_sorted_uniques_', 'inSortedUniques', () => [...worked.inSortedUniques], [0, 1, 2, 3, 4]],
  ['MariusGraph::in_offsets_', 'inOffsets', () => [...worked.inOffsets].slice(0, 5), [0, 1, 3, 4, 5]],
  ['MariusGraph::in_num_neighbors_', 'inNumNeighbors', () => [...worked.inNumNeighbors], [1, 2, 1, 1, 1]],
  ['MariusGraph::getNodeIDs', 'getNodeIDs', () => worked.getNodeIDs().length, 5],
  ['MariusGraph::getEdges', 'getEdges', () => [...worked.getEdges(true).src], [3, 0, 4, 0, 2, 1]],
  [
    'MariusGraph::getRelationIDs',
    'getRelationIDs',
    () => [...(worked.getRelationIDs(true) ?? [])],
    [1, 0, 0, 0, 0, 1],
  ],
  [
    'MariusGraph::getNeighborOffsets',
    'getNeighborOffsets',
    () => [...worked.getNeighborOffsets(false)].slice(0, 5),
    [0, 2, 3, 4, 5],
  ],
  [
    'MariusGraph::getNumNeighbors',
    'getNumNeighbors',
    () => [...worked.getNumNeighbors(false)],
    [2, 1, 1, 1, 1],
  ],
  [
    'MariusGraph::getNeighborsForNodeIds',
    'getNeighborsForNodeIds',
    () => {
      const { edges, offsets } = worked.getNeighborsForNodeIds(Int32Array.of(1, 0), true, 'ALL', -1);
      return [[...edges.src], [...offsets]];
    },
    [
      [0, 4, 3],
      [0, 2],
    ],
  ],
  [
    'MariusGraph::clear',
    'clear',
    () => {
      const graph = new MariusGraph({ src: Int32Array.of(0), dst: Int32Array.of(1) });
      graph.clear();
      return graph.getNodeIDs().length;
    },
    0,
  ],

  ['GNNGraph::hop_offsets_', 'hopOffsets', async () => [...(await sampled()).hopOffsets], [0, 1, 3, 4]],
  [
    'GNNGraph::in_neighbors_mapping_',
    'getNeighborIDs(true)',
    async () => [...(await sampled()).performMap().getNeighborIDs(true)],
    [3, 1, 2],
  ],
  [
    'GNNGraph::out_neighbors_mapping_',
    'getNeighborIDs(false)',
    async () => [...(await sampled()).performMap().getNeighborIDs(false)],
    [0, 2, 3, 1],
  ],
  [
    'GNNGraph::in_neighbors_vec_',
    'getEdges(true)',
    async () => [...(await sampled()).getEdges(true).src],
    [3, 0, 2],
  ],
  [
    'GNNGraph::out_neighbors_vec_',
    'getEdges(false)',
    async () => [...(await sampled()).getEdges(false).dst],
    [1, 2, 3, 0],
  ],
  [
    'GNNGraph::num_nodes_in_memory_',
    'GraphModelStorage.residency.numLocalRows',
    () => memoryStorage({ numNodes: 20, train: new Int32Array(0) }).residency.numLocalRows,
    20,
  ],
  [
    'GNNGraph::getNeighborIDs',
    'getNeighborIDs(true, true)',
    async () => [...(await sampled()).getNeighborIDs(true, true)],
    [3, 0, 2],
  ],
  ['GNNGraph::getLayerOffset', 'getLayerOffset', async () => (await sampled()).getLayerOffset(), 1],
  [
    'GNNGraph::performMap',
    'performMap',
    async () => (await sampled()).performMap() instanceof GNNGraph,
    true,
  ],
  [
    'GNNGraph::prepareForNextLayer',
    'prepareForNextLayer',
    async () => {
      const graph = (await sampled()).performMap().prepareForNextLayer();
      return [
        [...graph.nodeIds],
        [...graph.hopOffsets],
        [...graph.getNeighborIDs(true)],
        graph.getLayerOffset(),
      ];
    },
    [[0, 2, 3], [0, 2, 3], [1], 2],
  ],
];

test.each(api.map(([source, ours, call, wanted]) => ({ source, ours, call, wanted })))(
  '$source is $ours',
  async ({ call, wanted }) => {
    expect(await call()).toEqual(wanted);
  },
);
