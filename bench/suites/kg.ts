/**
 * Knowledge graphs: a step of training on edges (tables of the size of FB15k-237, both ends corrupted), and filtered
 * evaluation. `peers/kg.py` has the same cases in PyTorch; a size changed here must change there.
 *
 * The nodes of a batch are computed before both sides start, as in a loader; a step gathers their rows, scores, runs
 * backward and updates the tables of nodes and relations.
 */
import { ComplEx, DistMult, DotCompare, type EdgeDecoder, SoftmaxCrossEntropy } from 'skein/gnn';
import { Adagrad } from 'skein/nn';
import { fromTypedArray, gatherRows, scope, slice, type Tensor } from 'skein/tensor';
import { edgeInput } from '#internal/gnn/decoders/edge-input.js';
import { linkLoss } from '#internal/gnn/decoders/link-loss.js';
import { queryLoss } from '#internal/gnn/ops/query-loss.js';
import { RankCounter } from '#internal/gnn/rank-counter.js';
import { kernels } from '#internal/native/index.js';
import { figures, floats, integers } from '../inputs.js';
import type { Case, Suite } from '../suite.js';
import { modulusStep, rowPenaltyStep } from './kg-distances.js';
import { start } from './start.js';

const nodes = 14_541;
const relations = 237;
const width = 100;
const batchSize = 1000;
const chunks = 10;
const negativesPerChunk = 500;
const batches = 4;
const rate = 0.1;
const eps = 1e-10;
/** Initial sums of squares: with 0 the first step would amplify rounding errors to whole steps. */
const firstSum = 0.1;

interface Batch {
  readonly unique: Int32Array;
  readonly src: Int32Array;
  readonly dst: Int32Array;
  readonly relations: Int32Array;
  readonly srcNegatives: Int32Array;
  readonly dstNegatives: Int32Array;
}

function makeBatch(index: number): Batch {
  const negatives = chunks * negativesPerChunk;
  const lists = [batchSize, batchSize, negatives, negatives].map((n, i) =>
    integers(10 * index + i + 1, n, nodes),
  );
  const unique = Int32Array.from(new Set(lists.flatMap((list) => [...list]))).sort();
  const local = new Int32Array(nodes);
  for (const [i, id] of unique.entries()) local[id] = i;
  const [src, dst, srcNegatives, dstNegatives] = lists.map((list) => list.map((id) => local[id]));
  return {
    unique,
    src,
    dst,
    srcNegatives,
    dstNegatives,
    relations: integers(10 * index + 5, batchSize, relations),
  };
}

function step(decoder: EdgeDecoder, loss: SoftmaxCrossEntropy, rows: Tensor, batch: Batch): Tensor {
  return linkLoss(
    decoder,
    edgeInput(rows, batch, {
      relations: batch.relations,
      srcNegatives: batch.srcNegatives,
      dstNegatives: batch.dstNegatives,
      chunks,
    }),
    loss,
  );
}

function training(name: string, make: () => EdgeDecoder): Case {
  return {
    name,
    peer: name,
    // Scores and their two gradients, in both directions.
    flops: 2 * 3 * 2 * batchSize * negativesPerChunk * width,
    limit: 'gemm',
    tolerance: 1e-3,
    items: { count: batchSize, unit: 'edges' },
    ours() {
      const table = floats(1, [nodes, width], 0.5);
      const sums = fromTypedArray(new Float32Array(nodes * width).fill(firstSum), [nodes, width]);
      const decoder = make();
      start(decoder.relations, 2, 1);
      start(decoder.inverseRelations, 3, 1);
      const optimizer = new Adagrad(decoder.parameters(), { lr: rate, eps, initialAccumulator: firstSum });
      const loss = new SoftmaxCrossEntropy();
      const made = Array.from({ length: batches }, (_, i) => makeBatch(i + 1));
      let turn = 0;
      let value = Number.NaN;
      return {
        run() {
          const batch = made[turn++ % batches];
          scope(() => {
            optimizer.zeroGrad();
            const count = batch.unique.length;
            const rows = gatherRows(table, batch.unique).setRequiresGrad();
            const total = step(decoder, loss, rows, batch);
            total.backward();
            const gradient = (rows.grad as Tensor).floats;
            kernels().adagradStepRows({
              p: table.floats,
              ids: batch.unique,
              g: gradient,
              sum: sums.floats,
              n: count,
              width,
              lr: rate,
              eps,
              weightDecay: 0,
            });
            optimizer.step();
            value = total.item();
          });
        },
        check: () => [
          ...figures('loss', [value]),
          ...figures('table', table.dataSync()),
          ...figures('relations', (decoder.relations as Tensor).dataSync()),
        ],
      };
    },
  };
}

/** A batch of queries against all nodes: loss, gradients of queries and table, dense step. */
function oneAgainstAll(dim: number): Case {
  const name = `one_vs_all_step_${dim}`;
  return {
    name,
    peer: name,
    // Scores, and the gradients of queries and of the table.
    flops: 3 * 2 * batchSize * nodes * dim,
    limit: 'gemm',
    tolerance: 1e-3,
    items: { count: batchSize, unit: 'queries' },
    ours() {
      const table = floats(1, [nodes, dim], 0.5).setRequiresGrad();
      const query = floats(2, [batchSize, dim], 0.5).setRequiresGrad();
      const offsets = Int32Array.from({ length: batchSize + 1 }, (_, i) => i);
      const weights = new Float32Array(batchSize).fill(1 / batchSize);
      const sigma = new Float32Array(batchSize);
      const made = Array.from({ length: batches }, (_, i) => integers(3 + i, batchSize, nodes));
      const optimizer = new Adagrad([table], { lr: rate, eps, initialAccumulator: firstSum });
      let turn = 0;
      let value = Number.NaN;
      return {
        run() {
          const ids = made[turn++ % batches];
          scope(() => {
            query.grad = null;
            optimizer.zeroGrad();
            const total = queryLoss(query, table, {
              kind: 'softmax',
              answers: { offsets, ids },
              omega: weights,
              tau: weights,
              sigma,
            });
            total.backward();
            optimizer.step();
            value = total.item();
          });
        },
        check: () => [
          ...figures('loss', [value]),
          ...figures('queries', (query.grad as Tensor).dataSync()),
          ...figures('table', table.dataSync()),
        ],
      };
    },
  };
}

/** Queries per direction; the rate does not depend on it. */
const queries = 2000;
const filtersPerQuery = 40;
const tileRows = 4096;

const evaluation = (name: string): Case => ({
  name,
  peer: name,
  flops: 2 * 2 * queries * nodes * width,
  limit: 'gemm',
  items: { count: 2 * queries, unit: 'ranks' },
  long: true,
  // A rank differs by one or two if a score and the positive's differ by rounding only.
  tolerance: 5e-3,
  ours() {
    const table = floats(1, [nodes, width]);
    const sides = [0, 1].map((side) => {
      const query = floats(20 + side, [queries, width]);
      const targetIds = integers(30 + side, queries, nodes);
      const offsets = Int32Array.from({ length: queries + 1 }, (_, q) => q * filtersPerQuery);
      const ids = integers(40 + side, queries * filtersPerQuery, nodes);
      for (let q = 0; q < queries; q++) ids.subarray(offsets[q], offsets[q + 1]).sort();
      return { query, targetIds, filter: { offsets, ids } };
    });
    const comparator = new DotCompare();
    let ranks: Float64Array[] = [];
    return {
      run() {
        ranks = sides.map(({ query, targetIds, filter }) =>
          scope(() => {
            const target = gatherRows(table, targetIds);
            const counter = new RankCounter(comparator, query, { target, targetIds, filter });
            for (let first = 0; first < nodes; first += tileRows)
              counter.add(slice(table, first, Math.min(nodes, first + tileRows)), first);
            const { greater, equal } = counter.counts();
            return Float64Array.from(greater, (higher, q) => 1 + higher + equal[q] / 2);
          }),
        );
      },
      check: () => ranks.flatMap((list, side) => figures(`ranks ${side}`, list)),
    };
  },
});

const options = { dim: width, numRelations: relations };

export const kgSuite: Suite = {
  name: 'kg',
  cases: [
    training('distmult_step', () => new DistMult(options)),
    training('complex_step', () => new ComplEx(options)),
    // Against PyTorch without autograd, with all gradients written explicitly.
    { ...training('distmult_step_by_hand', () => new DistMult(options)), sameAs: 'distmult_step' },
    { ...training('complex_step_by_hand', () => new ComplEx(options)), sameAs: 'complex_step' },
    ...[128, 256, 512].map(oneAgainstAll),
    modulusStep(400),
    rowPenaltyStep(512),
    evaluation('filtered_ranks'),
    // Against one subtraction, sign and sum over the scores in place: fewer passes than comparing and counting.
    { ...evaluation('filtered_ranks_by_signs'), sameAs: 'filtered_ranks' },
  ],
};
