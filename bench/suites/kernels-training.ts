/**
 * Steps of training: optimisers, a small network whose cost is mostly overhead, a recurrent cell, an embedding table.
 */
import { Adagrad, Adam, crossEntropy, GRUCell, MLP } from 'skein/nn';
import { gatherRows, scope, type Tensor } from 'skein/tensor';
import { kernels } from '#internal/native/index.js';
import { figures, floats, integers } from '../inputs.js';
import type { Case } from '../suite.js';
import { gradient } from './kernels-tensor.js';
import { start } from './start.js';

const floatBytes = 4;

const adam: Case = {
  name: 'adam_10m',
  peer: 'adam_10m',
  // Parameter and both moments read and written, the gradient read.
  bytes: 7 * floatBytes * 10_000_000,
  limit: 'copy',
  ours() {
    const p = floats(1, [10_000_000]).setRequiresGrad();
    p.grad = floats(2, [10_000_000]);
    const optimizer = new Adam([p], { lr: 1e-3 });
    return { run: () => optimizer.step(), check: () => figures('p', p.dataSync()) };
  },
};

const mlpStep: Case = {
  name: 'mlp_step_1024x256',
  peer: 'mlp_step_1024x256',
  // Three layers forward, three weight gradients, two input gradients.
  flops: 8 * 2 * 1024 * 256 * 256,
  limit: 'gemm',
  tolerance: 1e-3,
  ours() {
    const x = floats(1, [1024, 256]);
    const labels = integers(2, 1024, 256);
    const model = new MLP([256, 256, 256, 256]);
    for (const [i, layer] of model.linears.entries()) {
      start(layer.weight, 10 + i, 1 / 16);
      start(layer.bias, 20 + i, 1 / 16);
    }
    const optimizer = new Adam(model.parameters(), { lr: 1e-3 });
    let value = Number.NaN;
    return {
      run() {
        optimizer.zeroGrad();
        scope(() => {
          const loss = crossEntropy(model.forward(x), labels);
          loss.backward();
          optimizer.step();
          value = loss.item();
        });
      },
      check: () => [
        ...figures('loss', [value]),
        ...figures('bias', (model.linears[2].bias as Tensor).dataSync()),
      ],
    };
  },
};

const gruCell: Case = {
  name: 'gru_cell_1000x100',
  peer: 'gru_cell_1000x100',
  flops: 3 * 2 * 2 * 1000 * 100 * 300,
  limit: 'gemm',
  ours() {
    const cell = new GRUCell(100, 100);
    const weights = [cell.weightIh, cell.weightHh, cell.biasIh, cell.biasHh];
    for (const [i, weight] of weights.entries()) start(weight, 10 + i, 0.1);
    const x = floats(1, [1000, 100]).setRequiresGrad();
    const h = floats(2, [1000, 100]).setRequiresGrad();
    const gy = floats(3, [1000, 100]);
    let y: Tensor | null = null;
    return {
      run() {
        for (const leaf of [...weights, x, h]) leaf?.zeroGrad();
        y?.dispose();
        y = scope(() => {
          const out = cell.forward(x, h);
          out.backward(gy);
          return out;
        });
      },
      check: () => [
        ...figures('y', (y as Tensor).dataSync()),
        ...figures('gx', gradient(x)),
        ...figures('gh', gradient(h)),
        ...figures('gw', gradient(cell.weightIh)),
        ...figures('gb', gradient(cell.biasHh as Tensor)),
      ],
    };
  },
};

const embedding: Case = {
  name: 'embedding_sparse_adagrad',
  peer: 'embedding_sparse_adagrad',
  // Rows out, their gradient in, table and state read and written: seven times the batch.
  bytes: 7 * floatBytes * 50_000 * 100,
  limit: 'rows',
  ours() {
    const table = floats(1, [1_000_000, 100]).setRequiresGrad();
    const ids = integers(2, 50_000, 1_000_000);
    const gy = floats(3, [50_000, 100]);
    const optimizer = new Adagrad([table], { lr: 0.1, eps: 1e-10 });
    return {
      run() {
        optimizer.zeroGrad();
        scope(() => {
          gatherRows(table, ids, { sparse: true }).backward(gy);
          optimizer.step();
        });
      },
      check: () => figures('table', table.dataSync()),
    };
  },
};

const rowAdagrad: Case = {
  name: 'row_adagrad_50k_100',
  peer: null,
  // The gradient read, rows read and written; one sum per row.
  bytes: 3 * floatBytes * 50_000 * 100,
  limit: 'rows',
  ours() {
    const [rows, width] = [1_000_000, 100];
    const table = floats(1, [rows, width]);
    const ids = Int32Array.from({ length: 50_000 }, (_, i) => (i * 7919) % rows);
    const g = floats(3, [ids.length, width]);
    const sum = new Float32Array(rows);
    const step = { ids, n: ids.length, width, lr: 0.1, eps: 1e-10, weightDecay: 0 };
    return {
      run: () => kernels().rowAdagradStepRows({ ...step, p: table.floats, g: g.floats, sum }),
      check: () => figures('table', table.dataSync()),
    };
  },
};

/** 100,000 events between 8,000 sources and 1,000 destinations, most of them repeats; then all candidates of 100 sources. */
const eventStatistics: Case = {
  name: 'event_statistics_100k_1000',
  peer: null,
  // The numbers of all candidates written.
  bytes: floatBytes * 100 * 1000 * 67,
  limit: 'rows',
  ours() {
    const [events, sources, numNodes, room, related] = [100_000, 8_000, 9_000, 65_536, 1_000_000];
    const src = integers(1, events, sources);
    const dst = src.map((node, i) => sources + ((node * 7 + (i % 9 === 0 ? i % 13 : 0)) % 1000));
    const out = new Float32Array(100 * 1000 * 67);
    const stream = {
      ...{ numNodes, pairRoom: room, slotCount: 2 * room, relatedRoom: related, width: 67, out },
      ...{ src, dst, times: Float64Array.from(src, (_, i) => i), numEvents: events, numQueries: 100 },
      clock: Float64Array.of(1, 1 / 30, 1 / 200, 1 / 1000, 1 / 5000, 1 / 30_000),
      querySrc: src.slice(0, 100),
      queryTimes: new Float64Array(100).fill(events),
      queryBefore: new Int32Array(100).fill(events),
      offsets: Int32Array.from({ length: 101 }, (_, q) => q * 1000),
      candidates: Int32Array.from({ length: 100_000 }, (_, i) => sources + (i % 1000)),
      shift: new Float32Array(67),
      scale: new Float32Array(67).fill(0.1),
    };
    return {
      run: () => {
        kernels().eventStatistics({
          ...stream,
          nodeInts: new Int32Array(52 * numNodes),
          nodeTimes: new Float64Array(2 * numNodes),
          nodeValues: new Float32Array(16 * numNodes),
          pairInts: new Int32Array(7 * room),
          pairTimes: new Float64Array(room),
          pairValues: new Float32Array(4 * room),
          pairSlots: new Int32Array(2 * room),
          relatedIds: new Int32Array(related),
          relatedCounts: new Float32Array(3 * related),
          totals: new Int32Array(3),
          slots: new Int32Array(2 * numNodes),
        });
      },
      check: () => figures('numbers', out),
    };
  },
};

/** 100 nodes at 200 times each over their latest 10 events, widths of TGN. */
const momentAttention: Case = {
  name: 'moment_attention_100_200',
  peer: null,
  // Scores, sums of cosines and of contributions, then the map of the sums.
  flops: 2 * 100 * 200 * (2 * 10 * 300 + 200 * 100),
  limit: 'gemm',
  ours() {
    const [nodes, moments, events] = [100, 200, 12];
    const eventRows = Int32Array.from({ length: nodes * events }, (_, p) => (p % events) * 20);
    const y = new Float32Array(nodes * moments * 100);
    const of = (seed: number, size: number): Float32Array => floats(seed, [size]).dataSync() as Float32Array;
    const args = {
      fixed: of(1, nodes * events * 2),
      mapped: of(2, nodes * events * 200),
      mappedRows: eventRows.map((_, p) => p),
      ...{ eventRows, eventTimes: Float64Array.from(eventRows, (row) => 17 * row) },
      offsets: Int32Array.from({ length: nodes + 1 }, (_, i) => i * events),
      ...{ query: of(3, nodes * 200), own: of(4, nodes * 100) },
      ...{ w: of(5, 100), b: of(6, 100), merge: of(7, 200 * 100) },
      cutoffs: Int32Array.from({ length: moments }, (_, i) => 180 + Math.floor(i / 4)),
      times: Float64Array.from({ length: moments }, (_, i) => 17 * (240 + i)),
      ...{ y, numNodes: nodes, numTimes: moments, fanout: 10, heads: 2, dimTime: 100, hidden: 100 },
      ...{ scale: 0.1, slope: 1 },
    };
    return { run: () => kernels().momentAttention(args), check: () => figures('rows', y) };
  },
};

export const trainingCases: readonly Case[] = [
  ...[adam, mlpStep, gruCell, embedding, rowAdagrad],
  eventStatistics,
  momentAttention,
];
