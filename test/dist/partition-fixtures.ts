/** Graphs for the tests of partitions, and a check that partitions hold exactly the edges of the original. */

import type { PartitionData, PartitionedGraph } from 'skein/dist';
import { Graph, HeteroGraph } from 'skein/graph';
import { fromTypedArray, type Tensor } from 'skein/tensor';
import { Random } from 'skein/util';
import { expect } from 'vitest';

function ids(random: Random, count: number, below: number): Int32Array {
  return Int32Array.from({ length: count }, () => random.nextInt(below));
}

/** 200 nodes, 900 random edges with self loops and repeats among them, three nodes without an edge; features and weights. */
export function randomGraph(seed = 1): Graph {
  const random = new Random(seed);
  const src = ids(random, 900, 197);
  const dst = ids(random, 900, 197);
  const edgeWeight = Float32Array.from(src, (_, i) => 1 + i / 1000);
  const graph = Graph.fromEdges(src, dst, { numNodes: 200, edgeWeight });
  graph.ndata.features = rows(200, 3, 0);
  graph.edata.e = rows(900, 2, 0.5);
  return graph;
}

export function randomHetero(seed = 1): HeteroGraph {
  const random = new Random(seed);
  const counts = { user: 60, item: 40, tag: 0, shop: 7 };
  const graph = HeteroGraph.fromEdges(counts, {
    'user,buys,item': [ids(random, 300, 60), ids(random, 300, 40)],
    'item,bought_by,user': [ids(random, 200, 40), ids(random, 200, 60)],
    'user,knows,user': [ids(random, 150, 60), ids(random, 150, 60)],
    'item,has,tag': [new Int32Array(0), new Int32Array(0)],
    'shop,sells,item': [ids(random, 50, 7), ids(random, 50, 40)],
  });
  graph.nodes('user').x = rows(60, 4, 0);
  graph.nodes('item').x = rows(40, 2, 1000);
  graph.relation('buys').edata.price = rows(300, 1, 0);
  graph.relation('knows').edata.since = rows(150, 2, 7000);
  return graph;
}

/** Row r, column c holds first + r + c / 8: which row it is can be read off it. */
export function rows(count: number, width: number, first: number): Tensor {
  const values = Float32Array.from({ length: count * width }, (_, i) => {
    return first + Math.floor(i / width) + (i % width) / 8;
  });
  return fromTypedArray(values, [count, width]);
}

/** Edges of all workers, in original ids, sorted: 'type src dst id'. */
export function originalEdges(split: PartitionedGraph, workers: readonly PartitionData[]): string[] {
  const { book, originalNodeIds, originalEdgeIds } = split;
  const all: string[] = [];
  for (const data of workers) {
    for (const { src, dst, edgeIds, edgeTypes } of data.allShardEdges) {
      edgeIds.forEach((id, i) => {
        const type = book.toEdgeTypeIds([id]).types[0];
        if (edgeTypes !== null) expect(edgeTypes[i]).toBe(type);
        const ends = [originalNodeIds[src[i]], originalNodeIds[dst[i]]];
        all.push(`${book.edgeTypeNames[type]} ${ends.join(' ')} ${originalEdgeIds[id]}`);
      });
    }
  }
  return all.sort();
}

/** The edges of the unpartitioned graph, in the same form. */
export function edgesOf(graph: Graph | HeteroGraph): string[] {
  const all: string[] = [];
  const relations: [string, Graph][] =
    graph instanceof HeteroGraph
      ? graph.edgeTypes.map((type) => [type.join(':'), graph.relation(type)])
      : [['_N:_E:_N', graph]];
  for (const [name, relation] of relations) {
    const { src, dst } = relation.edges();
    for (let e = 0; e < src.length; e++) all.push(`${name} ${src[e]} ${dst[e]} ${e}`);
  }
  return all.sort();
}

/** Checks the invariants of `PartitionData` that other code relies on. */
export function checkWorker(data: PartitionData): void {
  const { rank, nodeRanges, allShardEdges, nodeTypes, partitionBook: book } = data;
  const own = nodeRanges[rank];
  expect(allShardEdges.length).toBe(nodeRanges.length);
  allShardEdges.forEach(({ src, dst, edgeIds, edgeTypes, edgeFeatures }, q) => {
    for (let i = 0; i < src.length; i++) {
      expect(src[i] >= nodeRanges[q].start && src[i] < nodeRanges[q].end).toBe(true);
      expect(dst[i] >= own.start && dst[i] < own.end).toBe(true);
      if (i === 0) continue;
      const sameType = edgeTypes === null || edgeTypes[i] === edgeTypes[i - 1];
      if (sameType) expect(edgeIds[i]).toBeGreaterThan(edgeIds[i - 1]);
      else expect(edgeTypes[i]).toBeGreaterThan(edgeTypes[i - 1]);
    }
    for (const [key, value] of Object.entries(edgeFeatures)) {
      const type = book.edgeType(key.slice(0, key.indexOf('/')));
      const count = edgeTypes === null ? src.length : edgeTypes.filter((t) => t === type).length;
      expect(value.shape[0]).toBe(count);
    }
  });
  if (book.nodeTypeNames.length === 1) expect(nodeTypes).toBeNull();
  else {
    const held = Int32Array.from({ length: own.end - own.start }, (_, i) => own.start + i);
    expect(nodeTypes).toEqual(book.toTypeIds(held).types);
  }
}
