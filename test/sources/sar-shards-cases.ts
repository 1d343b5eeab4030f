/**
 * The promises of SAR's page "Distributed Graph Representation" as cases that all workers run together (see the test). The name of
 * a case is the document's sentence, shortened.
 */
import assert from 'node:assert/strict';
import {
  type Communicator,
  constructFullGraph,
  constructMfgs,
  DistributedBlock,
  type DistributedGraph,
  GraphShard,
  GraphShardManager,
  setCommunicator,
  suffixKeyLookup,
} from 'skein/dist';
import { fn, Graph, type MessageGraph, messageHasParameters } from 'skein/graph';
import { Linear } from 'skein/nn';
import {
  backward,
  fromTypedArray,
  manualSeed,
  mul,
  ones,
  poolStats,
  resetPeak,
  scope,
  sum,
  type Tensor,
} from 'skein/tensor';
import { Random } from 'skein/util';
import type { CommCase } from '../dist/communicator-contract.js';
import { partsOf } from '../dist/shards/graphs.js';
import { partitionGraph } from '../dist/shards/partitioned.js';
import { assertRows, type Loaded, load, range, width } from './sar-data.js';

type Work = (comm: Communicator, loaded: Loaded, graph: GraphShardManager) => void;

const promise = (name: string, work: Work): CommCase => ({
  name,
  async run(comm) {
    setCommunicator(comm);
    const loaded = await load(comm);
    scope(() => work(comm, loaded, constructFullGraph(loaded.partitionData)));
  },
});

const featuresOf = ({ partitionData }: Loaded): Tensor =>
  suffixKeyLookup(partitionData.nodeFeatures, 'features');

function total(comm: Communicator, value: number): number {
  const all = Float64Array.of(value);
  comm.allReduce(all);
  return all[0];
}

/** Rows that this worker uses and does not own. */
const remoteRows = ({ link }: DistributedGraph): number =>
  link.sizesExpectedFromOthers.reduce((a, b) => a + b, 0);

/** Rounds and bytes of one call. */
function trafficOf(graph: DistributedGraph, call: () => void): { rounds: number; bytes: number } {
  const before = graph.traffic();
  call();
  const after = graph.traffic();
  return { rounds: after.rounds - before.rounds, bytes: after.bytesReceived - before.bytesReceived };
}

/** h → y by `reduce`, scores of edges from h and y, z the weighted sum. */
const attend = (g: MessageGraph, x: Tensor, reduce: 'sum' | 'mean' | 'max' | 'min'): Tensor =>
  g.localScope(() => {
    g.srcdata.h = x;
    g.updateAll(fn.copyU('h', 'm'), fn[reduce]('m', 'y'));
    g.applyEdges(fn.uDotV('h', 'y', 's'));
    g.updateAll(fn.uMulE('h', 's', 'm'), fn.sum('m', 'z'));
    return g.dstdata.z;
  });

const reductions = ['max', 'min', 'sum', 'mean'] as const;

export const shardCases: readonly CommCase[] = [
  promise(
    'the full graph is N² shards; each has the edges from one partition to another, with their features',
    (comm, loaded, graph) => {
      const { partitionData, whole } = loaded;
      assert.equal(total(comm, graph.shards.length), comm.size ** 2);
      const owner = (id: number): number =>
        partitionData.nodeRanges.findIndex(({ start, end }) => id >= start && id < end);
      for (const [q, { src, dst, edgeFeatures }] of partitionData.allShardEdges.entries()) {
        assert.ok(src.every((id) => owner(id) === q) && dst.every((id) => owner(id) === comm.rank));
        const [weights] = Object.values(edgeFeatures);
        assert.equal(weights.shape[0], src.length);
        assert.equal(graph.shards[q].numEdges, src.length);
      }
      assert.equal(total(comm, graph.numEdges), whole.numEdges);
      // Features of edges are the graph's edata, by edge id: an aggregation with them is that of one machine.
      const run = (g: MessageGraph, x: Tensor): Tensor => g.aggregate(x, { weight: g.edata.weight });
      assertRows(
        run(graph, featuresOf(loaded)),
        run(whole, loaded.allFeatures),
        range(loaded.first, loaded.end),
      );
    },
  ),
  promise(
    'GraphShard is a single shard; each worker stores the N shards of the incoming edges of its nodes',
    (comm, { whole, first, end }, graph) => {
      assert.ok(graph instanceof GraphShardManager);
      assert.deepEqual(
        graph.shards.map(({ owner }) => owner),
        [...Array(comm.size).keys()],
      );
      let incoming = 0;
      for (const degree of whole.inDegrees(range(first, end))) incoming += degree;
      assert.equal(
        graph.shards.reduce((sum, shard) => sum + shard.numEdges, 0),
        incoming,
      );
      for (const shard of graph.shards) {
        assert.ok(shard instanceof GraphShard);
        const { start, end: stop } = graph.tgtNodeRange;
        assert.ok(shard.uniqueTgtNodes.every((id) => id >= start && id < stop));
        if (shard.owner !== comm.rank)
          assert.ok(shard.uniqueSrcNodes.every((id) => id < start || id >= stop));
      }
    },
  ),
  promise('update_all and apply_edges create and exchange messages as on one machine', (_, loaded, graph) => {
    for (const reduce of reductions) {
      const got = attend(graph, featuresOf(loaded), reduce);
      assertRows(got, attend(loaded.whole, loaded.allFeatures, reduce), range(loaded.first, loaded.end));
    }
  }),
  promise(
    'update_all iterates through the shards sequentially, one partition per round',
    (comm, loaded, graph) => {
      const { rounds, bytes } = trafficOf(graph, () => graph.aggregate(featuresOf(loaded)));
      assert.equal(rounds, comm.size - 1);
      assert.equal(bytes, 4 * width * remoteRows(graph));
    },
  ),
  promise(
    'get_full_partition_graph combines the shards into one DistributedBlock of all incoming edges',
    (_, loaded, graph) => {
      const { numEdges } = graph;
      const block = graph.getFullPartitionGraph();
      assert.ok(block instanceof DistributedBlock);
      assert.equal(block.numEdges, numEdges);
      assert.deepEqual([...block.inDegrees()], [...loaded.whole.inDegrees(range(loaded.first, loaded.end))]);
      for (const reduce of reductions) {
        const got = attend(block, featuresOf(loaded), reduce);
        assertRows(got, attend(loaded.whole, loaded.allFeatures, reduce), range(loaded.first, loaded.end));
      }
    },
  ),
  promise('DistributedBlock fetches all remote features in one step', (comm, loaded, graph) => {
    const block = graph.getFullPartitionGraph();
    const { rounds, bytes } = trafficOf(block, () => block.aggregate(featuresOf(loaded)));
    assert.equal(rounds, comm.size === 1 ? 0 : 1);
    assert.equal(bytes, 4 * width * remoteRows(block));
  }),
  promise(
    'message_has_parameters: gradients reach the parameters of a message function',
    (comm, loaded, graph) => {
      manualSeed(5);
      const lin = new Linear(width, 4);
      const message = messageHasParameters(
        ({ src, dst }) => ({ m: lin.forward(src.h.mul(dst.h)) }),
        () => lin.parameters(),
      );
      const gradients = (g: MessageGraph, x: Tensor): Tensor[] => {
        for (const p of lin.parameters()) p.zeroGrad();
        g.ndata.h = x;
        g.updateAll(message, fn.mean('m', 'y'));
        backward(sum(g.dstdata.y.mul(g.dstdata.y)));
        return lin
          .parameters()
          .map((p) => fromTypedArray((p.grad as Tensor).dataSync<Float32Array>().slice(), p.shape));
      };
      const wanted = gradients(loaded.whole, loaded.allFeatures);
      for (const [i, gradient] of gradients(graph, featuresOf(loaded)).entries()) {
        comm.allReduce(gradient.dataSync<Float32Array>());
        assert.ok(gradient.dataSync().some((value) => value !== 0));
        assertRows(gradient, wanted[i], range(0, wanted[i].shape[0]));
      }
    },
  ),
  promise('the backward pass is that of one machine', (comm, loaded, graph) => {
    const gradient = (g: MessageGraph, rows: Tensor): Tensor => {
      const x = fromTypedArray(rows.dataSync<Float32Array>().slice(), rows.shape).setRequiresGrad();
      const y = attend(g, x, 'mean');
      backward(sum(mul(y, y)));
      return x.grad as Tensor;
    };
    const wanted = gradient(loaded.whole, loaded.allFeatures);
    assertRows(gradient(graph, featuresOf(loaded)), wanted, range(loaded.first, loaded.end));
    comm.barrier();
  }),
  promise('it does not implement successors and predecessors', (_, __, graph) => {
    for (const name of ['successors', 'predecessors']) assert.ok(!(name in graph));
    for (const name of ['updateAll', 'applyEdges', 'localScope']) assert.ok(name in graph);
  }),
  promise('local_scope: fields that are set inside are gone after it', (_, loaded, graph) => {
    graph.srcdata.kept = featuresOf(loaded);
    graph.localScope(() => {
      graph.srcdata.h = featuresOf(loaded);
      graph.edata.w = ones([graph.numEdges]);
    });
    const failing = (): void =>
      graph.localScope(() => {
        graph.dstdata.h = ones([graph.numDstNodes, 1]);
        throw new Error('inside');
      });
    assert.throws(failing, /inside/);
    assert.ok('kept' in graph.srcdata && !('h' in graph.srcdata) && !('h' in graph.dstdata));
    assert.ok(!('w' in graph.edata));
  }),
  promise('fields are set through srcdata, dstdata and edata', (_, loaded, graph) => {
    graph.srcdata.a = featuresOf(loaded);
    graph.dstdata.b = ones([graph.numDstNodes, width]);
    graph.edata.c = ones([graph.numEdges]);
    graph.applyEdges(fn.uDotV('a', 'b', 'd'));
    graph.updateAll(fn.uMulE('a', 'c', 'm'), fn.sum('m', 'e'));
    assert.deepEqual(graph.edata.d.shape.slice(0, 1), [graph.numEdges]);
    assertRows(graph.dstdata.e, loaded.whole.aggregate(loaded.allFeatures), range(loaded.first, loaded.end));
  }),
  promise('ndata is an alias of srcdata, and is not accessible with MFGs', (comm, loaded, graph) => {
    assert.equal(graph.ndata, graph.srcdata);
    const { first, end, partitionData } = loaded;
    const [mfg] = constructMfgs(partitionData, range(first, Math.min(end, first + 3)), 1);
    assert.throws(() => mfg.ndata, /srcdata and dstdata/);
    comm.barrier();
  }),
  promise(
    'in_degrees and out_degrees, and the numbers of nodes and edges',
    (comm, { whole, first, end }, graph) => {
      const own = range(first, end);
      assert.deepEqual([...graph.inDegrees()], [...whole.inDegrees(own)]);
      assert.deepEqual([...graph.outDegrees()], [...whole.outDegrees(own)]);
      assert.deepEqual([...graph.inDegrees([1, 0])], [...whole.inDegrees([first + 1, first])]);
      assert.equal(graph.numNodes, end - first);
      assert.equal(total(comm, graph.numNodes), whole.numNodes);
      assert.equal(total(comm, graph.numEdges), whole.numEdges);
    },
  ),
  promise('update_all supports max, min, sum and mean only', (_, loaded, graph) => {
    graph.ndata.h = featuresOf(loaded);
    const product = { op: 'prod' as 'sum', message: 'm', out: 'y' };
    assert.throws(() => graph.updateAll(fn.copyU('h', 'm'), product), /fn.sum, fn.mean, fn.max or fn.min/);
    for (const reduce of reductions) {
      graph.updateAll(fn.copyU('h', 'm'), fn[reduce]('m', 'y'));
      const wanted = loaded.whole.aggregate(loaded.allFeatures, { reduce });
      assertRows(graph.dstdata.y, wanted, range(loaded.first, loaded.end));
    }
  }),
  {
    name: 'sequential reduction bounds the memory: a few chunks of rows, however many rows workers share',
    run(comm) {
      setCommunicator(comm);
      scope(() => boundedMemory(comm));
    },
  },
];

function boundedMemory({ rank, size }: Communicator): void {
  // Every node has edges from many others, so that nearly all rows of all workers are needed.
  const n = 240;
  const draw = new Random(1);
  const ids = (): Int32Array => Int32Array.from({ length: 60 * n }, () => draw.nextInt(n));
  const dense = Graph.fromEdges(ids(), ids(), { numNodes: n });
  const own = partitionGraph(dense, partsOf('ranges', n, size), size, rank).pd;
  const windowRows = 8;
  const graph = constructFullGraph(own, { windowRows, pipelineDepth: 1 });
  const columns = 256;
  const x = ones([graph.numSrcNodes, columns]).setRequiresGrad();
  backward(sum(graph.aggregate(x)));
  x.zeroGrad();
  const peakOf = (work: () => unknown): number => {
    const before = poolStats().liveBytes;
    resetPeak();
    work();
    return poolStats().peakBytes - before;
  };
  const bytesOf = (count: number): number => count * columns * 4;
  if (size > 2) assert.ok(remoteRows(graph) > 15 * windowRows);
  // The result; two chunks arrive, one leaves.
  const forward = peakOf(() => scope(() => graph.aggregate(x)));
  assert.ok(forward <= 1.15 * bytesOf(graph.numDstNodes + 3 * windowRows) + 4096, `forward ${forward}`);
  const both = peakOf(() =>
    scope(() => {
      backward(sum(graph.aggregate(x)));
      x.zeroGrad();
    }),
  );
  // The result, its gradient and that of x; two chunks of gradients leave, one or two arrive.
  assert.ok(both <= 1.15 * bytesOf(3 * graph.numDstNodes + 4 * windowRows) + 4096, `backward ${both}`);
}
