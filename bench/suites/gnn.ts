/**
 * Graph learning: aggregation alone, whole epochs on the full graph, sampling, and training on sampled blocks.
 * `peers/gnn.py` has the same cases in PyTorch; a size changed here must change there.
 */
import { GCNConv } from 'skein/gnn';
import { Adam, crossEntropy } from 'skein/nn';
import { dropout, gatherRows, relu, scope, type Tensor } from 'skein/tensor';
import { figures, floats, integers } from '../inputs.js';
import type { Case, Suite } from '../suite.js';
import { coraLike, coraSize, rmat } from './gnn-graphs.js';
import { samplingCases } from './gnn-sampling.js';
import { start, startSage } from './start.js';

const floatBytes = 4;
const idBytes = 4;

function coraEpoch(name: string, peer: string): Case {
  const { nodes, pairs, words, wordsPerNode, classes } = coraSize;
  const hidden = 16;
  return {
    name,
    peer,
    // Sparse input twice, both weight matrices with gradients and moments, edges four times, hidden rows.
    bytes:
      2 * nodes * wordsPerNode * 8 +
      8 * words * hidden * floatBytes +
      4 * 2 * pairs * (hidden + 1) * floatBytes,
    limit: 'copy',
    // Dropout masks differ, so the losses agree only roughly.
    tolerance: 0.05,
    ours() {
      const { graph, features, labels, train } = coraLike();
      const first = new GCNConv(words, hidden);
      const second = new GCNConv(hidden, classes);
      start(first.lin.weight, 10, 0.06);
      start(second.lin.weight, 11, 0.5);
      const optimizer = new Adam(
        [{ params: first.parameters(), weightDecay: 5e-4 }, { params: second.parameters() }],
        { lr: 0.01 },
      );
      const trainLabels = train.map((id) => labels[id]);
      let loss = Number.NaN;
      return {
        run() {
          loss = scope(() => {
            optimizer.zeroGrad();
            const h = relu(first.forward(graph, features.dropout(0.5)));
            const logits = second.forward(graph, dropout(h, 0.5));
            const value = crossEntropy(gatherRows(logits, train), trainLabels);
            value.backward();
            optimizer.step();
            return value.item();
          });
        },
        check: () => figures('loss', [loss]),
      };
    },
  };
}

const graphNodes = 200_000;
const graphEdges = 4_000_000;

const spmm: Case = {
  name: 'spmm_128_200k_4m',
  peer: 'spmm_128_200k_4m',
  bytes: graphEdges * (128 * floatBytes + idBytes) + graphNodes * 128 * floatBytes,
  limit: 'rows',
  ours() {
    const graph = rmat(graphNodes, graphEdges, 1);
    const x = floats(1, [graphNodes, 128]);
    let y: Tensor | null = null;
    return {
      run() {
        y?.dispose();
        y = graph.aggregate(x);
      },
      check: () => figures('y', (y as Tensor).dataSync()),
    };
  },
};

const sageSizes = [100, 256, 256, 47];

/** Products of one epoch: both maps of each layer forward, their weight gradients, input gradients except the first. */
const sageFlops = sageSizes.slice(1).reduce((sum, out, i) => {
  const passes = i === 0 ? 2 : 3;
  return sum + passes * 2 * 2 * graphNodes * sageSizes[i] * out;
}, 0);

const sageFull: Case = {
  name: 'sage_full_200k_4m',
  peer: 'sage_full_200k_4m',
  flops: sageFlops,
  limit: 'gemm',
  tolerance: 1e-3,
  long: true,
  ours() {
    const graph = rmat(graphNodes, graphEdges, 1);
    const x = floats(1, [graphNodes, sageSizes[0]]);
    const labels = integers(2, graphNodes, sageSizes[3]);
    const model = startSage(sageSizes);
    const optimizer = new Adam(model.parameters(), { lr: 1e-3 });
    let loss = Number.NaN;
    return {
      run() {
        loss = scope(() => {
          optimizer.zeroGrad();
          const value = crossEntropy(model.forward(graph, x), labels);
          value.backward();
          optimizer.step();
          return value.item();
        });
      },
      check: () => figures('loss', [loss]),
    };
  },
};

export const gnnSuite: Suite = {
  name: 'gnn',
  cases: [coraEpoch('cora_gcn_epoch', 'cora_gcn_epoch'), spmm, sageFull, ...samplingCases],
};
