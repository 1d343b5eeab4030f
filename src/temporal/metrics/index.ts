/** Metrics of link prediction. */
export { LinkMetrics, type LinkMetricsOptions } from './link-metrics.js';
export { averagePrecision, hitsAtK, meanReciprocalRank, rocAuc, type Scores, separation } from './ranking.js';
