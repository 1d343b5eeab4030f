/** Steps of knowledge graphs that are not matrix products: moduli of RotatE against shared negatives, and penalties of rows. */
import { SelfAdversarialLoss } from 'skein/gnn';
import { scope, type Tensor } from 'skein/tensor';
import { chunkedScores, pairScores } from '#internal/gnn/ops/index.js';
import { rowPenalty } from '#internal/gnn/ops/row-penalty.js';
import { figures, floats, integers } from '../inputs.js';
import type { Case } from '../suite.js';

const edges = 1024;
const chunks = 4;
const negatives = 256;
const rows = 4096;

/** One direction of a step of RotatE: scores, the self-adversarial loss, and the gradients of queries and rows. */
export const modulusStep = (dim: number): Case => ({
  name: `modulus_step_${dim}`,
  peer: null,
  // Of a complex number: 14 operations for its modulus, 19 for the gradient, of which most are fused multiply-adds.
  flops: (33 * edges * negatives * dim) / 2,
  limit: 'gemm',
  items: { count: edges, unit: 'edges' },
  ours() {
    const query = floats(1, [edges, dim], 0.05).setRequiresGrad();
    const target = floats(2, [edges, dim], 0.05).setRequiresGrad();
    const table = floats(3, [rows, dim], 0.05).setRequiresGrad();
    const ids = integers(4, chunks * negatives, rows);
    const loss = new SelfAdversarialLoss({ reduction: 'MEAN' });
    let value = Number.NaN;
    return {
      run() {
        scope(() => {
          for (const t of [query, target, table]) t.grad = null;
          const total = loss.forward(
            pairScores(query, target, 'modulus'),
            chunkedScores(query, table, ids, chunks, 'modulus'),
          );
          total.backward();
          value = total.item();
        });
      },
      check: () => [
        ...figures('loss', [value]),
        ...figures('queries', (query.grad as Tensor).dataSync()),
        ...figures('rows', (table.grad as Tensor).dataSync()),
      ],
    };
  },
});

/** The nuclear 3-norm of all rows of a table of FB15k-237's size, with its gradient. */
export const rowPenaltyStep = (dim: number): Case => ({
  name: `row_penalty_${dim}`,
  peer: null,
  bytes: 2 * 4 * 14_541 * dim,
  limit: 'copy',
  ours() {
    const table = floats(1, [14_541, dim], 0.5).setRequiresGrad();
    let value = Number.NaN;
    return {
      run() {
        scope(() => {
          table.grad = null;
          const total = rowPenalty(table, { ids: null, weights: 1e-3, power: 3, complex: true });
          total.backward();
          value = total.item();
        });
      },
      check: () => [...figures('penalty', [value]), ...figures('table', (table.grad as Tensor).dataSync())],
    };
  },
});
