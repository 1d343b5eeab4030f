/** Evaluation of one split of a stream. */

import { LinkMetrics, type LinkMetricsOptions } from '../../../temporal/index.js';
import type { EventBatch, TemporalBatches } from '../../../temporal/steps.js';
import type { HeldOut, Metrics } from '../../task.js';
import type { TemporalAssembly } from './assemble.js';

export interface EvaluateEventsOptions {
  /** For each event, whether one of its nodes was never seen in training. */
  readonly isNew: Uint8Array;
  readonly metrics?: LinkMetricsOptions;
  readonly onProgress?: (done: number, total: number) => void;
}

/** The prefix of the metrics of the second cadence. */
const frozenPrefix = 'frozen_';

/**
 * Returns the metrics of a split; node memory and mail advance through it. Every worker gets the scores of all events, so
 * all workers compute the same metrics. With two cadences the split is evaluated twice from the same state.
 */
export async function evaluateEvents<B extends EventBatch>(
  parts: TemporalAssembly<B>,
  split: HeldOut,
  options: EvaluateEventsOptions,
): Promise<Metrics> {
  const { loaders, frozen, state } = parts;
  if (frozen === null) return evaluateOnce(parts, loaders[split], split, options);
  const before = state?.snapshot();
  const second = await evaluateOnce(parts, frozen[split], split, options, true);
  if (before !== undefined) state?.restore(before);
  const first = await evaluateOnce(parts, loaders[split], split, options, false);
  const renamed = Object.entries(second).filter(([name]) => !name.endsWith('events'));
  return { ...first, ...Object.fromEntries(renamed.map(([name, value]) => [frozenPrefix + name, value])) };
}

async function evaluateOnce<B extends EventBatch>(
  { runtime, ignored, isScored, ranking }: TemporalAssembly<B>,
  batches: TemporalBatches<B>,
  split: HeldOut,
  { isNew, metrics: wanted = {}, onProgress }: EvaluateEventsOptions,
  frozen?: boolean,
): Promise<Metrics> {
  const metrics = new LinkMetrics(wanted);
  let done = 0;
  const isNewIn = ({ eventRows }: EventBatch): number[] => Array.from(eventRows, (row) => isNew[row]);
  const report = ({ eventRows }: EventBatch): void => {
    done += eventRows.length;
    onProgress?.(done, batches.numEvents);
  };
  if (ranking !== null) {
    for await (const batch of ranking.batches(split, frozen).epoch(0)) {
      if (isScored(split, batch.eventRows)) metrics.addRanks(ranking.ranks(batch), isNewIn(batch));
      else ranking.observe(batch);
      report(batch);
    }
    return metrics.result();
  }
  for await (const batch of batches.epoch(0)) {
    if (isScored(split, batch.eventRows)) {
      const { positive, negative } = runtime.evaluate(batch);
      for (const at of ignored(batch.eventRows)) negative[at] = Number.NEGATIVE_INFINITY;
      metrics.add(positive, negative, isNewIn(batch));
    } else runtime.observe(batch);
    report(batch);
  }
  return metrics.result();
}
