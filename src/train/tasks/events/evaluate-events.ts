/** Evaluation of one split of a stream. */

import type { StreamSplit } from '../../../temporal/event-stream.js';
import { LinkMetrics } from '../../../temporal/index.js';
import type { Metrics } from '../../task.js';
import type { TemporalAssembly } from './assemble.js';

/**
 * Returns the metrics of a split; node memory and mail advance through it. Every worker gets the scores of all events, so
 * all workers compute the same metrics.
 */
export async function evaluateEvents(
  { runtime, loaders }: TemporalAssembly,
  split: StreamSplit,
  isNew: Uint8Array,
  onProgress?: (done: number, total: number) => void,
): Promise<Metrics> {
  const metrics = new LinkMetrics();
  const { numEvents } = loaders[split];
  let done = 0;
  for await (const batch of loaders[split].epoch(0)) {
    const { positive, negative } = runtime.evaluate(batch);
    metrics.add(
      positive,
      negative,
      Array.from(batch.eventRows, (row) => isNew[row]),
    );
    done += batch.eventRows.length;
    onProgress?.(done, numEvents);
  }
  return metrics.result();
}
