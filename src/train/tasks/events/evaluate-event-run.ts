/**
 * Metrics of a saved run on one of its splits. Memory must stand where the split begins. The state that was saved after the
 * best validation stands before the test events, so that the test gives what training gave, bit for bit. From any other
 * state memory is computed again, with the saved model, from all events before the split.
 */
import { StateError } from '../../../util/errors.js';
import type { Metrics } from '../../task.js';
import { evaluateEvents } from './evaluate-events.js';
import type { EventState } from './event-task.js';
import type { OpenedEventRun } from './open-event-run.js';

export interface EvaluatedRun {
  readonly metrics: Metrics;
  /** Whether memory was computed again. */
  readonly replayed: boolean;
}

export async function evaluateEventRun(
  { parts, stream, record }: OpenedEventRun,
  part: 'validation' | 'test',
  onProgress?: (done: number, total: number) => void,
): Promise<EvaluatedRun> {
  if (stream.rows[part].length === 0)
    throw new StateError(
      `eval: expected events in the ${part} part, got none. Change dataset.train_share and dataset.validation_share in a new run.`,
    );
  const { state, runtime, loaders } = parts;
  const replayed =
    state !== null && !(part === 'test' && (record.state as unknown as EventState).stage === 'validated');
  if (replayed) {
    state.reset();
    for (const earlier of part === 'test' ? (['train', 'validation'] as const) : (['train'] as const))
      for await (const batch of loaders[earlier].epoch(0)) runtime.observe(batch);
  }
  return { metrics: await evaluateEvents(parts, part, stream.split.isNew, onProgress), replayed };
}
