/** Operations through the tensor API, forward and backward, with the memory of each step recycled. */

import { crossEntropy } from 'skein/nn';
import { dropout, layerNorm, scope, type Tensor } from 'skein/tensor';
import { batchNorm, columnStats } from '#internal/tensor/ops/norm.js';
import { distribution, figures, floats, integers } from '../inputs.js';
import type { Case } from '../suite.js';

const floatBytes = 4;

const crossEntropyCase: Case = {
  name: 'cross_entropy_100000x47',
  peer: 'cross_entropy_100000x47',
  // Logits read and their gradient written, once each.
  bytes: 2 * floatBytes * 100_000 * 47,
  limit: 'copy',
  ours() {
    const logits = floats(1, [100_000, 47], 4).setRequiresGrad();
    const labels = integers(2, 100_000, 47);
    let value = Number.NaN;
    return {
      run() {
        logits.zeroGrad();
        scope(() => {
          const loss = crossEntropy(logits, labels);
          loss.backward();
          value = loss.item();
        });
      },
      check: () => [...figures('loss', [value]), ...figures('gradient', gradient(logits))],
    };
  },
};

/** One mask per call; with ids, that of rows in another order. */
function dropoutCase(name: string, rowIds: Int32Array | null): Case {
  return {
    name,
    peer: 'dropout_100000x128',
    bytes: 2 * floatBytes * 100_000 * 128,
    limit: 'copy',
    tolerance: 2e-3,
    ours() {
      const x = floats(1, [100_000, 128]);
      const data = x.dataSync();
      for (let i = 0; i < data.length; i++) data[i] += 2;
      let y: Tensor | null = null;
      return {
        run() {
          y?.dispose();
          y = rowIds === null ? dropout(x, 0.5) : dropout(x, 0.5, { rowIds });
        },
        check: () => distribution('y', (y as Tensor).dataSync()),
      };
    },
  };
}

/** Normalisation with scale and shift, forward and backward. */
function normalisation(name: string, forward: (x: Tensor, gamma: Tensor, beta: Tensor) => Tensor): Case {
  return {
    name,
    peer: name,
    bytes: 5 * floatBytes * 100_000 * 256,
    limit: 'copy',
    ours() {
      const x = floats(1, [100_000, 256]).setRequiresGrad();
      const gamma = floats(2, [256]);
      const data = gamma.dataSync();
      for (let i = 0; i < data.length; i++) data[i] += 2;
      gamma.setRequiresGrad();
      const beta = floats(3, [256]).setRequiresGrad();
      const gy = floats(4, [100_000, 256]);
      let y: Tensor | null = null;
      return {
        run() {
          for (const leaf of [x, gamma, beta]) leaf.zeroGrad();
          y?.dispose();
          y = scope(() => {
            const out = forward(x, gamma, beta);
            out.backward(gy);
            return out;
          });
        },
        check: () => [
          ...figures('y', (y as Tensor).dataSync()),
          ...figures('gx', gradient(x)),
          ...figures('ggamma', gradient(gamma)),
          ...figures('gbeta', gradient(beta)),
        ],
      };
    },
  };
}

/** Returns the gradient of a leaf as plain numbers. */
export function gradient(leaf: Tensor): ArrayLike<number> {
  if (leaf.grad === null) throw new Error('bench: a leaf has no gradient');
  return leaf.grad.dataSync();
}

export const tensorCases: readonly Case[] = [
  crossEntropyCase,
  dropoutCase('dropout_100000x128', null),
  dropoutCase(
    'dropout_by_id_100000x128',
    Int32Array.from({ length: 100_000 }, (_, row) => (row * 7919) % 100_000),
  ),
  normalisation('layer_norm_100000x256', (x, gamma, beta) => layerNorm(x, gamma, beta)),
  normalisation('batch_norm_100000x256', (x, gamma, beta) => batchNorm(x, columnStats(x), gamma, beta)),
];
