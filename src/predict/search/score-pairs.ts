/** Scores of edges by a decoder. */
import type { DecoderInput } from '../../gnn/decoders/edge-decoder.js';
import { EdgeDecoder } from '../../gnn/index.js';
import type { Tensor } from '../../tensor/index.js';

/** Returns whether a decoder scores edges by a `forward` of its own. */
export function isCustomDecoder(decoder: EdgeDecoder): boolean {
  return decoder.forward !== EdgeDecoder.prototype.forward;
}

/** Scores edges [B], each as a prediction of its destination. */
export function scorePairs(decoder: EdgeDecoder, input: DecoderInput): Tensor {
  if (isCustomDecoder(decoder)) return decoder.forward(input).rhsPos;
  return decoder.comparator.pairs(decoder.query(input.src, input.relations, 'rhs'), input.dst);
}
