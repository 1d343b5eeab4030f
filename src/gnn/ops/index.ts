/** Operations for scores of edges. */
export { chunkedSoftmaxLossSides, type NegativeMask } from './chunked-softmax-loss.js';
export { type EdgeSide, edgeSoftmaxLoss } from './edge-softmax-loss.js';
export { type Comparison, chunkedScores, complexProduct, normalizeRows, pairScores } from './scores.js';
