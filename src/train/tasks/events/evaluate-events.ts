/** Metrics of a part of a stream. */

import type { StreamSplit } from '../../../temporal/event-stream.js';
import { LinkMetrics } from '../../../temporal/index.js';
import type { Metrics } from '../../task.js';
import type { TemporalAssembly } from './assemble.js';

/** Metrics of a part; memory and mail go on through it. All workers get the scores of all events, and so the same metrics. */
export async function evaluateEvents(
  { runtime, loaders }: TemporalAssembly,
  part: StreamSplit,
  isNew: Uint8Array,
  onProgress?: (done: number, total: number) => void,
): Promise<Metrics> {
  const metrics = new LinkMetrics();
  const { numEvents } = loaders[part];
  let done = 0;
  for await (const batch of loaders[part].epoch(0)) {
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
