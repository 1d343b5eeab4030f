/** Cases of sampling on partitioned graphs, all compared with one machine. All ranks run a case together. */
import assert from 'node:assert/strict';
import {
  type Communicator,
  convertDistGraph,
  convertDistHeteroGraph,
  type DistGraph,
  DistNeighborSampler,
  type DistNeighborSamplerOptions,
  distFeatures,
  partitionData,
  DistGraph as Sampled,
} from 'skein/dist';
import type { Block } from 'skein/graph';
import { HeteroGraph } from 'skein/graph';
import { NeighborSampler, type NeighborSamplerOptions } from 'skein/sample';
import { fromTypedArray, type Tensor } from 'skein/tensor';
import type { CommCase } from './communicator-contract.js';
import { chances, counting, distGraph, type Split, splitGraph, width } from './sampling-graph.js';

const array = (t: Tensor) => Array.from(t.dataSync() as ArrayLike<number>);

const sumOver = (comm: Communicator, own: number): number => {
  const sum = Float64Array.of(own);
  comm.allReduce(sum);
  return sum[0];
};

/** Seeds of this worker, some of them twice. */
function seedsOf({ first, end }: Split, count: number, step = 0): Int32Array {
  if (end === first) return new Int32Array(0);
  return Int32Array.from({ length: count }, (_, i) => first + ((i * 7 + step * 13) % (end - first)));
}

function sameBlock(got: Block, want: Block): void {
  assert.deepEqual(got.adjacency.offsets, want.adjacency.offsets);
  assert.deepEqual(got.adjacency.indices, want.adjacency.indices);
  assert.equal(got.numSrcNodes, want.numSrcNodes);
  assert.deepEqual(got.srcIds, want.srcIds);
  assert.deepEqual(got.parentEdgeIds, want.parentEdgeIds);
  assert.deepEqual(got.positionWeights('f32')?.dataSync(), want.positionWeights('f32')?.dataSync());
  for (const loops of [false, true]) assert.deepEqual(got.normDegrees(loops), want.normDegrees(loops));
}

function compare(
  split: Split,
  graph: DistGraph,
  fanouts: number[],
  mine: DistNeighborSamplerOptions,
  theirs: Omit<NeighborSamplerOptions, 'fanouts'>,
): void {
  const { whole, features, labels, edgeRows } = split;
  const sampler = new DistNeighborSampler(fanouts, {
    ...{ inputNodeFeatures: { x: split.ownFeatures }, outputNodeFeatures: { y: split.ownLabels }, seed: 5 },
    ...mine,
  });
  const one = new NeighborSampler(whole, { fanouts, seed: 5, ...theirs });
  for (const step of [0, 1, 2]) {
    // Ranks are at different steps, and some have more seeds than others.
    const at = { epoch: step, step: 10 * step + graph.rank };
    const seeds = seedsOf(split, 9 + 20 * graph.rank, step);
    const { batch, blocks } = (() => {
      const started = sampler.start(graph, seeds, at);
      return { batch: started.batch, blocks: started.finish() };
    })();
    const want = one.sample(seeds, at);
    assert.deepEqual(batch.nodeIds, want.nodeIds);
    assert.deepEqual(batch.seedRows, want.seedRows);
    assert.equal(blocks.length, want.blocks.length);
    for (const [i, block] of blocks.entries()) {
      sameBlock(block, want.blocks[i]);
      assert.deepEqual(
        array(block.edata.e),
        Array.from(block.parentEdgeIds ?? []).flatMap((e) => [edgeRows[2 * e], edgeRows[2 * e + 1]]),
      );
    }
    const rows = features.dataSync<Float32Array>();
    assert.deepEqual(
      array(blocks[0].srcdata.x),
      Array.from(want.nodeIds).flatMap((v) => [...rows.subarray(v * width, (v + 1) * width)]),
    );
    const last = blocks[blocks.length - 1];
    assert.deepEqual(
      array(last.dstdata.y),
      Array.from(last.dstIds ?? [], (v) => labels[v]),
    );
  }
}

const settings: [string, number[], DistNeighborSamplerOptions, (s: Split) => object][] = [
  ['two hops', [3, 2], {}, () => ({})],
  ['three hops and a cache', [4, 3, 2], { cacheRows: 30 }, () => ({})],
  ['all neighbours', [-1, -1], {}, () => ({})],
  ['a large fan-out, then none', [40, 0], {}, () => ({})],
  ['with replacement', [5, 5], { replace: true }, () => ({ replace: true })],
  ['by weight', [3, 3], { prob: 'weight' }, () => ({ weights: 'edgeWeight' })],
  [
    'by a field, with replacement',
    [3, 3],
    { prob: 'chance', replace: true },
    (s) => ({ weights: chances(s.whole, s.edgeRows), replace: true }),
  ],
];

const same: CommCase[] = settings.flatMap(([name, fanouts, mine, theirs]) =>
  [false, true].map((hybrid) => ({
    name: `samples what one machine samples: ${name}${hybrid ? ', hybrid' : ''}`,
    run(comm: Communicator) {
      const split = splitGraph(comm);
      const graph = distGraph(comm, split, { hybrid });
      compare(split, graph, fanouts, mine, theirs(split));
      comm.barrier();
      graph.close();
    },
  })),
);

const others: CommCase[] = [
  {
    name: 'without weights, and with more partitions than workers',
    run(comm) {
      const split = splitGraph(comm, { weighted: false, parts: comm.size + 3 });
      const graph = distGraph(comm, split);
      compare(split, graph, [3, 3], {}, {});
      comm.barrier();
      graph.close();
    },
  },
  {
    name: 'counts nodes and edges of all workers and of this one',
    run(comm) {
      const split = splitGraph(comm);
      const graph = distGraph(comm, split);
      assert.deepEqual([graph.numNodes, graph.numEdges], [240, 2000]);
      const sums = Int32Array.of(graph.numLocalNodes, graph.numLocalEdges);
      comm.allReduce(sums);
      assert.deepEqual([...sums], [240, 2000]);
      comm.barrier();
      graph.close();
    },
  },
  {
    name: 'three layers and two features take four all-to-alls, and none when hybrid',
    run(comm) {
      const split = splitGraph(comm);
      for (const hybrid of [false, true]) {
        const { comm: counted, calls } = counting(comm);
        const graph = distGraph(counted, split, { hybrid });
        const inputNodeFeatures = { x: split.ownFeatures, y: split.ownLabels };
        const sampler = new DistNeighborSampler([4, 3, 2], { inputNodeFeatures });
        sampler.sample(graph, seedsOf(split, 10));
        for (const key of Object.keys(calls)) calls[key] = 0;
        sampler.sample(graph, seedsOf(split, 10), { step: 1 });
        const { getRows = 0, ...collectives } = Object.fromEntries(
          Object.entries(calls).filter(([, count]) => count > 0),
        );
        assert.deepEqual(collectives, hybrid || comm.size === 1 ? {} : { allToAllv: 4 });
        assert.ok(getRows <= 2 * (comm.size - 1));
        comm.barrier();
        graph.close();
      }
    },
  },
  {
    name: 'workers without seeds take part; blocks without rows are blocks',
    run(comm) {
      const split = splitGraph(comm);
      const graph = distGraph(comm, split);
      const sampler = new DistNeighborSampler([3, 2], { inputNodeFeatures: { x: split.ownFeatures } });
      const seeds = comm.rank === 0 ? seedsOf(split, 12) : new Int32Array(0);
      const blocks = sampler.sample(graph, seeds);
      assert.equal(blocks.length, 2);
      if (comm.rank > 0) assert.deepEqual(blocks[0].srcdata.x.shape, [0, width]);
      comm.barrier();
      graph.close();
    },
  },
  {
    name: 'features that partitions came with, as tables',
    async run(comm) {
      const split = splitGraph(comm);
      const graph = distGraph(comm, split);
      const tables = distFeatures(graph, { names: ['features', 'labels'], cacheRows: 10 });
      assert.deepEqual(Object.keys(tables), ['features', 'labels']);
      const ids = Int32Array.from({ length: 240 }, (_, i) => 239 - i);
      const rows = await tables.labels.store.gather(ids);
      assert.deepEqual(
        [...rows],
        Array.from(ids, (id) => split.labels[id]),
      );
      const sampler = new DistNeighborSampler([2], { inputNodeFeatures: { f: tables.features } });
      const [block] = sampler.sample(graph, seedsOf(split, 5));
      const want = Array.from(block.srcIds ?? [], (v) => split.features.dataSync<Float32Array>()[v * width]);
      assert.deepEqual(
        array(block.srcdata.f).filter((_, i) => i % width === 0),
        want,
      );
      comm.barrier();
      graph.close();
    },
  },
  {
    name: 'graphs of several types: types of edges, and fields that only some types have',
    run(comm) {
      const hetero = HeteroGraph.fromEdges(
        { user: 30, item: 20 },
        {
          'user,buys,item': [
            Int32Array.from({ length: 90 }, (_, i) => (i * 7) % 30),
            Int32Array.from({ length: 90 }, (_, i) => (i * 3) % 20),
          ],
          'item,of,user': [
            Int32Array.from({ length: 60 }, (_, i) => i % 20),
            Int32Array.from({ length: 60 }, (_, i) => (i * 11) % 30),
          ],
        },
      );
      hetero.relation('buys').edata.price = fromTypedArray(
        Float32Array.from({ length: 90 }, (_, i) => 1 + i),
      );
      hetero.nodes('item').x = fromTypedArray(Float32Array.from({ length: 20 }, (_, i) => 1 + i));
      const cut = partitionData(
        hetero,
        Int32Array.from({ length: 50 }, (_, i) => i % comm.size),
        { parts: comm.size },
      );
      const graph = Sampled.fromPartitionData(cut.forWorker(comm.rank), { comm });
      const { x } = distFeatures(graph);
      const sampler = new DistNeighborSampler([-1, -1], { inputNodeFeatures: { x } });
      const { start, end } = graph.nodeRange;
      const blocks = sampler.sample(
        graph,
        Int32Array.from({ length: end - start }, (_, i) => start + i),
      );
      const { types } = cut.book.toTypeIds(blocks[0].srcIds as Int32Array);
      assert.deepEqual(
        array(blocks[0].srcdata.x).map((value) => value > 0),
        Array.from(types, (t) => cut.book.nodeTypeNames[t] === 'item'),
      );
      for (const block of blocks) {
        const edges = cut.book.toEdgeTypeIds(block.parentEdgeIds as Int32Array).types;
        assert.deepEqual(array(block.edata._TYPE), [...edges]);
        const buys = cut.book.edgeType('user:buys:item');
        assert.deepEqual(
          array(block.edata.price),
          Array.from(block.parentEdgeIds ?? [], (e, i) =>
            edges[i] === buys ? 1 + cut.originalEdgeIds[e] : 0,
          ),
        );
      }
      const converted = convertDistHeteroGraph(graph);
      assert.deepEqual([...converted.nodeTypes], [...cut.book.nodeTypeNames]);
      assert.deepEqual(
        converted.edgeTypes.map((type) => type.join(':')),
        [...cut.book.edgeTypeNames],
      );
      assert.deepEqual([converted.numNodesGlobal(), converted.numEdgesGlobal()], [50, 150]);
      assert.deepEqual(sumOver(comm, converted.numEdges()), graph.numEdges);
      assert.throws(() => convertDistGraph(graph), /constructHeteroGraph/);
      comm.barrier();
      graph.close();
    },
  },
  {
    name: 'convertDistGraph: as many shards as workers, all nodes and edges, weights as they were',
    run(comm) {
      const split = splitGraph(comm);
      const graph = distGraph(comm, split);
      const converted = convertDistGraph(graph);
      assert.equal(converted.shards.length, comm.size);
      assert.equal(sumOver(comm, converted.numDstNodes), graph.numNodes);
      assert.equal(sumOver(comm, converted.numEdges), graph.numEdges);
      assert.deepEqual(converted.inDegrees(), split.whole.inDegrees().slice(split.first, split.end));
      const { dst } = split.whole.normDegrees(true);
      assert.deepEqual(converted.normDegrees(true).dst, dst.slice(split.first, split.end));
      assert.throws(() => convertDistGraph(split.whole as unknown as DistGraph), /expected a DistGraph/);
      assert.throws(
        () => new DistNeighborSampler([2]).sample(split.whole as unknown as DistGraph, [0]),
        /a DistGraph or the graph of constructFullGraph/,
      );
      comm.barrier();
      graph.close();
    },
  },
  {
    name: 'rejects seeds of others, unknown fields, and the data of another worker',
    run(comm) {
      const split = splitGraph(comm);
      const graph = distGraph(comm, split);
      const plain = new DistNeighborSampler([2]);
      assert.throws(() => plain.sample(graph, [240]), /seeds/);
      if (comm.size > 1)
        assert.throws(
          () => plain.sample(graph, [(split.end + 1) % 240]),
          /expected nodes of this worker \(\d+ … \d+\) for seeds/,
        );
      assert.throws(
        () => new DistNeighborSampler([]),
        /expected at least one hop for fanouts, got \[\]\. Give/,
      );
      for (const k of [1.5, Number.NaN, -2, 2 ** 31, '3' as unknown as number])
        assert.throws(
          () => new DistNeighborSampler([2, k]),
          /a whole number from -1 to \d+ for fanouts\[1\], got .*-1 takes all/,
        );
      const wrong = (options: DistNeighborSamplerOptions) =>
        new DistNeighborSampler([2], options).sample(graph, seedsOf(split, 1));
      assert.throws(() => wrong({ copyEdata: ['f'] }), /got "?f"?\. There are: chance, e/);
      assert.throws(() => wrong({ prob: 'e' }), /There are: chance, e, weight/);
      assert.throws(
        () => wrong({ inputNodeFeatures: { x: fromTypedArray(new Float32Array(3)) } }),
        /rows, one for each node held here/,
      );
      assert.throws(
        () => Sampled.fromPartitionData({ ...split.pd, rank: comm.rank + 1 }, { comm }),
        /expected the data of worker/,
      );
      comm.barrier();
      graph.close();
    },
  },
];

export const samplingCases: readonly CommCase[] = [...same, ...others];
