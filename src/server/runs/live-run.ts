/** A run as server-sent events: its records as they are written, its state and its partition buffer when they change. */
import { join } from 'node:path';
import { streamSSE } from 'hono/streaming';
import { isRunDirectory } from '../../train/find-run.js';
import type { ServerState } from '../app.js';
import type { ServerContext } from '../routes.js';
import { followBuffer } from './follow-buffer.js';
import { followLines } from './follow-lines.js';
import { parseRecord } from './parse-record.js';
import { runState } from './run-summary.js';

/** Milliseconds between lines that keep a silent connection open through proxies. */
const heartbeat = 15_000;
/** Milliseconds between looks at the state: the end of a run, or of its process, writes no record. */
const stateEvery = 500;

/**
 * Sends the records of metrics.jsonl behind its byte `from`, those that exist at once and later ones as they are written.
 * `restart` says that the file has been replaced or cut. The stream of a run that is removed ends with the state `gone`.
 */
export function liveRun(
  directory: string,
  from: number,
  { onStop }: ServerState,
  context: ServerContext,
): Response {
  return streamSSE(context, async (stream) => {
    const ending = new AbortController();
    const { signal } = ending;
    const stop = (): void => ending.abort();
    stream.onAbort(stop);
    const forget = onStop(stop);
    const send = (event: string, data: string): Promise<void> => stream.writeSSE({ event, data });
    const beat = setInterval(() => void stream.write(': \n\n').catch(stop), heartbeat);
    let known = '';
    const look = (): void => {
      const state = stateOf(directory);
      if (state === known || signal.aborted) return;
      known = state;
      const sent = send('state', JSON.stringify({ state })).catch(stop);
      if (state === 'gone') void sent.then(stop);
    };
    look();
    const looks = setInterval(look, stateEvery);
    const sendRecords = async (): Promise<void> => {
      for await (const found of followLines(join(directory, 'metrics.jsonl'), { signal, from }))
        if (found.kind === 'restart') await send('restart', '{}');
        else await send('records', `[${found.lines.filter((line) => parseRecord(line) !== null).join(',')}]`);
    };
    const sendBuffer = async (): Promise<void> => {
      for await (const record of followBuffer(directory, { signal }))
        await send('buffer', JSON.stringify(record));
    };
    try {
      await Promise.all([sendRecords(), sendBuffer()]);
    } finally {
      stop();
      clearInterval(beat);
      clearInterval(looks);
      forget();
    }
  });
}

/** Returns the state: `gone` for a run that has been removed, `unknown` for a directory that cannot be read. */
function stateOf(directory: string): string {
  try {
    return isRunDirectory(directory) ? runState(directory) : 'gone';
  } catch {
    return 'unknown';
  }
}
