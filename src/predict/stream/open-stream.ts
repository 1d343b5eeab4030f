/** Opens the model of a run over a stream that lasts. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type OpenedEventRun, openRun } from '../../train/index.js';
import { expected, ValueError } from '../../util/errors.js';
import { runPath } from '../open-model.js';
import { DurableStream } from './durable-stream.js';
import { checkStreamOptions } from './stream-rules.js';
import type { StreamOptions } from './types.js';

/**
 * Opens the model of a finished run over a durable stream, which continues the training stream. The folder `state` has its
 * log and snapshots; a stream that was opened before continues where it was.
 *
 * @example
 * const stream = await openStream('runs/shop', { state: 'runs/shop-stream', lateness: 60 });
 * await stream.append([{ head: 'ana', tail: 'tea', time: 1700000000, id: 'order-1' }]); // { outcomes: ['waiting'], newNodes: 0 }
 * await stream.recommend('ana', { k: 3 });
 */
export async function openStream(
  run: string | OpenedEventRun,
  options: StreamOptions,
): Promise<DurableStream> {
  checkStreamOptions(options);
  if (
    existsSync(join(options.state, 'full_config.yaml')) ||
    existsSync(join(runPath(options.state), 'full_config.yaml'))
  )
    throw new ValueError(
      expected(
        'openStream',
        'a folder of its own',
        'state',
        options.state,
        'This is the directory of a run.',
      ),
    );
  const opened = isOpened(run) ? run : await openRun(runPath(run), { command: 'openStream', over: 'events' });
  return DurableStream.open(opened, options);
}

/** Returns whether a run over events is open already; `openRun` rejects what is neither that nor a path. */
function isOpened(run: string | OpenedEventRun): run is OpenedEventRun {
  return typeof run === 'object' && run?.kind === 'events' && typeof run.close === 'function';
}
