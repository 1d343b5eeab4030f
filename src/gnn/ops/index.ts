/** Operations for scores of edges. */
export {
  type ChunkedLossOptions,
  type ChunkedSide,
  chunkedSoftmaxLoss,
  chunkedSoftmaxLossSides,
  type NegativeMask,
  negativeMask,
} from './chunked-softmax-loss.js';
export { type EdgeSide, edgeSoftmaxLoss } from './edge-softmax-loss.js';
export { type Comparison, chunkedScores, complexProduct, normalizeRows, pairScores } from './scores.js';
