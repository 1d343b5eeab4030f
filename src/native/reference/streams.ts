/** Twins of the kernels that read streams of events. */
import { eventTwins } from './event-statistics.js';
import { temporalSampleTwins } from './sample-temporal.js';

export const streamTwins = { ...eventTwins, ...temporalSampleTwins };
