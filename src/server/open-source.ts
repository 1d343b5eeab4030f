/** Opens runs for serving. */
import { type EventAdvice, EventPredictor } from '../predict/event-predictor.js';
import { openStream, type StreamOptions } from '../predict/index.js';
import { openPredictor, runPath } from '../predict/open-model.js';
import { openRun } from '../train/index.js';
import { DurableLiveStream } from './durable-live-stream.js';
import { MemoryStream } from './memory-stream.js';
import type { RunPath } from './model-sources.js';
import type { ModelSource } from './served-model.js';

export interface ModelSourceOptions {
  readonly command: string;
  /** Makes streams of events last; without it they are in memory. `state` is the folder of log and snapshots. */
  readonly stream?: StreamOptions;
  /** Modules to import first, which register types for configurations. */
  readonly plugins?: readonly string[];
  readonly onWarning?: (message: string) => void;
  readonly onError?: (error: unknown) => void;
}

const advice: EventAdvice = {
  late: 'skein serve with --state and --lateness takes late ones.',
  newNodes: 'skein serve with --state and --new-nodes allow takes new nodes.',
};

export function modelSource({ name, path }: RunPath, options: ModelSourceOptions): ModelSource {
  const { command, plugins = [], stream: durable, onWarning, onError } = options;
  return {
    ...{ name, path },
    open: async () => {
      const run = await openRun(runPath(path), {
        ...{ command, plugins },
        ...(onWarning === undefined ? {} : { onWarning }),
      });
      if (durable !== undefined && run.kind === 'events') {
        const notices = onWarning === undefined ? {} : { onNotice: onWarning };
        const stream = await openStream(run, { ...notices, ...durable });
        return { predictor: stream, stream: new DurableLiveStream(stream) };
      }
      const predictor = await openPredictor(run, advice);
      const stream =
        predictor instanceof EventPredictor
          ? new MemoryStream(predictor, onError === undefined ? {} : { onError })
          : null;
      return { predictor, stream };
    },
  };
}
