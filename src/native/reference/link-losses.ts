/** The twins of losses of link prediction. */
import type { Kernels } from '../kernels.js';
import { edgeSoftmaxLossTwins } from './edge-softmax-loss.js';
import { queryLossTwins } from './query-loss.js';

export const linkLossTwins = { ...edgeSoftmaxLossTwins, ...queryLossTwins } satisfies Partial<Kernels>;
