/** The twins of losses and penalties of link prediction. */
import type { Kernels } from '../kernels.js';
import { edgeSoftmaxLossTwins } from './edge-softmax-loss.js';
import { queryLossTwins } from './query-loss.js';
import { rowPenaltyTwins } from './row-penalty.js';

export const linkLossTwins = {
  ...edgeSoftmaxLossTwins,
  ...queryLossTwins,
  ...rowPenaltyTwins,
} satisfies Partial<Kernels>;
