/**
 * Metrics of a saved run on one of its parts. Memory must stand where the part begins. The state that was saved after the
 * best validation stands before the test events, so that the test gives what training gave, bit for bit. From any other
 * state memory is made anew, with the saved model, from all events before the part.
 */
import { StateError } from '../../util/errors.js';
import type { Metrics } from '../task.js';
import type { EventState } from './event-task.js';
import { judgePart } from './judge-part.js';
import type { OpenedEventRun } from './open-event-run.js';

export interface JudgedRun {
  readonly metrics: Metrics;
  /** Whether memory was made anew. */
  readonly replayed: boolean;
}

export async function judgeTemporalRun(
  { parts, stream, record }: OpenedEventRun,
  part: 'validation' | 'test',
  onProgress?: (done: number, total: number) => void,
): Promise<JudgedRun> {
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
  return { metrics: await judgePart(parts, part, stream.split.isNew, onProgress), replayed };
}
