/** Baselines to compare trained models with. */
export type { DurableBaseline, TemporalBaseline } from './baseline.js';
export { type BaselineKind, baselineKind } from './baseline-kind.js';
export { EdgeBank, type EdgeBankOptions } from './edge-bank.js';
export { type EvaluateBaselineOptions, evaluateBaseline } from './evaluate-baseline.js';
export { type LocalGlobalOptions, LocalGlobalRecency } from './local-global.js';
export { LogisticRecency, type RecencyOptions, RecencyPopularity } from './recency-popularity.js';
