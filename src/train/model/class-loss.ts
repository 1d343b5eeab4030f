/**
 * Losses of class predictions by Marius's names. Cross entropy compares with class ids; the others compare every column
 * with 1 for the node's class and 0 for all others.
 */
import { bceLoss, bceWithLogits, crossEntropy, mseLoss, softplusLoss } from '../../nn/index.js';
import { fromTypedArray, sigmoid, type Tensor } from '../../tensor/index.js';
import { ValueError } from '../../util/errors.js';
import type { LossConfig } from '../config/index.js';

/** The loss of logits [B, classes] with labels of the nodes; nodes with label −1 count for nothing. */
export function classLoss(logits: Tensor, labels: Int32Array, config: LossConfig): Tensor {
  const reduction = config.options.reduction === 'MEAN' ? 'mean' : 'sum';
  switch (config.type) {
    case 'CROSS_ENTROPY':
      return crossEntropy(logits, labels, { reduction });
    case 'BCE_WITH_LOGITS':
      return bceWithLogits(logits, oneHot(labels, logits.shape[1]), { reduction });
    case 'BCE_AFTER_SIGMOID':
      return bceLoss(sigmoid(logits), oneHot(labels, logits.shape[1]), { reduction });
    case 'MSE':
      return mseLoss(logits, oneHot(labels, logits.shape[1]), { reduction });
    case 'SOFTPLUS':
      return softplusLoss(logits, oneHot(labels, logits.shape[1]), { reduction });
    case 'SOFTMAX_CE':
    case 'RANKING':
      throw new ValueError(
        `model.loss.type: expected CROSS_ENTROPY, BCE_WITH_LOGITS, BCE_AFTER_SIGMOID, MSE or SOFTPLUS for node classification, got ${config.type}, which compares edges with negatives.`,
      );
  }
}

function oneHot(labels: Int32Array, classes: number): Tensor {
  const values = new Float32Array(labels.length * classes);
  for (let i = 0; i < labels.length; i++) if (labels[i] >= 0) values[i * classes + labels[i]] = 1;
  return fromTypedArray(values, [labels.length, classes]);
}
