/**
 * Ranks of events among all destinations, for models that score a source with many candidates: their batches have no negatives,
 * and no scores are kept.
 */
import { CandidateIndex, ranksAmong } from '../../../temporal/candidates.js';
import { type TemporalBatch, TemporalLoader } from '../../../temporal/index.js';
import type { ScoringSteps, TemporalBatches } from '../../../temporal/steps.js';
import type { HeldOut } from '../../task.js';
import type { AssemblyComponents } from './assemble.js';
import { evaluationPlan } from './evaluation.js';
import type { OpenedStream } from './open-stream.js';
import { destinationPool } from './protocol.js';
import type { TemporalRunConfig } from './run-config.js';

/** Ranks the events of a batch and commits it. */
export interface EventRanking {
  batches(split: HeldOut, frozen?: boolean): TemporalBatches<TemporalBatch>;
  ranks(batch: TemporalBatch): Float64Array;
  /** Commits a batch without ranks. */
  observe(batch: TemporalBatch): void;
}

/** Returns the ranking of a run whose events are ranked among all destinations; null if it needs scores of negatives. */
export function eventRanking(
  config: TemporalRunConfig,
  { data }: OpenedStream,
  { loaderOptions, ignored }: AssemblyComponents,
  steps: ScoringSteps,
): EventRanking | null {
  const { amount, metrics } = evaluationPlan(config);
  if (amount !== 'all' || metrics.curves !== false || steps.evaluateCandidates === undefined) return null;
  // The same array for every batch, so that steps can keep what they derive from it.
  const candidates = destinationPool(config, data);
  const index = new CandidateIndex(candidates);
  const count = candidates.length;
  const scored = steps.evaluateCandidates.bind(steps);
  return {
    batches: (split, frozen) => {
      const { graph, negatives: _, ...options } = loaderOptions(split, frozen);
      return new TemporalLoader(graph, options);
    },
    observe: (batch) => steps.observe(batch),
    ranks: (batch) => {
      const cadence = batch.rowLimit === undefined ? 'moment' : 'batch';
      const own = Array.from(batch.dst, (node, i) => i * count + index.position(node));
      const others = Array.from(ignored(batch.eventRows), (place) => {
        // Lists of negatives lack the destination of their event.
        const i = Math.floor(place / (count - 1));
        const at = place % (count - 1);
        return i * count + at + (at >= index.position(batch.dst[i]) ? 1 : 0);
      });
      return ranksAmong(scored(batch, { candidates, cadence }), count, [...own, ...others]);
    },
  };
}
