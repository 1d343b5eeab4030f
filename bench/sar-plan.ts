/**
 * `npx tsx bench/sar-plan.ts [--workers 32,64,128]`: the memory of one worker of a large job, without the job: creates
 * a worker's share of a graph of ogbn-papers100M's size (111M nodes, 3.2G edges in both directions; random edges, which
 * is the worst edge cut), and plans a step of training on it. No data of the step is allocated.
 *
 * Options: --nodes, --edges, --models sage,gat,narrow (GAT with heads of 32), --scale (fraction of the graph: .1 keeps
 * shapes and takes a tenth of the memory).
 */
import { parseArgs } from 'node:util';
import {
  type CommArray,
  type Communicator,
  constructFullGraph,
  gatherGrads,
  PartitionBook,
  type PartitionData,
  planShardMemory,
  SelfCommunicator,
} from 'skein/dist';
import { GAT, GraphSAGE } from 'skein/gnn';
import type { MessageGraph } from 'skein/graph';
import { Adam, crossEntropy } from 'skein/nn';
import { scope, type Tensor, zeros } from 'skein/tensor';
import { Random } from 'skein/util';

const { values } = parseArgs({
  options: {
    workers: { type: 'string', default: '32,64,128' },
    models: { type: 'string', default: 'sage,gat,narrow' },
    nodes: { type: 'string', default: '111059956' },
    edges: { type: 'string', default: '3228124712' },
    scale: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
  },
});
const scale = Number(values.scale);
const [inputs, classes] = [128, 172];

/** A communicator for worker 0 of `size` alone: assumes that others request as many rows as are requested of them. */
function standIn(size: number, rows: number): Communicator {
  const self = new SelfCommunicator();
  const answer = (parts: readonly CommArray[]): CommArray[] =>
    parts.map((part) => {
      const step = rows / Math.max(1, part.length);
      return Int32Array.from({ length: part.length }, (_, i) => Math.min(rows - 1, Math.floor(i * step)));
    });
  return new Proxy(self, {
    get: (target, name) => {
      if (name === 'size') return size;
      if (name === 'allToAllv') return answer;
      return Reflect.get(target, name, target);
    },
  }) as unknown as Communicator;
}

/** Returns the edges of one worker: equally many from each of the others, with random ends. */
function partOf(workers: number, nodes: number, edges: number): PartitionData {
  const own = Math.floor(nodes / workers);
  const each = Math.floor(edges / workers / workers);
  const random = new Random(1);
  const ranges = Array.from({ length: workers }, (_, q) => ({ start: q * own, end: (q + 1) * own }));
  let id = 0;
  const draw = (start: number): Int32Array =>
    Int32Array.from({ length: each }, () => start + random.nextInt(own));
  const allShardEdges = ranges.map(({ start }) => ({
    src: draw(start),
    dst: draw(0),
    edgeIds: Int32Array.from({ length: each }, () => id++),
    edgeTypes: null,
    edgeFeatures: {},
  }));
  const book = new PartitionBook({
    nodeTypeNames: ['_N'],
    edgeTypeNames: ['_N:_E:_N'],
    nodeMap: [ranges],
    edgeMap: [ranges.map((_, q) => ({ start: q * each * workers, end: (q + 1) * each * workers }))],
  });
  return {
    rank: 0,
    nodeRanges: ranges,
    allShardEdges,
    nodeFeatures: {},
    nodeTypes: null,
    nodeTypeNames: book.nodeTypeNames,
    edgeTypeNames: book.edgeTypeNames,
    partitionBook: book,
  };
}

const makers: Readonly<Record<string, () => GraphSAGE | GAT>> = {
  sage: () => new GraphSAGE([inputs, 256, 256, classes], { norm: 'batch' }),
  gat: () => new GAT([inputs, 128, 128, classes], { heads: 4, outHeads: 4, norm: 'batch' }),
  // Width 128 in total.
  narrow: () => new GAT([inputs, 32, 32, classes], { heads: 4, outHeads: 4, norm: 'batch' }),
};

function step(model: GraphSAGE | GAT, graph: MessageGraph, x: Tensor, comm: Communicator): void {
  const optimizer = new Adam(model.parameters());
  const labels = new Int32Array(x.shape[0]);
  for (let i = 0; i < 2; i++)
    scope(() => {
      optimizer.zeroGrad();
      crossEntropy(model.forward(graph, x), labels, { reduction: 'sum' }).backward();
      gatherGrads(model, { comm });
      optimizer.step();
    });
}

for (const workers of values.workers.split(',').map(Number)) {
  const [nodes, edges] = [Number(values.nodes) * scale, Number(values.edges) * scale];
  const own = Math.floor(nodes / workers);
  const graph = constructFullGraph(partOf(workers, nodes, edges), { comm: standIn(workers, own) });
  const halo = graph.link.sizesExpectedFromOthers.reduce((sum, count) => sum + count, 0);
  for (const model of values.models.split(',')) {
    const { peakBytes } = planShardMemory(graph, (planned, comm) => {
      step(makers[model](), planned, zeros([own, inputs]), comm);
    });
    const gb = (bytes: number): number => bytes / scale / 1e9;
    const result = {
      model,
      workers,
      rows: own / scale,
      halo: halo / scale,
      planned_gb: gb(peakBytes),
    };
    if (values.json) console.log(JSON.stringify(result));
    else
      console.log(
        `${model.padEnd(5)} N ${String(workers).padStart(3)}  ${result.planned_gb.toFixed(1)} GB of tensors, ` +
          `${(result.halo / result.rows).toFixed(1)} rows fetched per own row`,
      );
  }
}
