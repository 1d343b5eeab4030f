/**
 * One rank of the tests of graphs on shards: counts, degrees, scopes, ids, errors, the same bits again, rounds and
 * bytes. Prints one JSON line per case, with the error or nothing.
 */
import assert from 'node:assert/strict';
import {
  constructFullGraph,
  constructHeteroGraph,
  constructHeteroMfgs,
  constructMfgs,
  type DistributedGraph,
  openCommunicator,
} from 'skein/dist';
import { GATConv, RGCNConv } from 'skein/gnn';
import { fn, HeteroGraph } from 'skein/graph';
import {
  backward,
  fromTypedArray,
  manualSeed,
  mul,
  noGrad,
  ones,
  rand,
  randn,
  scope,
  sum,
  type Tensor,
} from 'skein/tensor';
import { Random } from 'skein/util';
import { checkCachedInputs } from './cached-inputs.js';
import { difference } from './compare.js';
import { mixedGraph, partsOf } from './graphs.js';
import { partitionGraph, partitionHetero } from './partitioned.js';

const comm = openCommunicator({ timeout: 60, peerTimeout: 20 });
const { rank, size } = comm;
const say = (fields: object) => process.stdout.write(`${JSON.stringify({ rank, ...fields })}\n`);

const whole = mixedGraph(60, 400, true);
const { pd, nodes } = partitionGraph(whole, partsOf('random', 60, size), size, rank);
const own = nodes._N;
const total = (n: number): number => {
  const all = Float64Array.of(n);
  comm.allReduce(all);
  return all[0];
};

const counts = { author: 14, paper: 22, venue: 3 };
const draw = new Random(5);
const list = (n: number, a: number, b: number): [Int32Array, Int32Array] => [
  Int32Array.from({ length: n }, () => draw.nextInt(a)),
  Int32Array.from({ length: n }, () => draw.nextInt(b)),
];
const typed = HeteroGraph.fromEdges(counts, {
  'author,writes,paper': list(40, 14, 22),
  'paper,cites,paper': list(50, 22, 22),
  'venue,prints,paper': list(12, 3, 22),
});
const typedParts = Object.fromEntries(
  Object.entries(counts).map(([type, n]) => [type, Int32Array.from({ length: n }, () => draw.nextInt(size))]),
);
const hetero = partitionHetero(typed, typedParts, size, rank);

/** Result and gradients of one attention layer, as bytes. */
function attended(graph: DistributedGraph, dropout = 0): Float32Array[] {
  manualSeed(4);
  const conv = new GATConv(5, 3, { heads: 2, attentionDropout: dropout });
  manualSeed(rank);
  const x = randn([graph.numSrcNodes, 5]).setRequiresGrad();
  manualSeed(9);
  const y = conv.forward(graph, x);
  backward(sum(mul(y, y)));
  const tensors = [y, x.grad as Tensor, ...conv.parameters().map((p) => p.grad as Tensor)];
  return tensors.map((t) => t.dataSync<Float32Array>().slice());
}

const cases: Readonly<Record<string, () => void>> = {
  'counts of all workers add up to those of the graph'() {
    const graph = constructFullGraph(pd, { comm });
    assert.equal(total(graph.numNodes), whole.numNodes);
    assert.equal(total(graph.numEdges), whole.numEdges);
    assert.equal(graph.shards.length, size);
    assert.equal(
      graph.shards.reduce((n, shard) => n + shard.numEdges, 0),
      graph.numEdges,
    );
    const h = constructHeteroGraph(hetero.pd, { comm });
    for (const type of typed.nodeTypes) {
      assert.equal(total(h.numNodes(type)), typed.numNodes(type));
      assert.equal(h.numNodesGlobal(type), typed.numNodes(type));
    }
    for (const type of typed.edgeTypes) {
      assert.equal(total(h.numEdges(type)), typed.numEdges(type));
      assert.equal(h.numEdgesGlobal(type), typed.numEdges(type));
    }
    assert.deepEqual(h.canonicalEtypes, typed.edgeTypes);
  },
  'message-flow graphs: totals are the sums over types, and layers fit each other'() {
    const mine = Int32Array.from(hetero.pd.nodeTypes ?? []);
    const { start } = hetero.pd.nodeRanges[rank];
    const seeds = Int32Array.from([...mine.keys()].filter((i) => mine[i] === 1)).map((i) => i + start);
    const layers = constructHeteroMfgs(hetero.pd, seeds, 3, true, { comm });
    for (const [i, layer] of layers.entries()) {
      const types = layer.nodeTypes;
      assert.equal(
        layer.numSrcNodes(),
        types.reduce((n, type) => n + layer.numSrcNodes(type), 0),
      );
      assert.equal(
        layer.numDstNodes(),
        types.reduce((n, type) => n + layer.numDstNodes(type), 0),
      );
      assert.equal(
        layer.numEdges(),
        layer.edgeTypes.reduce((n, type) => n + layer.numEdges(type), 0),
      );
      for (const type of types)
        if (i > 0) assert.deepEqual(layer.inputNodes(type), layers[i - 1].seeds(type));
    }
    assert.deepEqual(layers[2].seeds('paper'), seeds);
    const plain = constructMfgs(pd, Int32Array.of(), 2, false, { comm });
    assert.equal(total(plain[0].numEdges), 0);
    assert.throws(() => plain[1].dstRows(ones([0, 1])), /not among the sources/);
  },
  'degrees are those of the whole graph'() {
    const graph = constructFullGraph(pd, { comm });
    assert.deepEqual(
      graph.inDegrees(),
      own.map((v) => whole.inDegrees()[v]),
    );
    assert.deepEqual(
      graph.outDegrees(),
      own.map((v) => whole.outDegrees()[v]),
    );
    const h = constructHeteroGraph(hetero.pd, { comm });
    for (const type of typed.edgeTypes) {
      const [src, , dst] = type;
      const want = typed.relation(type);
      assert.deepEqual(
        h.relation(type).inDegrees(),
        hetero.nodes[dst].map((v) => want.inDegrees()[v]),
      );
      assert.deepEqual(
        h.relation(type).outDegrees(),
        hetero.nodes[src].map((v) => want.outDegrees()[v]),
      );
    }
  },
  'fields set in a local scope are gone after it'() {
    const blocks = constructMfgs(
      pd,
      own.map((_, i) => i + pd.nodeRanges[rank].start),
      1,
      true,
      { comm },
    );
    for (const graph of [constructFullGraph(pd, { comm }), ...blocks]) {
      graph.srcdata.a = ones([graph.numSrcNodes, 2]);
      graph.localScope(() => {
        assert.equal(graph.srcdata.a.shape[1], 2);
        graph.srcdata.b = ones([graph.numSrcNodes, 1]);
        graph.dstdata.c = ones([graph.numDstNodes, 1]);
        graph.edata.d = ones([graph.numEdges, 1]);
      });
      assert.ok('a' in graph.srcdata);
      for (const name of ['b', 'c', 'd'])
        for (const frame of [graph.srcdata, graph.dstdata, graph.edata]) assert.ok(!(name in frame));
    }
    const h = constructHeteroGraph(hetero.pd, { comm });
    h.localScope(() => {
      h.relation('cites').srcdata.x = ones([h.numNodes('paper'), 1]);
      assert.ok('x' in h.nodes('paper') && 'x' in h.relation('writes').dstdata);
    });
    assert.ok(!('x' in h.nodes('paper')));
  },
  'wrong use throws errors that name it'() {
    const graph = constructFullGraph(pd, { comm });
    assert.equal(graph.to('cpu'), graph);
    assert.throws(() => graph.to('gpu'), /GraphShardManager: expected 'cpu' for device/);
    assert.throws(() => constructFullGraph(pd, { comm, mode: 'one' as 'sar' }), /expected 'sar' or 'sa'/);
    assert.throws(() => constructFullGraph(hetero.pd, { comm }), /Use constructHeteroGraph/);
    assert.throws(() => constructFullGraph(pd, { comm, edgeWeight: 'w' }), /there are: weight/);
    assert.throws(() => graph.aggregate(ones([graph.numSrcNodes + 1, 2])), /one per source/);
    const hidden = mul(ones([3]).setRequiresGrad(), 2);
    graph.srcdata.h = ones([graph.numSrcNodes, 3]);
    const message = ({ src }: { src: Record<string, Tensor> }) => ({ m: mul(src.h, hidden) });
    assert.throws(() => graph.updateAll(message, fn.sum('m', 'y')), /got another computed tensor/);
    assert.throws(() => graph.updateAll(({ src }) => ({ m: src.h }), fn.sum('n', 'y')), /a message "n"/);
    const block = graph.getFullPartitionGraph();
    assert.throws(() => graph.shards, /deleteShardData = false/);
    assert.match(String(block), /DistributedBlock\(\d+ nodes/);
  },
  'ranks that mean different graphs or options are refused on all of them'() {
    if (size === 1) return;
    const odd = rank === size - 1;
    const told = (what: string): RegExp =>
      new RegExp(`expected the same graph and options on all ranks, got .*${what}.* on rank ${size - 1}`);
    const shards = { windowRows: 4, compression: 'f16', maxCollectiveSize: 64, mode: 'sa' } as const;
    for (const [name, value] of Object.entries(shards)) {
      const options = odd ? { comm, [name]: value } : { comm };
      assert.throws(() => constructFullGraph(pd, options), told(`${name} .* on rank 0 and "?${value}"?`));
      assert.throws(() => constructMfgs(pd, Int32Array.of(), 2, true, options), told(name));
      assert.throws(() => constructHeteroGraph(hetero.pd, options), told(name));
    }
    const other = partitionGraph(mixedGraph(61, 390, true), partsOf('random', 61, size), size, rank).pd;
    assert.throws(() => constructFullGraph(odd ? other : pd, { comm }), told('node ranges'));
    const sameNodes = partitionGraph(mixedGraph(60, 390, true), partsOf('random', 60, size), size, rank).pd;
    assert.throws(() => constructFullGraph(odd ? sameNodes : pd, { comm }), told('edge ranges'));
    const renamed = { ...pd, nodeTypeNames: ['other'] };
    assert.throws(() => constructFullGraph(odd ? renamed : pd, { comm }), told('node types'));
    assert.throws(
      () => constructFullGraph({ ...pd, rank: 0 }, { comm }),
      told('data of "this rank" on rank 0'),
    );
    const fewer = { ...pd, nodeRanges: pd.nodeRanges.slice(1) };
    assert.throws(() => constructFullGraph(odd ? fewer : pd, { comm }), told('node ranges'));
    assert.throws(() => constructMfgs(pd, Int32Array.of(), odd ? 3 : 2, true, { comm }), told('nLayers 2'));
    const weighted = odd ? { comm, edgeWeight: 'weight' } : { comm };
    assert.throws(() => constructFullGraph(pd, weighted), told('edgeWeight none'));
    constructFullGraph(pd, { comm, pipelineDepth: odd ? 0 : 2 }).aggregate(ones([own.length, 2]));
  },
  'a message function sees which shard it runs on, and needs no declaration of parameters'() {
    const graph = constructFullGraph(pd, { comm });
    const w = ones([1]).setRequiresGrad();
    const seen = new Set<number>();
    graph.srcdata.h = ones([graph.numSrcNodes, 1]);
    graph.updateAll(
      ({ src, sarShardInfo }) => {
        if (sarShardInfo !== undefined) seen.add(sarShardInfo.shardIdx);
        return { m: mul(src.h, w) };
      },
      fn.sum('m', 'y'),
    );
    assert.ok(seen.has(rank));
    for (const { owner, numSrc } of graph.shards) if (numSrc > 0) assert.ok(seen.has(owner));
    backward(sum(graph.dstdata.y));
    assert.equal(total((w.grad as Tensor).item()), whole.numEdges);
  },
  'the same bits again, at any depth, and in both modes'() {
    const base = { comm, windowRows: 4 };
    const want = attended(constructFullGraph(pd, base));
    for (const pipelineDepth of [0, 1, 3])
      for (const mode of ['sar', 'sa'] as const)
        assert.deepEqual(attended(constructFullGraph(pd, { ...base, pipelineDepth, mode })), want);
  },
  'dropout of attention: backward drops what forward dropped'() {
    const graph = constructFullGraph(pd, { comm, windowRows: 7 });
    // Σ y² = Σ y · y: with z = 1 everywhere, y is the kept share, and its gradient with respect to a bias on z is 2 y · share.
    const z = ones([graph.numSrcNodes, 2, 3], { dtype: 'f64' }).setRequiresGrad();
    manualSeed(2);
    const score = rand([graph.numSrcNodes, 2], { dtype: 'f64' });
    const y = graph.attention(z, score, score, { dropout: 0.5 });
    backward(sum(y));
    const gradient = (z.grad as Tensor).dataSync<Float64Array>();
    const sums = (values: Float64Array): number => values.reduce((a, b) => a + b, 0);
    const [given, got] = [sums(y.dataSync<Float64Array>()), sums(gradient)];
    assert.ok(Math.abs(total(given) - total(got)) < 1e-9 * total(given));
  },
  'attention takes N rounds forward and 2 N backward, and sends each row once, then twice'() {
    const graph = constructFullGraph(pd, { comm });
    const halo = graph.link.sizesExpectedFromOthers.reduce((a, b) => a + b, 0);
    const z = ones([graph.numSrcNodes, 2, 3]).setRequiresGrad();
    const score = ones([graph.numSrcNodes, 2]).setRequiresGrad();
    const before = graph.traffic();
    const y = graph.attention(z, score, score);
    const between = graph.traffic();
    backward(sum(y));
    const after = graph.traffic();
    assert.ok(between.rounds - before.rounds <= size);
    assert.ok(after.rounds - between.rounds <= 2 * size);
    const row = 4 * (2 * 3 + 2);
    assert.equal(total(between.bytesSent - before.bytesSent), total(halo * row));
    assert.equal(total(after.bytesSent - between.bytesSent), total(2 * halo * row));
    assert.equal(between.bytesReceived - before.bytesReceived, halo * row);
  },
  'sums fetch nothing in backward'() {
    const graph = constructFullGraph(pd, { comm });
    const x = ones([graph.numSrcNodes, 4]).setRequiresGrad();
    const before = graph.traffic();
    backward(sum(graph.aggregate(x, { reduce: 'mean' })));
    const after = graph.traffic();
    const halo = graph.link.sizesExpectedFromOthers.reduce((a, b) => a + b, 0);
    assert.equal(total(after.bytesSent - before.bytesSent), total(2 * halo * 16));
  },
  'one-shot: a tensor that is used twice travels once, and again after it changed'() {
    const graph = constructFullGraph(pd, { comm }).getFullPartitionGraph();
    const x = ones([graph.numSrcNodes, 4]);
    const bytes = (work: () => void): number => {
      const before = graph.traffic().bytesSent;
      work();
      return total(graph.traffic().bytesSent - before);
    };
    const once = bytes(() => noGrad(() => graph.aggregate(x)));
    assert.equal(
      bytes(() => noGrad(() => graph.aggregate(x, { reduce: 'max' }))),
      0,
    );
    x.assign(ones([graph.numSrcNodes, 4]));
    assert.equal(
      bytes(() => noGrad(() => graph.aggregate(x))),
      once,
    );
  },
  'inputs that a narrowing layer takes travel once when they are cached, with the same results'() {
    checkCachedInputs(comm, () => constructFullGraph(pd, { comm, windowRows: 5 }));
    checkCachedInputs(comm, () => constructFullGraph(pd, { comm, mode: 'sa' }));
    checkCachedInputs(comm, () => constructFullGraph(pd, { comm }).getFullPartitionGraph());
  },
  'rows of cached inputs travel once, until the inputs change'() {
    for (const graph of [
      constructFullGraph(pd, { comm, windowRows: 5 }),
      constructFullGraph(pd, { comm, mode: 'sa' }),
      constructFullGraph(pd, { comm }).getFullPartitionGraph(),
    ]) {
      manualSeed(rank);
      const x = randn([graph.numSrcNodes, 4]);
      const w = ones([graph.numEdges]).setRequiresGrad();
      graph.cacheInputs(x);
      const epoch = (): [number, Float32Array[]] => {
        const before = graph.traffic().bytesSent;
        const y = scope(() => {
          const out = graph.withSelfLoops().aggregate(x, { reduce: 'max' });
          backward(sum(graph.aggregate(x, { weight: w })));
          const values = [out, graph.aggregate(x), w.grad as Tensor].map((t) =>
            t.dataSync<Float32Array>().slice(),
          );
          w.zeroGrad();
          return values;
        });
        return [total(graph.traffic().bytesSent - before), y];
      };
      const [first, want] = epoch();
      const halo = graph.link.sizesExpectedFromOthers.reduce((a, b) => a + b, 0);
      assert.equal(first, total(halo * 16) * (graph.withSelfLoops().link === graph.link ? 1 : 2));
      const [again, got] = epoch();
      assert.equal(again, 0);
      assert.deepEqual(got, want);
      x.assign(mul(x, 2));
      assert.ok(epoch()[0] > 0 || size === 1 || total(halo) === 0);
      graph.uncacheInputs(x);
    }
  },
  'compressed rows are near and smaller, and feedback keeps sums of gradients'() {
    for (const [compression, bytes, near] of [
      ['f16', 2, 1e-3],
      ['bf16', 2, 1e-2],
      ['int8', 1, 2e-2],
    ] as const) {
      const make = () => constructFullGraph(pd, { comm, compression, windowRows: 6 });
      const plain = constructFullGraph(pd, { comm });
      for (const graph of [make(), make().getFullPartitionGraph()]) {
        manualSeed(rank);
        const x = randn([graph.numSrcNodes, 8]).setRequiresGrad();
        const factors = randn([graph.numDstNodes, 8]);
        const gradient = (on: DistributedGraph): Float32Array => {
          x.zeroGrad();
          backward(sum(mul(on.aggregate(x), factors)));
          return (x.grad as Tensor).dataSync<Float32Array>().slice();
        };
        const before = graph.traffic().bytesSent;
        const y = noGrad(() => graph.aggregate(x)).dataSync<Float32Array>();
        const halo = graph.link.sizesExpectedFromOthers.reduce((a, b) => a + b, 0);
        const scales = compression === 'int8' ? 4 : 0;
        const sent = total(graph.traffic().bytesSent - before);
        assert.ok(
          sent >= total(halo * (8 * bytes + scales)) && sent <= total(halo * (8 * bytes + scales)) + 4 * 60,
        );
        assert.ok(difference(y, noGrad(() => plain.aggregate(x)).dataSync<Float32Array>()) < near);
        const want = gradient(plain);
        const steps = 40;
        const sums = new Float64Array(want.length);
        for (let step = 0; step < steps; step++) {
          graph.beginStep();
          const got = gradient(graph);
          assert.ok(difference(got, want) < 2 * near);
          for (let i = 0; i < got.length; i++) sums[i] += got[i];
        }
        const mean = Float32Array.from(sums, (value) => value / steps);
        assert.ok(difference(mean, want) <= (2 * near) / steps + 1e-6);
      }
    }
  },
  'R-GCN without features looks rows up by global id'() {
    const type = Int32Array.from({ length: whole.numEdges }, (_, e) => e % 3);
    const order = Int32Array.from(comm.allGather(own).flatMap((ids) => [...ids]));
    const { edges } = partitionGraph(whole, partsOf('random', 60, size), size, rank);
    for (const bases of [undefined, 2]) {
      const make = () => {
        manualSeed(6);
        return new RGCNConv(60, 3, { relations: 3, dtype: 'f64', ...(bases === undefined ? {} : { bases }) });
      };
      const one = make();
      const want = one.forward(whole, null, type).dataSync<Float64Array>();
      const many = make();
      // Row i of the tables is the node with global id i.
      for (const p of [many.weight, many.root as Tensor]) {
        const all = p.dataSync<Float64Array>().slice();
        const tables = all.length / (60 * 3);
        const moved = new Float64Array(all.length);
        for (let t = 0; t < tables; t++)
          for (const [id, v] of order.entries())
            moved.set(all.subarray((t * 60 + v) * 3, (t * 60 + v + 1) * 3), (t * 60 + id) * 3);
        noGrad(() => p.assign(fromTypedArray(moved, p.shape)));
      }
      const got = many.forward(
        constructFullGraph(pd, { comm }),
        null,
        edges._E.map((e) => type[e]),
      );
      const rows = Float64Array.from([...own].flatMap((v) => [...want.subarray(v * 3, v * 3 + 3)]));
      assert.ok(difference(got.dataSync<Float64Array>(), rows) < 1e-10);
    }
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
