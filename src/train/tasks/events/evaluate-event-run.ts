/**
 * Evaluation of a saved run on one of its splits. Node memory must be that of the beginning of the split. The checkpoint
 * after the best validation holds the memory before the test events, so testing it gives the same bits as training did.
 * From any other checkpoint, memory is recomputed with the saved model from all events before the split.
 */
import { StateError } from '../../../util/errors.js';
import type { Metrics } from '../../task.js';
import { evaluateEvents } from './evaluate-events.js';
import { evaluationPlan } from './evaluation.js';
import type { EventState } from './event-task.js';
import type { OpenedEventRun } from './open-event-run.js';

export interface EvaluatedRun {
  readonly metrics: Metrics;
  /** Whether node memory was recomputed. */
  readonly replayed: boolean;
}

export async function evaluateEventRun(
  { parts, stream, record, config }: OpenedEventRun,
  split: 'validation' | 'test',
  onProgress?: (done: number, total: number) => void,
): Promise<EvaluatedRun> {
  if (stream.rows[split].length === 0)
    throw new StateError(
      `eval: expected events in the ${split} split, got none. Change dataset.train_share and dataset.validation_share in a new run.`,
    );
  const { state, runtime, loaders } = parts;
  const replayed =
    state !== null && !(split === 'test' && (record.state as unknown as EventState).stage === 'validated');
  if (replayed) {
    state.reset();
    for (const earlier of split === 'test' ? (['train', 'validation'] as const) : (['train'] as const))
      for await (const batch of loaders[earlier].epoch(0)) runtime.observe(batch);
  }
  const metrics = await evaluateEvents(parts, split, {
    ...{ isNew: stream.split.isNew, metrics: evaluationPlan(config).metrics },
    ...(onProgress && { onProgress }),
  });
  return { metrics, replayed };
}
