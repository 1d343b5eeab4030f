/** Opens a saved run over a stream of events, to evaluate it or to score a continuing stream. */
import type { TemporalGraph } from '../../../graph/index.js';
import { OnlineScorer } from '../../../temporal/index.js';
import { StateError } from '../../../util/errors.js';
import type { FoundRun } from '../../find-run.js';
import { Checkpoints } from '../../run/checkpoint.js';
import { type RunRecord, readRecord } from '../../run/run-record.js';
import { assembleTemporal, type PlainAssembly, samplerOf } from './assemble.js';
import { checkEventRecord } from './check-record.js';
import { evaluationPlan } from './evaluation.js';
import { eventBaselines } from './event-baseline.js';
import { type EventState, EventTask } from './event-task.js';
import { locateStream } from './locate-stream.js';
import { withPlugin } from './model-kind.js';
import { type OpenedStream, openStream } from './open-stream.js';
import type { TemporalRunConfig } from './run-config.js';

export interface FoundEventRun extends FoundRun {
  readonly config: TemporalRunConfig;
}

export interface OpenedEventRun extends FoundEventRun {
  readonly kind: 'events';
  readonly stream: OpenedStream;
  readonly parts: PlainAssembly;
  readonly record: RunRecord;
  readonly task: EventTask;
  close(): Promise<void>;
}

export async function openEventRun(found: FoundEventRun, command = 'openRun'): Promise<OpenedEventRun> {
  const { checkpoint } = found;
  const config = withPlugin(command, locateStream(found));
  const stream = await openStream(config);
  const parts = assembleTemporal(config, stream);
  const { metric, metrics } = evaluationPlan(config);
  const task = new EventTask({
    ...{ parts, isNew: stream.split.isNew, metric, metrics },
    baselines: (split) => eventBaselines(config, stream, split),
  });
  // Checked before restoring: with memory of another stream, restoring would only report a wrong size.
  checkEventRecord(checkpoint, await readRecord(checkpoint), config, stream);
  const record = await new Checkpoints(checkpoint, task).restore('', { trains: false });
  return {
    ...{ ...found, kind: 'events', stream, parts, record },
    task: task as unknown as EventTask,
    close: () => task.close(),
  };
}

/** Returns a scorer that continues at the end of the stream of a finished run. */
export function onlineScorer(
  { config, stream, parts, directory, record }: OpenedEventRun,
  command = 'serve',
): OnlineScorer {
  if ((record.state as unknown as EventState).stage !== 'finished')
    throw new StateError(
      `${command}: expected the final state of a finished run, got a checkpoint of ${directory} from before the end of training. Let the run finish.`,
    );
  const graph: TemporalGraph = stream.graph;
  return new OnlineScorer({
    graph,
    runtime: parts.runtime,
    batchSize: config.model.train.batch_size,
    pairDepth: parts.needs.pairDepth ?? 0,
    sampler: samplerOf(config, parts.needs, graph),
  });
}
