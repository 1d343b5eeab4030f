/** Checks of events for a stream before anything is written. */
import { maxTime } from '../../graph/temporal-events.js';
import { expected, ValueError } from '../../util/errors.js';
import { timeNumber } from '../check-questions.js';
import type { EventColumnMaker } from '../event-columns.js';
import { maxIdBytes } from './id-window.js';
import type { PlainEvent } from './log-entry.js';
import type { StreamEvent } from './types.js';

/** Returns an event whose names and time have been checked, with all fields; `path` names it in errors. */
export function plainEvent(
  path: string,
  event: StreamEvent,
  columns: EventColumnMaker,
  perSecond: number,
): PlainEvent {
  const { time: given } = event;
  // Dates are in the unit of the stream: seconds, if it is not known.
  const time = given instanceof Date ? timeNumber(given) * (perSecond === 0 ? 1 : perSecond) : given;
  // The comparison is also false for NaN.
  if (!(Math.abs(time) <= maxTime))
    throw new ValueError(expected('append', `a finite number up to ${maxTime}`, `${path}.time`, event.time));
  columns.check(path, event);
  return {
    head: checkedName(`${path}.head`, event.head),
    tail: checkedName(`${path}.tail`, event.tail),
    time: plainNumber(time),
    id: event.id === undefined ? null : checkId('append', `${path}.id`, event.id),
    type: event.type ?? null,
    features:
      event.features === undefined || event.features.length === 0 ? null : plainNumbers(event.features),
  };
}

/** Returns the name of a node, which may be new, so that it must be one that files can have. */
function checkedName(name: string, given: string | number): string {
  const text = String(given);
  if (text !== '' && isWellFormed(text)) return text;
  throw new ValueError(expected('append', 'a name that is not empty', name, given));
}

/** Returns a number as JSON gives it back: adding 0 turns −0 into 0. */
const plainNumber = (value: number): number => value + 0;

/** Returns a copy that the caller cannot change before it is applied. */
export function plainNumbers(values: readonly number[]): number[] {
  return Array.from(values, plainNumber);
}

/** Throws unless a value is a text of 1 to 128 bytes without halves of characters, which have no bytes. */
export function checkId(where: string, name: string, id: unknown): string {
  if (typeof id === 'string' && id !== '' && id.length <= maxIdBytes && isWellFormed(id)) {
    if (Buffer.byteLength(id) <= maxIdBytes) return id;
  }
  throw new ValueError(expected(where, `a text of 1 to ${maxIdBytes} bytes`, name, id));
}

function isWellFormed(text: string): boolean {
  return !/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/.test(text);
}
