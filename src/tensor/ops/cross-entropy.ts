/**
 * Fused losses per row or element: softmax cross entropy with class ids, and binary cross entropy with logits. No
 * probabilities are stored; backward recomputes them from the logits. `nn/losses.ts` adds the reductions.
 */
import { kernels } from '../../native/index.js';
import { expected, ShapeError, ValueError } from '../../util/errors.js';
import { builtinOp } from '../op.js';
import { Tensor } from '../tensor.js';
import { checkIds, checkRank, checkSameFloat, checkShapeIs, lastingIds, packed, toInt32 } from './common.js';

const crossEntropyOp = builtinOp<{ readonly labels: Int32Array }>({
  name: 'crossEntropyRows',
  forward(ctx, [x], { labels }) {
    const [rows, cols] = x.shape;
    const loss = Tensor.allocate(x.dtype, [rows]);
    const lse = Tensor.allocate(x.dtype, [rows]);
    kernels().crossEntropy(packed(x), labels, loss.floats, lse.floats, rows, cols);
    ctx.save(x, lse);
    return loss;
  },
  backward({ saved: [x, lse] }, gy, { labels }) {
    const [rows, cols] = x.shape;
    const gx = Tensor.allocate(x.dtype, x.shape);
    kernels().crossEntropyBackward(packed(x), labels, lse.floats, packed(gy), gx.floats, rows, cols);
    return [gx];
  },
});

/** −log softmax(logits)[label] for each row: logits [N, C], labels N class ids; a label of −1 gives 0 and no gradient. */
export function crossEntropyRows(logits: Tensor, labels: Tensor | Int32Array | readonly number[]): Tensor {
  checkSameFloat('crossEntropy', { logits });
  checkRank('crossEntropy', 'logits', logits, 2);
  const [rows, cols] = logits.shape;
  const ids = checkIds('crossEntropy', 'labels', toInt32('crossEntropy', 'labels', labels), cols, -1);
  if (ids.length !== rows)
    throw new ShapeError(
      expected('crossEntropy', `${rows} labels (one per row of logits)`, 'labels', ids.length),
    );
  if (cols === 0) throw new ValueError(expected('crossEntropy', 'at least one class', 'logits', '0 columns'));
  return crossEntropyOp([logits], { labels: lastingIds(ids, logits) });
}

const bceOp = builtinOp({
  name: 'bceWithLogitsElements',
  forward(ctx, [x, target]) {
    const loss = Tensor.allocate(x.dtype, x.shape);
    kernels().bceWithLogits(packed(x), packed(target), loss.floats, loss.size);
    ctx.save(x, target);
    return loss;
  },
  backward(ctx, gy) {
    const [x, target] = ctx.saved;
    const g = packed(gy);
    let gx: Tensor | null = null;
    let gt: Tensor | null = null;
    if (ctx.needs(0)) {
      gx = Tensor.allocate(x.dtype, x.shape);
      kernels().bceWithLogitsBackward(packed(x), packed(target), g, gx.floats, gx.size);
    }
    if (ctx.needs(1)) {
      // d/dt = −x
      gt = Tensor.allocate(x.dtype, x.shape);
      kernels().binary(2, g, packed(x), gt.floats, gt.size, null);
      kernels().scale(gt.floats, gt.size, -1);
    }
    return [gx, gt];
  },
});

/** −target·log σ(x) − (1 − target)·log(1 − σ(x)) for each element. */
export function bceWithLogitsElements(logits: Tensor, target: Tensor): Tensor {
  checkSameFloat('bceWithLogits', { logits, target });
  checkShapeIs('bceWithLogits', 'target', target, logits.shape);
  return bceOp([logits, target]);
}
