/**
 * The loss of a batch of edges: both directions added. Softmax over dot products takes the fused path, which never stores
 * the scores; everything else, and every decoder or loss with a `forward` of its own, goes through its scores.
 */
import { add, type Tensor } from '../../tensor/index.js';
import { StateError } from '../../util/errors.js';
import { chunkedSoftmaxLossSides } from '../ops/index.js';
import { type DecoderInput, EdgeDecoder } from './edge-decoder.js';
import { CrossEntropyLoss, type LossFunction, SoftmaxCrossEntropy } from './link-losses.js';

export function linkLoss(decoder: EdgeDecoder, input: DecoderInput, loss: LossFunction): Tensor {
  if (canFuse(decoder, loss)) {
    const sides = decoder
      .sides(input)
      .flatMap(({ query, target, negatives, mask }) =>
        negatives === null ? [] : [{ query, target, negatives, mask }],
      );
    if (sides.length > 0) {
      const reduction = loss.reduction === 'SUM' ? 'sum' : 'mean';
      return chunkedSoftmaxLossSides(input.rows, input.chunks ?? 1, sides, { reduction });
    }
  }
  const { rhsPos, rhsNeg, lhsPos, lhsNeg } = decoder.forward(input, loss.maskedScore);
  const parts: Tensor[] = [];
  if (rhsNeg !== null) parts.push(loss.forward(rhsPos, rhsNeg));
  if (lhsPos !== null && lhsNeg !== null) parts.push(loss.forward(lhsPos, lhsNeg));
  if (parts.length === 0)
    throw new StateError(
      `linkLoss: expected negatives for ${decoder.constructor.name} (${decoder.method}), got none. Train with a method that has negatives.`,
    );
  return parts.reduce((a, b) => add(a, b));
}

function canFuse(decoder: EdgeDecoder, loss: LossFunction): boolean {
  const plainLoss = loss.constructor === SoftmaxCrossEntropy || loss.constructor === CrossEntropyLoss;
  return (
    plainLoss &&
    decoder.method === 'CORRUPT_NODE' &&
    decoder.comparator.comparison === 'dot' &&
    decoder.forward === EdgeDecoder.prototype.forward
  );
}
