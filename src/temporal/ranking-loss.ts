/** Losses of ranking: cross-entropy of the first candidate of each query among all of its candidates. */
import { crossEntropy } from '../nn/index.js';
import { add, concat, full, gatherRows, reshape, type Tensor, tensor } from '../tensor/index.js';
import { pairLoss } from './steps.js';

/** A logit whose probability is 0 in f32. */
const nothing = -1e30;

/**
 * Returns the mean over queries of −log softmax(scores + corrections) at the first candidate of each.
 *
 * @param offsets boundaries of the queries' candidates; no query is without candidates.
 */
export function candidateSoftmax(
  scores: Tensor,
  corrections: ArrayLike<number>,
  offsets: Int32Array,
): Tensor {
  const queries = offsets.length - 1;
  const total = scores.shape[0];
  let most = 0;
  for (let i = 0; i < queries; i++) most = Math.max(most, offsets[i + 1] - offsets[i]);
  // Rows of equal length, filled up with a candidate that has no probability.
  const places = new Int32Array(queries * most).fill(total);
  for (let i = 0; i < queries; i++)
    for (let k = offsets[i]; k < offsets[i + 1]; k++) places[i * most + k - offsets[i]] = k;
  const dtype = scores.dtype as 'f32';
  const raised = add(scores, tensor(Array.from(corrections), { shape: [total], dtype }));
  const filled = reshape(concat([raised, full([1], nothing, { dtype })], 0), [total + 1, 1]);
  return firstAmong(reshape(gatherRows(filled, places), [queries, most]));
}

/**
 * Returns the mean binary cross-entropy of the first candidates plus that of all others, for comparison with the softmax. It
 * has no use for corrections: it does not depend on how many nodes a candidate stands for.
 */
export function candidateBce(scores: Tensor, offsets: Int32Array): Tensor {
  const isFirst = new Uint8Array(scores.shape[0]);
  for (let i = 0; i + 1 < offsets.length; i++) isFirst[offsets[i]] = 1;
  const positions = Int32Array.from(isFirst.keys());
  const pick = (which: number): Tensor => {
    const at = positions.filter((k) => isFirst[k] === which);
    return reshape(gatherRows(reshape(scores, [positions.length, 1]), at), [at.length]);
  };
  return pairLoss({ positive: pick(1), negative: pick(0) });
}

/**
 * Returns the mean over events of −log softmax at the event among its negatives, of which all events have the same number.
 *
 * @param raise added to the logits of the negatives of each event: log(n) for one that stands for n nodes.
 */
export function rankingLoss(
  { positive, negative }: { readonly positive: Tensor; readonly negative: Tensor },
  raise: readonly number[],
): Tensor {
  const events = positive.shape[0];
  const corrections = tensor([...raise], { shape: [1, raise.length], dtype: negative.dtype as 'f32' });
  const raised = add(reshape(negative, [events, raise.length]), corrections);
  return firstAmong(concat([reshape(positive, [events, 1]), raised], 1));
}

function firstAmong(logits: Tensor): Tensor {
  return crossEntropy(logits, new Int32Array(logits.shape[0]));
}
