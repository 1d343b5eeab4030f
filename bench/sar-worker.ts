/**
 * One worker of bench/sar.ts: trains a model on a whole R-MAT graph that is partitioned over the workers, and reports
 * the cost. One JSON line from rank 0: the worst worker's peak of tensor bytes, the plan's prediction, seconds per
 * epoch, and bytes, messages and rounds per epoch.
 */

import { rmat } from 'skein/data';
import {
  type Communicator,
  constructFullGraph,
  gatherGrads,
  openCommunicator,
  partitionData,
  partitionGraph,
  planShardMemory,
  syncParams,
} from 'skein/dist';
import { GAT, GraphSAGE } from 'skein/gnn';
import type { MessageGraph } from 'skein/graph';
import { Adam, crossEntropy } from 'skein/nn';
import { manualSeed, poolStats, randn, resetPeak, scope } from 'skein/tensor';

export interface SarJob {
  readonly model: 'sage' | 'gat';
  readonly mode: 'sar' | 'sa' | 'one_shot';
  readonly nodes: number;
  readonly edges: number;
  readonly algorithm: 'metis' | 'random';
  readonly epochs: number;
  readonly depth: number;
  /**
   * Probability of R-MAT's upper left quadrant; with .25 all edges are equally likely, so partitions need nearly all
   * rows of each other.
   */
  readonly skew: number;
}

const job = JSON.parse(process.argv[2]) as SarJob;
const [inputs, classes] = [128, 40];
const comm = openCommunicator();
const rest = (1 - job.skew) / (job.skew > 0.25 ? 2.26 : 3);
const whole = rmat(job.nodes, { numEdges: job.edges, a: job.skew, b: rest, c: rest, shuffle: true, seed: 7 });
const balance = job.algorithm === 'metis' ? { edges: true } : {};
const cut = partitionGraph(whole, { parts: comm.size, algorithm: job.algorithm, balance, seed: 1 });
const data = partitionData(whole, cut).forWorker(comm.rank, comm.size);
const manager = constructFullGraph(data, {
  comm,
  mode: job.mode === 'sa' ? 'sa' : 'sar',
  pipelineDepth: job.depth,
});
const graph = job.mode === 'one_shot' ? manager.getFullPartitionGraph() : manager;

const rows = graph.numDstNodes;
manualSeed(1);
const x = randn([rows, inputs]);
const labels = Int32Array.from({ length: rows }, (_, i) => i % classes);
const make = () =>
  job.model === 'sage'
    ? new GraphSAGE([inputs, 256, 256, classes])
    : new GAT([inputs, 128, 128, classes], { heads: 4, outHeads: 1 });

const step = (model: GraphSAGE | GAT, optimizer: Adam, on: MessageGraph, group: Communicator): number =>
  scope(() => {
    optimizer.zeroGrad();
    const loss = crossEntropy(model.forward(on, x), labels, { reduction: 'sum' }).mul(1 / job.nodes);
    loss.backward();
    gatherGrads(model, { comm: group });
    optimizer.step();
    return loss.item();
  });

const planned = planShardMemory(graph, (on, group) => {
  const model = make();
  const optimizer = new Adam(model.parameters());
  // The second step includes the optimiser state.
  for (let i = 0; i < 2; i++) step(model, optimizer, on, group);
});
const base = poolStats().liveBytes;
const model = make();
syncParams(model, { comm });
const optimizer = new Adam(model.parameters(), { lr: 0.003 });
step(model, optimizer, graph, comm); // warms up kernels and pool
resetPeak();
const before = graph.traffic();
const seconds: number[] = [];
let loss = 0;
for (let epoch = 0; epoch < job.epochs; epoch++) {
  comm.barrier();
  const start = performance.now();
  loss = step(model, optimizer, graph, comm);
  comm.barrier();
  seconds.push((performance.now() - start) / 1000);
}
const after = graph.traffic();
const halo = graph.link.sizesExpectedFromOthers.reduce((sum, count) => sum + count, 0);
const mine = Float64Array.of(
  poolStats().peakBytes - base + x.size * 4,
  planned.peakBytes + x.size * 4,
  (after.bytesSent - before.bytesSent) / job.epochs,
  (after.rounds - before.rounds) / job.epochs,
  (after.messages - before.messages) / job.epochs,
  halo,
  rows,
  process.memoryUsage().rss,
);
const worst = mine.slice();
comm.allReduce(worst, 'max');
const total = Float64Array.of(mine[2], loss, halo);
comm.allReduce(total);
if (comm.rank === 0) {
  const [peak, plan, , rounds, messages, worstHalo, worstRows, rss] = worst;
  console.log(
    JSON.stringify({
      ...job,
      workers: comm.size,
      peak_mb: peak / 2 ** 20,
      planned_mb: plan / 2 ** 20,
      seconds: Math.min(...seconds),
      bytes_sent_mb: total[0] / 2 ** 20,
      rounds,
      messages,
      halo: total[2],
      worst_halo: worstHalo,
      worst_rows: worstRows,
      rss_mb: rss / 2 ** 20,
      loss: total[1],
    }),
  );
}
comm.close();
