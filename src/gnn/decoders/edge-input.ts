/**
 * Decoder input for edges whose ends are rows of the batch. The ends' embeddings are gathered on first access: the
 * fused loss reads rows by number and never needs them.
 */
import { gatherRows, isGradEnabled, type Tensor } from '../../tensor/index.js';
import type { DecoderInput } from './edge-decoder.js';

/** Row numbers of the ends of edges. */
export interface EdgeEnds {
  readonly src: Int32Array;
  readonly dst: Int32Array;
}

/** Keyed by the object itself: a copy with other members is not recognised. */
const known = new WeakMap<DecoderInput, EdgeEnds>();

/**
 * Creates the input of a decoder for edges from rows[ends.src] to rows[ends.dst].
 *
 * @example
 * const input = edgeInput(rows, { src, dst }, { relations, srcNegatives, dstNegatives, chunks });
 * linkLoss(decoder, input, new SoftmaxCrossEntropy()).backward();
 */
export function edgeInput(
  rows: Tensor,
  ends: EdgeEnds,
  others: Omit<DecoderInput, 'src' | 'dst' | 'rows'>,
): DecoderInput {
  const [src, dst] = [lazyRows(rows, ends.src), lazyRows(rows, ends.dst)];
  const input = {
    ...others,
    rows,
    get src() {
      return src();
    },
    get dst() {
      return dst();
    },
  };
  known.set(input, ends);
  return input;
}

/** Returns the ends of an input created by `edgeInput`; null for others. */
export function endsOf(input: DecoderInput): EdgeEnds | null {
  return known.get(input) ?? null;
}

/** Gathers once, and again after a scope disposed the result or gradient recording was switched on or off. */
function lazyRows(rows: Tensor, ids: Int32Array): () => Tensor {
  let made: { readonly tensor: Tensor; readonly recorded: boolean } | null = null;
  return () => {
    const recorded = isGradEnabled();
    if (made === null || made.tensor.isDisposed || made.recorded !== recorded)
      made = { tensor: gatherRows(rows, ids), recorded };
    return made.tensor;
  };
}
