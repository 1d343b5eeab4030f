/** The objective of training with negatives for a batch of edges: their loss, relation prediction and penalties. */
import { add, type Tensor } from '../../tensor/index.js';
import { StateError } from '../../util/errors.js';
import type { DecoderInput, EdgeDecoder } from './edge-decoder.js';
import { type EdgeEnds, endsOf } from './edge-input.js';
import { type EmbeddingPenalty, embeddingPenalty } from './embedding-penalty.js';
import { linkLoss } from './link-loss.js';
import type { LossFunction } from './link-losses.js';
import { relationLoss } from './relation-prediction.js';
import { StepDropout } from './step-dropout.js';

/** Terms in addition to the loss of edges or queries. */
export interface LinkObjective {
  readonly penalty: EmbeddingPenalty | null;
  /** The weight of relation prediction; 0 for none. */
  readonly relationPrediction: number;
}

/** Returns the loss of the edges of an input made by `edgeInput`: a scalar. */
export function edgeObjective(
  decoder: EdgeDecoder,
  input: DecoderInput,
  loss: LossFunction,
  { penalty, relationPrediction }: LinkObjective,
): Tensor {
  if (penalty === null && relationPrediction === 0) return linkLoss(decoder, input, loss);
  const { src: given, dst: predicted } = endsOf(input) as EdgeEnds;
  const edges = { given, predicted, relations: input.relations, offsets: null };
  const examples = decoder.scoredDirections.map((direction) => ({ direction, ...edges }));
  // MEAN adds the means of both directions: each example is divided by the number of edges.
  const perExample = loss.reduction === 'MEAN' ? 1 / Math.max(1, given.length) : 1;
  const parts: Tensor[] = [];
  // Recorded before the loss, so that backward adds their sparse rows to the dense gradient of the loss.
  if (penalty !== null) {
    if (penalty.type === 'LP' && !penalty.weighted)
      throw new StateError(
        'edgeObjective: expected a weighted penalty for training with negatives, got one of all rows. A batch of negatives trains the rows it uses only; set weighted: true.',
      );
    parts.push(embeddingPenalty(decoder, input.rows, examples, penalty, { perExample, perStep: 0 }));
  }
  if (relationPrediction > 0) {
    const dropout = new StepDropout(decoder, input.dropout?.random ?? null);
    const how = { scale: relationPrediction * perExample, dropout, ids: input.dropout?.edgeIds };
    const related = relationLoss(decoder, input.rows, examples, how);
    if (related !== null) parts.push(related);
  }
  return [...parts, linkLoss(decoder, input, loss)].reduce((a, b) => add(a, b));
}
