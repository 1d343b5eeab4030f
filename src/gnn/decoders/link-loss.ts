/**
 * The loss of a batch of edges: the sum of both directions. Softmax over dot products takes the fused path, which never
 * stores the scores; all others, and decoders or losses with a custom `forward`, go through their scores.
 */
import type { RelationOp } from '../../native/index.js';
import { add, fromTypedArray, type Tensor } from '../../tensor/index.js';
import { toDeviceOf } from '../../tensor/move.js';
import { StateError } from '../../util/errors.js';
import { chunkedSoftmaxLossSides, type EdgeSide, edgeSoftmaxLoss } from '../ops/index.js';
import { type DecoderInput, EdgeDecoder } from './edge-decoder.js';
import { endsOf } from './edge-input.js';
import { CrossEntropyLoss, type LossFunction, SoftmaxCrossEntropy } from './link-losses.js';
import { ComplexHadamardOperator, HadamardOperator, NoOp } from './relation-operator.js';

export function linkLoss(decoder: EdgeDecoder, input: DecoderInput, loss: LossFunction): Tensor {
  if (canFuse(decoder, loss)) {
    const whole = edgeLoss(decoder, input, loss);
    if (whole !== null) return whole;
    const sides = decoder
      .sides(input)
      .flatMap(({ query, target, rows = input.rows, negatives, mask }) =>
        negatives === null ? [] : [{ query, target, rows, negatives, mask }],
      );
    if (sides.length > 0) {
      const reduction = loss.reduction === 'SUM' ? 'sum' : 'mean';
      const lossOf = (rows: Tensor, some: typeof sides): Tensor =>
        chunkedSoftmaxLossSides(rows, input.chunks ?? 1, some, { reduction });
      if (sides.every(({ rows }) => rows === input.rows)) return lossOf(input.rows, sides);
      return sides.map((side) => lossOf(side.rows, [side])).reduce((a, b) => add(a, b));
    }
  }
  const { rhsPos, rhsNeg, lhsPos, lhsNeg } = decoder.forward(input, loss.maskedScore);
  const parts: Tensor[] = [];
  const weights = weightsOf(input, loss, rhsPos);
  if (rhsNeg !== null) parts.push(loss.forward(rhsPos, rhsNeg, weights));
  if (lhsPos !== null && lhsNeg !== null) parts.push(loss.forward(lhsPos, lhsNeg, weights));
  if (parts.length === 0)
    throw new StateError(
      `linkLoss: expected negatives for ${decoder.constructor.name} (${decoder.method}), got none. Train with a method that has negatives.`,
    );
  return parts.reduce((a, b) => add(a, b));
}

/** Returns the weights of the edges; null if the loss takes none or there are none. */
function weightsOf({ weights = null }: DecoderInput, loss: LossFunction, scores: Tensor): Tensor | null {
  if (!loss.weighsEdges || weights === null) return null;
  const values = scores.dtype === 'f64' ? Float64Array.from(weights) : weights;
  return toDeviceOf(fromTypedArray(values), scores);
}

/**
 * Runs one fused operation for edges given by row numbers and relations that a kernel can apply; returns null for
 * others.
 */
function edgeLoss(decoder: EdgeDecoder, input: DecoderInput, loss: LossFunction): Tensor | null {
  const ends = endsOf(input);
  const operator = operatorOf(decoder);
  if (ends === null || operator === null || input.dropout) return null;
  const { src, dst } = ends;
  const { relations } = decoder;
  const back = decoder.usesAdjoint
    ? { operator: adjointOf[operator], table: relations }
    : { table: decoder.inverseRelations };
  const sides: EdgeSide[] = [];
  const push = (side: Omit<EdgeSide, 'negatives'>, negatives: Int32Array | null | undefined): void => {
    if (negatives) sides.push({ ...side, negatives });
  };
  push({ sources: src, targets: dst, table: relations, mask: input.dstMask ?? null }, input.dstNegatives);
  if (decoder.bothDirections)
    push({ sources: dst, targets: src, ...back, mask: input.srcMask ?? null }, input.srcNegatives);
  if (sides.length === 0) return null;
  const reduction = loss.reduction === 'SUM' ? 'sum' : 'mean';
  const ids = operator === 'none' ? null : input.relations;
  return edgeSoftmaxLoss(input.rows, operator, ids, input.chunks ?? 1, sides, { reduction });
}

/** The operation of the queries for sources that use the same table of relations. */
const adjointOf = {
  none: 'none',
  hadamard: 'hadamard',
  complex: 'conjugate',
  conjugate: 'complex',
} as const satisfies Record<RelationOp, RelationOp>;

/** Returns the kernels' name of the decoder's relation operator; null for a custom one. */
function operatorOf(decoder: EdgeDecoder): RelationOp | null {
  const { sides, relationRows, query } = EdgeDecoder.prototype;
  if (decoder.sides !== sides || decoder.relationRows !== relationRows || decoder.query !== query)
    return null;
  const kind = decoder.operator.constructor;
  const plain = kind === HadamardOperator || kind === ComplexHadamardOperator;
  if (kind === NoOp || (plain && decoder.relations === null)) return 'none';
  if (!plain) return null;
  return kind === HadamardOperator ? 'hadamard' : 'complex';
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
