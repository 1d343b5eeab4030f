/** Layers that narrow their input, with and without `cacheInputs`: what travels in each epoch, and that results are the same. */
import assert from 'node:assert/strict';
import type { Communicator, DistributedGraph } from 'skein/dist';
import { GCNConv, GraphConv, SAGEConv, SGConv } from 'skein/gnn';
import { backward, manualSeed, mul, randn, scope, sum, type Tensor } from 'skein/tensor';
import { difference } from './compare.js';

const layers: Readonly<Record<string, () => GCNConv | SAGEConv | GraphConv | SGConv>> = {
  'SAGE, mean': () => new SAGEConv(6, 4),
  'SAGE, gcn': () => new SAGEConv(6, 4, { aggregator: 'gcn' }),
  GCN: () => new GCNConv(6, 4),
  GraphConv: () => new GraphConv(6, 4),
  SG: () => new SGConv(6, 4),
};

interface Epochs {
  /** Sent by all workers in each epoch. */
  readonly bytes: number[];
  /** The result and the gradients of the parameters, of the last epoch. */
  readonly values: Float32Array[];
}

function run(
  comm: Communicator,
  graph: DistributedGraph,
  makeLayer: (typeof layers)[string],
  cached: boolean,
): Epochs {
  manualSeed(comm.rank);
  const x = randn([graph.numSrcNodes, 6]);
  if (cached) graph.cacheInputs(x);
  manualSeed(4);
  const layer = makeLayer();
  const bytes: number[] = [];
  let values: Float32Array[] = [];
  for (let epoch = 0; epoch < 3; epoch++) {
    const before = graph.traffic().bytesSent;
    scope(() => {
      const y = layer.forward(graph, x);
      backward(sum(mul(y, y)));
      const own = [y, ...layer.parameters().map((p) => p.grad as Tensor)];
      values = own.map((t) => t.dataSync<Float32Array>().slice());
      layer.zeroGrad();
    });
    const sent = Float64Array.of(graph.traffic().bytesSent - before);
    comm.allReduce(sent);
    bytes.push(sent[0]);
  }
  // Which worker multiplies by a gradient differs; their sum does not.
  for (const gradient of values.slice(1)) comm.allReduce(gradient);
  return { bytes, values };
}

/** Collective. */
export function checkCachedInputs(comm: Communicator, makeGraph: () => DistributedGraph): void {
  for (const [name, makeLayer] of Object.entries(layers)) {
    const kept = run(comm, makeGraph(), makeLayer, true);
    const fetched = run(comm, makeGraph(), makeLayer, false);
    assert.deepEqual(kept.bytes.slice(1), [0, 0], name);
    if (comm.size > 1) assert.ok(kept.bytes[0] > 0 && fetched.bytes[2] > 0, name);
    for (const [i, want] of fetched.values.entries())
      assert.ok(difference(kept.values[i], want) < 1e-5, `${name}, value ${i}`);
  }
}
