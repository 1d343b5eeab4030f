/** Scores of edges by a decoder. */
import type { DecoderInput, Direction } from '../../gnn/decoders/edge-decoder.js';
import { EdgeDecoder } from '../../gnn/index.js';
import type { Tensor } from '../../tensor/index.js';

/** Returns whether a decoder scores edges by a `forward` of its own. */
export function isCustomDecoder(decoder: EdgeDecoder): boolean {
  return decoder.forward !== EdgeDecoder.prototype.forward;
}

/** Scores edges [B], each as a prediction of its destination (rhs), or of its source if the decoder has queries for sources. */
export function scorePairs(decoder: EdgeDecoder, input: DecoderInput, direction: Direction = 'rhs'): Tensor {
  if (isCustomDecoder(decoder)) return decoder.forward(input).rhsPos;
  const { src, dst, relations } = input;
  const [given, wanted] = direction === 'rhs' ? [src, dst] : [dst, src];
  return decoder.comparator.pairs(decoder.query(given, relations, direction), wanted);
}
