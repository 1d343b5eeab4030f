/** Ranks of true nodes among all others, and what they say about a model. */
export { EdgeFilter, type EdgeFilterOptions, type FilterLists, type GivenEnd } from './edge-filter.js';
export {
  defaultHits,
  RankAccumulator,
  type RankAccumulatorOptions,
  type RankingMetrics,
  type RankingOptions,
  type RankReport,
  rankingMetrics,
} from './rank-metrics.js';
export {
  countScores,
  RankCounter,
  type RankCounterOptions,
  type RankCounts,
  ranksOf,
  type TieRule,
  tieRules,
} from './ranks.js';
