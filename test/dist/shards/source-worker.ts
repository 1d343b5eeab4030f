/**
 * One rank of SAR's guide in our words: the programs of its pages on graph construction for full batches and on shards, each
 * compared with one machine; and the memory that shards promise. Prints one JSON line for each case.
 */
import assert from 'node:assert/strict';
import {
  constructFullGraph,
  constructMfgs,
  openCommunicator,
  type PartitionData,
  setCommunicator,
} from 'skein/dist';
import { SAGEConv } from 'skein/gnn';
import { fn, Graph, type MessageGraph, messageHasParameters } from 'skein/graph';
import { Linear, Module } from 'skein/nn';
import {
  backward,
  fromTypedArray,
  gatherRows,
  manualSeed,
  noGrad,
  ones,
  poolStats,
  resetPeak,
  scope,
  sum,
  type Tensor,
} from 'skein/tensor';
import { Random } from 'skein/util';
import { difference, pick } from './compare.js';
import { mixedGraph, partsOf } from './graphs.js';
import { partitionGraph } from './partitioned.js';

const comm = openCommunicator({ timeout: 60, peerTimeout: 20 });
setCommunicator(comm);
const { rank, size } = comm;
const say = (fields: object) => process.stdout.write(`${JSON.stringify({ rank, ...fields })}\n`);

const width = 10;
const whole = mixedGraph(80, 500);
const { pd, nodes } = partitionGraph(whole, partsOf('random', 80, size), size, rank);
const partitionData: PartitionData = pd;
const own = nodes._N;
const { start } = pd.nodeRanges[rank];
const noise = new Random(3);
const features = Float64Array.from({ length: 80 * width }, () => noise.nextFloat() - 0.5);
const localNodeFeatures = fromTypedArray(pick(features, own, width), [own.length, width]);
const allFeatures = fromTypedArray(features, [80, width]);
/** Labelled nodes: every fourth. */
const labelledRows = Int32Array.from([...own.keys()].filter((row) => own[row] % 4 === 0));
const labelled = labelledRows.map((row) => row + start);

class GNNModel extends Module {
  readonly convs: readonly SAGEConv[];

  constructor(layers: number) {
    super();
    manualSeed(8);
    this.convs = Array.from({ length: layers }, () => new SAGEConv(width, width, { dtype: 'f64' }));
  }

  forward(blocks: readonly MessageGraph[], x: Tensor): Tensor {
    let h = x;
    for (const [i, conv] of this.convs.entries()) h = conv.forward(blocks[i], h);
    return h;
  }
}

const K = 3;
const model = new GNNModel(K);
const result = noGrad(() => model.forward([whole, whole, whole], allFeatures)).dataSync<Float64Array>();
/** Rows of the result on one machine against those of own nodes. */
const same = (y: Tensor, rows: Int32Array): void =>
  assert.ok(difference(y.dataSync<Float64Array>(), pick(result, rows, width)) < 1e-10);
const seeds = labelledRows.map((row) => own[row]);
const inputsOf = (graph: { inputNodes: Int32Array }): Tensor =>
  gatherRows(
    localNodeFeatures,
    graph.inputNodes.map((id) => id - start),
  );

const cases: Readonly<Record<string, () => void>> = {
  'constructing the full graph for sequential aggregation and rematerialization'() {
    const shardManager = constructFullGraph(partitionData);
    same(model.forward([shardManager, shardManager, shardManager], localNodeFeatures), own);
  },
  'constructing message-flow graphs'() {
    const trainBlocks = constructMfgs(partitionData, labelled, K);
    same(model.forward(trainBlocks, inputsOf(trainBlocks[0])), seeds);
    assert.throws(
      () => trainBlocks[0].ndata,
      size === 1 && seeds.length === 80 ? /never/ : /srcdata and dstdata/,
    );
  },
  'one-shot aggregation on the full graph'() {
    const shardManager = constructFullGraph(partitionData);
    const oneShotGraph = shardManager.getFullPartitionGraph();
    same(model.forward([oneShotGraph, oneShotGraph, oneShotGraph], localNodeFeatures), own);
  },
  'one-shot aggregation on message-flow graphs'() {
    const trainBlocks = constructMfgs(partitionData, labelled, K);
    const oneShotBlocks = trainBlocks.map((block) => block.getFullPartitionGraph());
    same(model.forward(oneShotBlocks, inputsOf(oneShotBlocks[0])), seeds);
  },
  'updateAll, applyEdges and localScope by fields; ndata is srcdata'() {
    const graph = constructFullGraph(partitionData);
    assert.equal(graph.ndata, graph.srcdata);
    for (const reduce of ['sum', 'mean', 'max', 'min'] as const) {
      const run = (g: MessageGraph, x: Tensor): Tensor =>
        g.localScope(() => {
          g.ndata.h = x;
          g.updateAll(fn.copyU('h', 'm'), fn[reduce]('m', 'y'));
          g.applyEdges(fn.uDotV('h', 'y', 's'));
          g.updateAll(fn.uMulE('h', 's', 'm'), fn.sum('m', 'z'));
          return g.ndata.z;
        });
      const want = run(whole, allFeatures).dataSync<Float64Array>();
      const got = run(graph, localNodeFeatures).dataSync<Float64Array>();
      assert.ok(difference(got, pick(want, own, width)) < 1e-10);
    }
    assert.ok(!('h' in graph.ndata));
    const other = { op: 'prod' as 'sum', message: 'm', out: 'y' };
    assert.throws(() => graph.updateAll(fn.copyU('h', 'm'), other), /fn.sum, fn.mean, fn.max or fn.min/);
  },
  'messageHasParameters: messages with learnable parameters get their gradients'() {
    manualSeed(5);
    const lin = new Linear(width, 4, { dtype: 'f64' });
    const message = messageHasParameters(
      ({ src, dst }) => ({ m: lin.forward(src.h.mul(dst.h)) }),
      () => lin.parameters(),
    );
    const gradients = (g: MessageGraph, x: Tensor): Float64Array[] => {
      for (const p of lin.parameters()) p.zeroGrad();
      g.ndata.h = x;
      g.updateAll(message, fn.mean('m', 'y'));
      backward(sum(g.dstdata.y.mul(g.dstdata.y)));
      return lin.parameters().map((p) => (p.grad as Tensor).dataSync<Float64Array>().slice());
    };
    const want = gradients(whole, allFeatures);
    for (const [i, g] of gradients(constructFullGraph(partitionData), localNodeFeatures).entries()) {
      comm.allReduce(g);
      assert.ok(difference(g, want[i]) < 1e-10);
    }
  },
  'memory in flight is a few pieces, however many rows workers share'() {
    // Every node has edges from many others, so that nearly all rows of all workers are needed.
    const n = 240;
    const draw = new Random(1);
    const ids = (): Int32Array => Int32Array.from({ length: 60 * n }, () => draw.nextInt(n));
    const dense = Graph.fromEdges(ids(), ids(), { numNodes: n });
    const part = partitionGraph(dense, partsOf('ranges', n, size), size, rank).pd;
    const windowRows = 8;
    const graph = constructFullGraph(part, { windowRows, pipelineDepth: 1 });
    const columns = 256;
    const x = ones([graph.numSrcNodes, columns]).setRequiresGrad();
    const y = graph.aggregate(x);
    backward(sum(y));
    x.zeroGrad();
    const peakOf = (work: () => unknown): number => {
      const before = poolStats().liveBytes;
      resetPeak();
      work();
      return poolStats().peakBytes - before;
    };
    const rowsOf = (count: number): number => count * columns * 4;
    const halo = graph.link.sizesExpectedFromOthers.reduce((a, b) => a + b, 0);
    if (size > 2) assert.ok(halo > 15 * windowRows);
    // The result; two pieces come, one goes.
    const forward = peakOf(() => scope(() => graph.aggregate(x)));
    assert.ok(forward <= 1.15 * rowsOf(graph.numDstNodes + 3 * windowRows) + 4096, `forward ${forward}`);
    const total = peakOf(() =>
      scope(() => {
        backward(sum(graph.aggregate(x)));
        x.zeroGrad();
      }),
    );
    // Result, its gradient and that of x; two pieces of gradients go, one or two come.
    assert.ok(total <= 1.15 * rowsOf(3 * graph.numDstNodes + 4 * windowRows) + 4096, `backward ${total}`);
  },
};

for (const [name, run] of Object.entries(cases)) {
  try {
    scope(run);
    say({ name, problem: '' });
  } catch (error) {
    say({ name, problem: (error as Error).message.slice(0, 500) });
    comm.abort(`${name}: ${(error as Error).stack}`);
  }
}
comm.close();
