/** Twins of the kernels that read streams of events. */
import { eventTwins } from './event-statistics.js';
import { momentAttentionTwins } from './moment-attention.js';
import { pairFeatureTwins } from './pair-features.js';
import { temporalSampleTwins } from './sample-temporal.js';

export const streamTwins = {
  ...eventTwins,
  ...pairFeatureTwins,
  ...momentAttentionTwins,
  ...temporalSampleTwins,
};
