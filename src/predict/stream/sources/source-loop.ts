/** A source that appends to a stream in the background until it ends or is stopped. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expected, StateError, ValueError } from '../../../util/errors.js';
import { checkOptionNames } from '../../../util/option-names.js';
import { checkId } from '../check-events.js';
import { DurableStream, type SourceBatch } from '../durable-stream.js';
import { StreamBusyError } from '../stream-errors.js';
import type { StreamSource } from '../types.js';
import type { FieldMapping } from './messages.js';

/** Throws unless a source has a stream to append to. */
export function checkStream(where: string, stream: unknown): void {
  if (!(stream instanceof DurableStream))
    throw new ValueError(expected(where, 'a stream', 'stream', stream, 'Open one with openStream.'));
}

/** Throws for a mapping that is not one, and if messages would be asked for types that the model cannot use. */
export function checkFields(where: string, stream: DurableStream, fields: FieldMapping): void {
  checkOptionNames(`${where}.fields`, fields, {
    ...({ head: true, tail: true, time: true, id: true, type: true, features: true } as const),
  });
  const { features, type, ...others } = fields;
  for (const [name, field] of Object.entries({ ...others, type })) checkField(where, name, field);
  for (const field of Array.isArray(features) ? features : [features]) checkField(where, 'features', field);
  if (type !== undefined && !stream.takesTypes)
    throw new ValueError(
      expected(
        where,
        'no mapping',
        'fields.type',
        type,
        'The events that the model was trained with have no types.',
      ),
    );
}

/** Throws unless `value` is a text that is not empty. */
export function checkText(where: string, name: string, value: unknown): void {
  if (typeof value !== 'string' || value === '') throw new ValueError(expected(where, 'a text', name, value));
}

/** Throws unless a list or a text is one of field names. */
function checkField(where: string, name: string, field: unknown): void {
  if (field !== undefined) checkText(where, `fields.${name}`, field);
}

/** Names of the sources that run, by stream. */
const running = new WeakMap<DurableStream, Set<string>>();

/**
 * Starts a source; `run` returns when it has ended, or soon after `stop` is aborted. Two sources of one name would append
 * every message twice.
 */
export function startSource(
  where: string,
  stream: DurableStream,
  name: string,
  run: (stop: AbortSignal) => Promise<void>,
): StreamSource {
  checkId(where, 'source', name);
  const names = running.get(stream) ?? new Set<string>();
  running.set(stream, names);
  if (names.has(name))
    throw new StateError(
      `${where}: expected a source that does not run yet, got ${name}, which does. Stop it first, or use another source.`,
    );
  names.add(name);
  const controller = new AbortController();
  const done = run(controller.signal).finally(() => names.delete(name));
  // The caller may look at `done` later.
  done.catch(() => undefined);
  return {
    name,
    done,
    stop: () => {
      controller.abort();
      return done;
    },
  };
}

/** Most messages of one request: fewer where a stream takes only few waiting events. */
export const messagesPerRequest = (stream: DurableStream): number => Math.min(500, stream.maxRequest);

/** Appends messages as soon as the stream is not busy; returns false if it was stopped before. */
export async function appendWhenReady(
  stream: DurableStream,
  batch: SourceBatch,
  stop: AbortSignal,
): Promise<boolean> {
  for (;;) {
    try {
      await stream.appendBatch(batch);
      return true;
    } catch (error) {
      if (!(error instanceof StreamBusyError)) throw error;
      if (!(await pause(1000 * Math.min(1, error.retryAfter), stop))) return false;
    }
  }
}

/** Waits; returns false as soon as `stop` is aborted. */
export async function pause(milliseconds: number, stop: AbortSignal): Promise<boolean> {
  try {
    await sleep(milliseconds, undefined, { signal: stop });
  } catch (error) {
    if (!stop.aborted) throw error;
  }
  return !stop.aborted;
}
