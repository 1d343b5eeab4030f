/** Ranks of true nodes among all others. */
export {
  type FilterLists,
  RankCounter,
  type RankCounterOptions,
  type RankCounts,
} from './rank-counter.js';
