/** Metrics of link prediction. */
export { LinkMetrics, type LinkMetricsOptions, type LinkMetricValues } from './link-metrics.js';
export {
  averagePrecision,
  hitsAtK,
  meanReciprocalRank,
  rocAuc,
  type Scores,
  type Separation,
  separation,
} from './ranking.js';
