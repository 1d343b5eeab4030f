/** Graphs partitioned in memory: numbering, maps back, features, several partitions per worker, lookups by suffix. */
import { PartitionBook, partitionData, partitionGraph, suffixKeyLookup } from 'skein/dist';
import { Graph, HeteroGraph, SparseMatrix } from 'skein/graph';
import { fromTypedArray, tensor } from 'skein/tensor';
import { FormatError, ShapeError, ValueError } from 'skein/util';
import { describe, expect, it } from 'vitest';
import {
  checkWorker,
  edgesOf,
  originalEdges,
  randomGraph,
  randomHetero,
  rows,
} from './partition-fixtures.js';

describe('partitionData: wrong input', () => {
  const graph = Graph.fromEdges([0], [1], { numNodes: 2 });
  it('is named in the error', () => {
    expect(() => partitionData(graph, Int32Array.of(0))).toThrow(ShapeError);
    expect(() => partitionData(graph, Int32Array.of(0, -1))).toThrow(/parts from 0/);
    expect(() => partitionData(graph, Int32Array.of(0, 3), { parts: 3 })).toThrow(/of at least 4/);
    const bipartite = Graph.fromEdges([0], [1], { numSrc: 1, numDst: 2 });
    expect(() => partitionData(bipartite, Int32Array.of(0, 0, 0))).toThrow(/bipartite/);
    const split = () => partitionData(graph, Int32Array.of(0, 0), { nodeFeatures: { x: rows(3, 1, 0) } });
    expect(split).toThrow(/2 rows for the field _N\/x, got 3/);
    const hetero = HeteroGraph.fromEdges({ a: 1, b: 1 }, {});
    const named = () => partitionData(hetero, Int32Array.of(0, 0), { nodeFeatures: { x: rows(1, 1, 0) } });
    expect(named).toThrow(/begins with a\/, b\//);
    const colon = HeteroGraph.fromEdges({ 'a:b': 1 }, {});
    expect(() => partitionData(colon, Int32Array.of(0))).toThrow(/without ':'/);
  });

  it('rejects more workers than partitions', () => {
    const split = partitionData(graph, Int32Array.of(0, 1));
    expect(() => split.forWorker(0, 3)).toThrow(/at most 2 workers.*got 3/);
    expect(() => split.forWorker(2, 2)).toThrow(ValueError);
  });
});

describe.each([
  ['a graph', randomGraph, 4],
  ['a heterogeneous graph', randomHetero, 4],
] as const)('%s', (_, make, parts) => {
  const graph = make();
  const split = partitionData(graph, partitionGraph(graph, { parts, algorithm: 'random', seed: 3 }));

  it.each([1, 2, 3, 4])('%i workers hold all edges once, with their features', (workers) => {
    const all = split.forWorkers(workers);
    for (const data of all) checkWorker(data);
    expect(originalEdges(split, all)).toEqual(edgesOf(graph));
    for (const data of all) {
      for (const shard of data.allShardEdges) {
        for (const [key, value] of Object.entries(shard.edgeFeatures)) {
          const type = split.book.edgeType(key.split('/')[0]);
          const ids = shard.edgeIds.filter((__, i) => (shard.edgeTypes?.[i] ?? 0) === type);
          const first = { e: 0.5, since: 7000, price: 0, weight: 1 }[key.split('/')[1]] as number;
          const step = key.endsWith('weight') ? 1 / 1000 : 1;
          const width = value.size / Math.max(1, ids.length);
          ids.forEach((id, i) => {
            const want = first + split.originalEdgeIds[id] * step;
            expect(value.dataSync()[i * width]).toBeCloseTo(want, 4);
          });
        }
      }
    }
  });

  it('maps ids back and forth', () => {
    const { book } = split;
    for (const type of book.nodeTypeNames) {
      const ids = split.globalNodeIds(type);
      expect(ids.length).toBe(book.numNodes(type));
      ids.forEach((id, original) => {
        expect(split.originalNodeIds[id]).toBe(original);
      });
    }
    for (const type of book.edgeTypeNames)
      split.globalEdgeIds(type).forEach((id, original) => {
        expect(split.originalEdgeIds[id]).toBe(original);
      });
    for (let part = 0; part < parts; part++) {
      const data = split.forWorker(part);
      const { start, end } = data.nodeRanges[part];
      expect(data.originalNodeIds).toEqual(split.originalNodeIds.slice(start, end));
      const edges = book.edgeRange(part);
      expect(data.originalEdgeIds).toEqual(split.originalEdgeIds.slice(edges.start, edges.end));
    }
  });
});

describe('features', () => {
  it('are assigned to the rows of their nodes, of any type, dense or sparse', () => {
    const graph = Graph.fromEdges([0, 1, 2, 3], [1, 2, 3, 0], { numNodes: 4 });
    const split = partitionData(graph, Int32Array.of(1, 0, 1, 0), {
      nodeFeatures: {
        x: rows(4, 2, 0),
        labels: fromTypedArray(Int32Array.of(10, 11, 12, 13)),
        train_mask: fromTypedArray(Uint8Array.of(1, 0, 0, 1)),
        sparse: SparseMatrix.fromCsr(Int32Array.of(0, 1, 1, 2, 2), Int32Array.of(2, 0), null, [4, 3]),
      },
    });
    const [a, b] = split.forWorkers();
    expect([...a.nodeFeatures['_N/labels'].dataSync()]).toEqual([11, 13]);
    expect([...b.nodeFeatures['_N/labels'].dataSync()]).toEqual([10, 12]);
    expect(a.nodeFeatures['_N/train_mask'].dtype).toBe('u8');
    expect([...a.nodeFeatures['_N/train_mask'].dataSync()]).toEqual([0, 1]);
    expect(b.nodeFeatures['_N/sparse'].toArray()).toEqual([
      [0, 0, 1],
      [1, 0, 0],
    ]);
    const [both] = split.forWorkers(1);
    expect([...both.nodeFeatures['_N/labels'].dataSync()]).toEqual([11, 13, 10, 12]);
  });

  it('of partitions without nodes or edges are empty', () => {
    const graph = Graph.fromEdges([0], [0], { numNodes: 2 });
    graph.ndata.x = rows(2, 3, 0);
    const split = partitionData(graph, Int32Array.of(2, 2), { parts: 5 });
    for (const data of [...split.forWorkers(), ...split.forWorkers(2)]) checkWorker(data);
    expect(split.forWorker(0).nodeFeatures['_N/x'].shape).toEqual([0, 3]);
    expect(split.forWorker(2).nodeRanges.map(({ end }) => end)).toEqual([0, 0, 2, 2, 2]);
  });
});

describe('PartitionBook', () => {
  const book = new PartitionBook({
    nodeTypeNames: ['a', 'b'],
    edgeTypeNames: ['a:r:b'],
    nodeMap: [
      [
        { start: 0, end: 2 },
        { start: 5, end: 5 },
        { start: 6, end: 9 },
      ],
      [
        { start: 2, end: 5 },
        { start: 5, end: 6 },
        { start: 9, end: 9 },
      ],
    ],
    edgeMap: [
      [
        { start: 0, end: 4 },
        { start: 4, end: 4 },
        { start: 4, end: 7 },
      ],
    ],
  });

  it('finds partitions, types and ids', () => {
    expect([...book.partOf([0, 4, 5, 6, 8])]).toEqual([0, 0, 1, 2, 2]);
    const all = Int32Array.from({ length: 9 }, (_, i) => i);
    const { types, ids } = book.toTypeIds(all);
    expect([...types]).toEqual([0, 0, 1, 1, 1, 1, 0, 0, 0]);
    expect([...ids]).toEqual([0, 1, 0, 1, 2, 3, 2, 3, 4]);
    expect([...book.toGlobal('a', [0, 1, 2, 4])]).toEqual([0, 1, 6, 8]);
    expect([...book.toGlobal('b', tensor([3, 0], { dtype: 'i32' }))]).toEqual([5, 2]);
    expect([book.numNodes(), book.numNodes('a'), book.numEdges('a:r:b')]).toEqual([9, 5, 7]);
    expect([...book.partOfEdges([3, 4])]).toEqual([0, 2]);
    expect(book.workerNodes(1, 2)).toEqual({ start: 5, end: 9 });
    expect(book.workerEdges(0, 1)).toEqual({ start: 0, end: 7 });
  });

  it('rejects unknown ids and names, and ranges with gaps', () => {
    expect(() => book.partOf([0, 9])).toThrow(/ids from 0 to 8 for ids, got "9 at position 1"/);
    expect(() => book.toGlobal('c', [0])).toThrow(/one of a, b/);
    expect(() => book.toGlobal('a', [5])).toThrow(ValueError);
    const { nodeTypeNames, edgeTypeNames, edgeMap, nodeMap } = book;
    const gap = [nodeMap[0], nodeMap[1].map(({ start, end }) => ({ start: start + 1, end: end + 1 }))];
    const open = (map: typeof nodeMap) =>
      new PartitionBook({ nodeTypeNames, edgeTypeNames, edgeMap, nodeMap: map });
    expect(() => open(gap)).toThrow(FormatError);
    expect(() => open([nodeMap[0]])).toThrow(/ranges of 2 types/);
  });
});

describe('suffixKeyLookup', () => {
  const labels = fromTypedArray(Int32Array.of(1, 2));
  it('finds the one field or none, and names the candidates if there are several', () => {
    const fields = { 'user/labels': labels, 'user/old_labels': rows(2, 1, 0), 'item/x': rows(1, 1, 0) };
    expect(suffixKeyLookup(fields, 'labels')).toBe(labels);
    expect(suffixKeyLookup(fields, 'user/labels')).toBe(labels);
    expect(suffixKeyLookup(fields, 'bels_of').shape).toEqual([0]);
    expect(() => suffixKeyLookup(fields, 's')).toThrow(/user\/labels, user\/old_labels/);
  });

  it('expands a field of one type to all nodes', () => {
    const graph = randomHetero();
    const data = partitionData(graph, partitionGraph(graph, { parts: 2, algorithm: 'ldg' })).forWorker(1);
    const all = suffixKeyLookup(data, 'item/x', { expandToAll: true });
    const own = data.nodeFeatures['item/x'];
    expect(all.shape).toEqual([data.nodeTypes?.length, 2]);
    let row = 0;
    data.nodeTypes?.forEach((type, i) => {
      const want = type === 1 ? own.dataSync()[2 * row++] : 0;
      expect(all.dataSync()[2 * i]).toBe(want);
    });
    const typeList = data.nodeTypeNames;
    expect(() => suffixKeyLookup(data.nodeFeatures, 'item/x', { expandToAll: true, typeList })).toThrow(
      /Pass the PartitionData/,
    );
  });
});
