/**
 * Fused losses: softmax cross entropy with class ids, per row or in total, and binary cross entropy with logits, per
 * element. Losses per row or element store no probabilities; backward recomputes them from the logits. The total
 * computes its gradient in forward, which reads the logits anyway. `nn/losses` adds weights, masks and reductions.
 */
import { type FloatArray, kernels } from '../../native/index.js';
import { checkNumber, expected, ShapeError, ValueError } from '../../util/errors.js';
import type { TensorDevice } from '../device.js';
import { Tensor } from '../methods.js';
import { to } from '../move.js';
import { builtinOp } from '../op.js';
import { mul } from './binary.js';
import {
  checkIds,
  checkRank,
  checkSameFloat,
  checkShapeIs,
  lastingIds,
  materialize,
  pack,
  toInt32,
} from './common.js';
import { sum } from './reduce.js';
import type { Ids } from './rows.js';

const crossEntropyOp = builtinOp<{ readonly labels: Int32Array }>({
  name: 'crossEntropyRows',
  forward(ctx, [x], { labels }) {
    const [rows, cols] = x.shape;
    const loss = Tensor.allocate(x.dtype, [rows]);
    const lse = Tensor.allocate(x.dtype, [rows]);
    kernels().crossEntropy(pack(x), labels, loss.floats, lse.floats, rows, cols);
    ctx.save(x, lse);
    return loss;
  },
  backward({ saved: [x, lse] }, gy, { labels }) {
    const [rows, cols] = x.shape;
    const gx = Tensor.allocate(x.dtype, x.shape);
    kernels().crossEntropyBackward(pack(x), labels, lse.floats, pack(gy), gx.floats, rows, cols);
    return [gx];
  },
});

/** Returns −log softmax(logits)[label] of each row: logits [N, C], N class ids; label −1 gives 0 and no gradient. */
export function crossEntropyRows(logits: Tensor, labels: Ids): Tensor {
  const ids = checkLabels(logits, labels);
  return crossEntropyOp([logits], { labels: lastingIds(ids, logits) });
}

interface TotalAttributes {
  readonly labels: Int32Array;
  readonly weights: FloatArray | null;
  readonly factor: number;
}

const crossEntropyTotalOp = builtinOp<TotalAttributes>({
  name: 'crossEntropyTotal',
  forward(ctx, [x], { labels, weights, factor }) {
    const [rows, cols] = x.shape;
    const total = Tensor.allocate(x.dtype, []);
    const gx = ctx.recording ? Tensor.allocate(x.dtype, x.shape) : null;
    const gradient = gx === null ? null : gx.floats;
    total.floats[0] = kernels().crossEntropyTotal(pack(x), labels, weights, factor, gradient, rows, cols);
    if (gx !== null) ctx.save(gx);
    return total;
  },
  backward(ctx, gy) {
    const [upstream] = pack(gy);
    const saved = ctx.take(0);
    if (upstream === 1) return [saved];
    // A later pass reads the same values.
    const gx = saved.storage.isShared ? materialize(saved) : saved;
    if (gx !== saved) saved.dispose();
    kernels().scale(gx.floats, gx.size, upstream);
    return [gx];
  },
});

interface CrossEntropyTotalOptions {
  /** A weight per row, of the dtype of the logits; 1 by default. */
  readonly weights?: Tensor | undefined;
  /** The factor of the sum; 1 by default. */
  readonly factor?: number;
}

/** Returns factor · Σ weights[r] · −log softmax(logits[r])[label[r]], a scalar; a label of −1 ignores the row. */
export function crossEntropyTotal(
  logits: Tensor,
  labels: Ids,
  { weights, factor = 1 }: CrossEntropyTotalOptions = {},
): Tensor {
  const ids = checkLabels(logits, labels);
  if (weights !== undefined) {
    checkSameFloat('crossEntropy', { logits, weights });
    checkShapeIs('crossEntropy', 'weights', weights, [ids.length]);
  }
  checkNumber('crossEntropy', 'factor', factor);
  if (logits.device !== null) return totalOnDevice(logits, ids, weights, factor);
  // Backward does not read labels and weights, so the caller may change them after forward.
  return crossEntropyTotalOp([logits], {
    labels: ids,
    weights: weights === undefined ? null : pack(weights),
    factor,
  });
}

/** Computes the total on a device, in steps that read no number back to the host. */
function totalOnDevice(
  logits: Tensor,
  labels: Int32Array,
  weights: Tensor | undefined,
  factor: number,
): Tensor {
  const rows = crossEntropyOp([logits], { labels: lastingIds(labels, logits) });
  if (weights === undefined) return mul(sum(rows), factor);
  const here = weights.requiresGrad ? weights : to(weights, logits.device as TensorDevice);
  return mul(sum(mul(rows, here)), factor);
}

function checkLabels(logits: Tensor, labels: Ids): Int32Array {
  checkSameFloat('crossEntropy', { logits });
  checkRank('crossEntropy', 'logits', logits, 2);
  const [rows, cols] = logits.shape;
  const ids = checkIds('crossEntropy', 'labels', toInt32('crossEntropy', 'labels', labels), cols, -1);
  if (ids.length !== rows)
    throw new ShapeError(
      expected('crossEntropy', `${rows} labels (one per row of logits)`, 'labels', ids.length),
    );
  if (cols === 0) throw new ValueError(expected('crossEntropy', 'at least one class', 'logits', '0 columns'));
  return ids;
}

const bceOp = builtinOp({
  name: 'bceWithLogitsElements',
  forward(ctx, [x, target]) {
    const loss = Tensor.allocate(x.dtype, x.shape);
    kernels().bceWithLogits(pack(x), pack(target), loss.floats, loss.size);
    ctx.save(x, target);
    return loss;
  },
  backward(ctx, gy) {
    const [x, target] = ctx.saved;
    const g = pack(gy);
    let gx: Tensor | null = null;
    let gt: Tensor | null = null;
    if (ctx.needs(0)) {
      gx = Tensor.allocate(x.dtype, x.shape);
      kernels().bceWithLogitsBackward(pack(x), pack(target), g, gx.floats, gx.size);
    }
    if (ctx.needs(1)) {
      // d/dt = −x
      gt = Tensor.allocate(x.dtype, x.shape);
      kernels().binary(2, g, pack(x), gt.floats, gt.size, null);
      kernels().scale(gt.floats, gt.size, -1);
    }
    return [gx, gt];
  },
});

/** Returns −target·log σ(x) − (1 − target)·log(1 − σ(x)) for each element. */
export function bceWithLogitsElements(logits: Tensor, target: Tensor): Tensor {
  checkSameFloat('bceWithLogits', { logits, target });
  checkShapeIs('bceWithLogits', 'target', target, logits.shape);
  return bceOp([logits, target]);
}
