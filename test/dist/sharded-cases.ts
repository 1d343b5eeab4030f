/** Cases of graphs whose edges are sharded over workers. All ranks run a case together. */

import assert from 'node:assert/strict';
import type { Communicator } from 'skein/dist';
import { Graph } from 'skein/graph';
import type { EdgeList } from 'skein/marius';
import { type DenseSample, LayeredNeighborSampler } from 'skein/sample';
import { Random } from 'skein/util';
import { ShardedSamplingGraph } from '#internal/dist/sampling/sharded-sampling-graph.js';
import { openShardedRows } from '#internal/dist/stores/sharded-rows.js';
import type { LayerSampling } from '#internal/sample/layered-neighbor-sampler.js';
import type { CommCase } from './communicator-contract.js';

const numNodes = 50;
const numEdges = 401;
const numRelations = 3;

/** Nodes of very different degrees, repeated edges, self loops, nodes without edges. */
function edgeList(typed: boolean, weighed: boolean): EdgeList {
  const random = new Random(7);
  const node = () => Math.floor(random.nextFloat() ** 2 * (numNodes - 3));
  const src = Int32Array.from({ length: numEdges }, node);
  const dst = Int32Array.from({ length: numEdges }, (_, i) => (i % 40 === 0 ? src[i] : node()));
  const relations = typed ? Int32Array.from({ length: numEdges }, (_, i) => i % numRelations) : null;
  const weights = weighed ? Float32Array.from({ length: numEdges }, (_, i) => 0.1 + (i % 9) / 7) : null;
  return { src, dst, relations, weights };
}

async function* inPieces({ src, dst, relations = null, weights = null }: EdgeList): AsyncGenerator<EdgeList> {
  for (let first = 0; first < src.length; first += 33) {
    const part = <T extends Int32Array | Float32Array>(all: T) => all.slice(first, first + 33) as T;
    yield {
      ...{ src: part(src), dst: part(dst) },
      relations: relations === null ? null : part(relations),
      weights: weights === null ? null : part(weights),
    };
  }
}

interface Both {
  readonly spread: ShardedSamplingGraph;
  readonly samplers: readonly [here: LayeredNeighborSampler, spread: LayeredNeighborSampler];
}

const rules: readonly LayerSampling[] = [
  { type: 'UNIFORM', maxNeighbors: 3 },
  { type: 'DROPOUT', rate: 0.5 },
  { type: 'UNIFORM', maxNeighbors: 2, replace: true },
];

async function open(
  comm: Communicator,
  edges: EdgeList,
  sides: { incoming: boolean; outgoing: boolean },
): Promise<Both> {
  const typed = (edges.relations ?? null) !== null;
  const spread = await ShardedSamplingGraph.read({
    ...{ numNodes, numEdges, comm, ...sides, chunks: () => inPieces(edges) },
    numRelations: typed ? numRelations : 0,
  });
  const { src, dst, relations = null, weights = null } = edges;
  const graph = Graph.fromEdges(src, dst, { numNodes, ...(weights === null ? {} : { edgeWeight: weights }) });
  const options = { layers: rules, seed: 11, ...sides };
  const here = new LayeredNeighborSampler(graph, {
    ...options,
    relations: relations === null ? null : { ids: relations, count: numRelations },
  });
  return { spread, samplers: [here, new LayeredNeighborSampler(spread, options)] };
}

/** The data of a sample that layers use. */
function told(graph: DenseSample, { incoming, outgoing }: { incoming: boolean; outgoing: boolean }): object {
  const side = (isIncoming: boolean) => [
    ...[graph.getEdges(isIncoming), graph.getEdgeIDs(isIncoming), graph.getNeighborOffsets(isIncoming)],
    graph.getRelationIDs(isIncoming),
  ];
  const before = [
    graph.nodeIds.slice(),
    graph.hopOffsets.slice(),
    incoming && side(true),
    outgoing && side(false),
  ];
  graph.performMap();
  const relations = graph.blockRelations();
  const layers = graph
    .takeBlocks()
    .map((block) => [
      ...[
        block.adjacency.offsets,
        block.adjacency.indices,
        block.positionWeights('f32')?.dataSync(),
        block.parentEdgeIds,
      ],
      ...[block.rowIds('positions'), block.rowIds('src')],
      ...[block.normDegrees(false), block.normDegrees(true)],
    ]);
  return { before, relations, layers, targetRows: graph.targetRows };
}

const targetsOf = (rank: number) =>
  Int32Array.from({ length: 5 * rank }, (_, i) => (7 * i + rank) % numNodes);

function sampleCase(typed: boolean, weighed: boolean, incoming: boolean, outgoing: boolean): CommCase {
  const words = [typed && 'relations', weighed && 'weights', incoming && 'incoming', outgoing && 'outgoing'];
  return {
    name: `a sample is that of all edges: ${words.filter(Boolean).join(', ')}`,
    async run(comm) {
      const sides = { incoming, outgoing };
      const { spread, samplers } = await open(comm, edgeList(typed, weighed), sides);
      assert.ok(spread.numLocalEdges <= Math.ceil(numEdges / comm.size));
      // Workers sample at different times, and different numbers of times.
      for (let step = 0; step <= comm.rank; step++) {
        const targets = targetsOf(comm.rank + step);
        const [here, there] = samplers.map((sampler) =>
          told(sampler.sample(targets, { epoch: 1, step }), sides),
        );
        assert.deepEqual(there, here);
        const later = await samplers[1].sampleAsync(targets, { epoch: 1, step });
        assert.deepEqual(told(later, sides), here);
      }
      comm.barrier();
      spread.close();
    },
  };
}

/** By node that draws: what it has drawn, as text. */
function drawnBy(graph: DenseSample): Map<number, string> {
  const found = new Map<number, string>();
  const first = graph.getLayerOffset();
  for (const incoming of [true, false]) {
    const ids = graph.getEdgeIDs(incoming);
    const starts = [...graph.getNeighborOffsets(incoming), ids.length];
    for (let v = first; v < graph.nodeIds.length; v++) {
      const own = ids.subarray(starts[v - first], starts[v - first + 1]).join();
      const node = graph.nodeIds[v];
      found.set(node, `${found.get(node) ?? ''}/${own}`);
    }
  }
  return found;
}

export const shardedCases: readonly CommCase[] = [
  sampleCase(false, false, true, false),
  sampleCase(true, false, true, true),
  sampleCase(false, true, false, true),
  sampleCase(true, true, true, true),
  {
    name: 'nodes of a share draw what they draw in the whole batch',
    async run(comm) {
      const sides = { incoming: true, outgoing: true };
      const { spread, samplers } = await open(comm, edgeList(false, false), sides);
      const batch = Int32Array.from({ length: 12 }, (_, i) => (5 * i) % numNodes);
      for (const sampler of samplers) {
        const whole = drawnBy(sampler.sample(batch, { step: 4 }));
        let moved = 0;
        for (const target of batch) {
          const alone = drawnBy(sampler.sample([target], { step: 4 }));
          for (const [node, drawn] of drawnBy(sampler.sample([target], { step: 4 }, batch))) {
            assert.equal(drawn, whole.get(node), `node ${node}`);
            if (alone.has(node) && alone.get(node) !== drawn) moved++;
          }
        }
        // Without the batch some would draw other edges: otherwise the case would test nothing.
        assert.ok(moved > 0);
      }
      comm.barrier();
      spread.close();
    },
  },
  {
    name: 'edges of unknown nodes are rejected',
    async run(comm) {
      const edges = edgeList(false, false);
      edges.dst[17] = numNodes;
      await assert.rejects(open(comm, edges, { incoming: true, outgoing: true }), /nodes from 0 to 49/);
    },
  },
  {
    name: 'rows are distributed evenly, also when there are fewer than workers',
    async run(comm) {
      for (const rows of [0, 2, 23]) {
        const store = await openShardedRows('rows', {
          ...{ rows, width: 2, comm },
          read: ({ start, end }) => Float32Array.from({ length: 2 * (end - start) }, (_, i) => 2 * start + i),
        });
        assert.ok(store.local.length / 2 <= Math.ceil(rows / comm.size));
        const all = Float32Array.from({ length: 2 * rows }, (_, i) => i);
        assert.deepEqual(await store.range(0, rows), all);
        comm.barrier();
        store.close();
      }
    },
  },
];
