/**
 * Softmax cross entropy: over classes for labels, and over one positive and many negative scores for ranking.
 */
import { type FloatArray, kernels } from '../../native/index.js';
import {
  concat,
  crossEntropyTotal,
  fromTypedArray,
  type Ids,
  mul,
  Tensor,
  unsqueeze,
} from '../../tensor/index.js';
import { checkRank, toInt32 } from '../../tensor/ops/common.js';
import { crossEntropyRows } from '../../tensor/ops/cross-entropy.js';
import { formatShape } from '../../tensor/shape.js';
import { DTypeError, expected, ShapeError, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { checkReduction, type LossOptions, reduceLoss } from './reduction.js';

export interface CrossEntropyOptions extends LossOptions {
  /** A weight of at least 0 per class, on the CPU; the mean then divides by the sum of the weights of the labels. */
  readonly weight?: Tensor | readonly number[];
  /** Rows with this label are ignored, as are those with −1. */
  readonly ignoreIndex?: number;
  /** 1 or true for rows to include, on the CPU. Labels of other rows are not read. */
  readonly mask?: Tensor | Uint8Array | readonly boolean[];
}

/**
 * Computes −log softmax(logits)[label] of each row: logits [N, C], labels N class ids.
 *
 * @example
 * const loss = crossEntropy(model.forward(x), labels, { mask: trainMask });
 */
export function crossEntropy(logits: Tensor, labels: Ids, options: CrossEntropyOptions = {}): Tensor {
  checkOptionNames('crossEntropy', options, { reduction: true, weight: true, ignoreIndex: true, mask: true });
  const reduction = checkReduction('crossEntropy', options.reduction);
  checkRank('crossEntropy', 'logits', logits, 2);
  const ids = effectiveLabels(labels, options);
  const factors =
    options.weight === undefined
      ? null
      : rowWeights(ids, classWeights(options.weight, logits), logits.dtype === 'f64');
  const weights = factors === null ? undefined : fromTypedArray(factors);
  if (reduction === 'none') {
    const losses = crossEntropyRows(logits, ids);
    return weights === undefined ? losses : mul(losses, weights.to(logits.device ?? 'cpu'));
  }
  if (reduction === 'sum') return crossEntropyTotal(logits, ids, { weights });
  let total = 0;
  if (factors === null) total = countLabelled(ids);
  else for (const factor of factors) total += factor;
  if (total <= 0) {
    throw new ValueError(
      "crossEntropy: expected at least one row with a label and a weight above 0, got none. Check mask and labels, or use reduction 'sum'.",
    );
  }
  return crossEntropyTotal(logits, ids, { weights, factor: 1 / total });
}

function countLabelled(ids: Int32Array): number {
  // Usually every row has a label, which a kernel checks faster than a loop.
  if (kernels().findOutOfRange(ids, ids.length, 0, 2 ** 31) < 0) return ids.length;
  let total = 0;
  for (let i = 0; i < ids.length; i++) if (ids[i] >= 0) total++;
  return total;
}

/** Returns the labels with −1 for ignored rows. */
function effectiveLabels(labels: Ids, { ignoreIndex = -1, mask }: CrossEntropyOptions): Int32Array {
  const given = toInt32('crossEntropy', 'labels', labels);
  if (!Number.isInteger(ignoreIndex))
    throw new ValueError(expected('crossEntropy', 'a whole number', 'ignoreIndex', ignoreIndex));
  if (ignoreIndex === -1 && mask === undefined) return given;
  const ids = given.map((id) => (id === ignoreIndex ? -1 : id));
  if (mask === undefined) return ids;
  const flags = maskFlags(mask);
  if (flags.length !== ids.length)
    throw new ShapeError(
      expected('crossEntropy', `${ids.length} flags (one per label)`, 'mask', flags.length),
    );
  for (let i = 0; i < ids.length; i++) if (!flags[i]) ids[i] = -1;
  return ids;
}

function maskFlags(mask: Tensor | Uint8Array | readonly boolean[]): ArrayLike<number | boolean> {
  if (mask instanceof Tensor) {
    if (mask.dtype !== 'u8')
      throw new DTypeError(expected('crossEntropy', 'u8', 'the dtype of mask', mask.dtype));
    return mask.dataSync();
  }
  if (!(mask instanceof Uint8Array) && !Array.isArray(mask)) {
    throw new ValueError(
      expected('crossEntropy', 'a u8 tensor, a Uint8Array or an array of booleans', 'mask', mask),
    );
  }
  return mask;
}

function classWeights(weight: Tensor | readonly number[], logits: Tensor): ArrayLike<number> {
  const values: ArrayLike<number> = weight instanceof Tensor ? weight.dataSync() : weight;
  if (values.length !== logits.shape[1]) {
    throw new ShapeError(
      expected('crossEntropy', `${logits.shape[1]} values (one per class)`, 'weight', values.length),
    );
  }
  for (let i = 0; i < values.length; i++) {
    if (!(values[i] >= 0 && values[i] < Infinity)) {
      throw new ValueError(
        expected('crossEntropy', 'finite weights of at least 0', 'weight', `${values[i]} for class ${i}`),
      );
    }
  }
  return values;
}

function rowWeights(ids: Int32Array, weights: ArrayLike<number>, double: boolean): FloatArray {
  const factors = double ? new Float64Array(ids.length) : new Float32Array(ids.length);
  for (let i = 0; i < ids.length; i++) factors[i] = ids[i] < 0 ? 0 : weights[ids[i]];
  return factors;
}

/**
 * Computes −log softmax([positive, negatives])[0] of each row: positive scores [B] against K negative scores each [B,
 * K]. 'mean' divides by B.
 */
export function softmaxCrossEntropyNegatives(
  positive: Tensor,
  negatives: Tensor,
  options: LossOptions = {},
): Tensor {
  checkOptionNames('softmaxCrossEntropyNegatives', options, { reduction: true });
  const where = 'softmaxCrossEntropyNegatives';
  checkReduction(where, options.reduction);
  if (positive.rank !== 1)
    throw new ShapeError(expected(where, 'shape [B]', 'positive', formatShape(positive.shape)));
  if (negatives.rank !== 2 || negatives.shape[0] !== positive.shape[0]) {
    throw new ShapeError(
      expected(where, `shape [${positive.shape[0]}, K]`, 'negatives', formatShape(negatives.shape)),
    );
  }
  const scores = concat([unsqueeze(positive, 1), negatives], 1);
  return reduceLoss(where, crossEntropyRows(scores, new Int32Array(positive.shape[0])), options);
}
