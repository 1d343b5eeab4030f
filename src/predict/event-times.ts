/**
 * Checks the times of events that are appended to a stream in memory. They are in order, and none is far in the future: after it,
 * every event with the right time would be out of order.
 */
import { maxTime } from '../graph/temporal-events.js';
import { expected, ValueError } from '../util/errors.js';
import { timeNumber } from './check-questions.js';

/** Units of a stream's time in a second, by its clock; 0: the unit is not known. */
export const unitsPerSecond = { seconds: 1, milliseconds: 1000, stream: 0 } as const;

/** Times since 2001 in seconds or milliseconds are taken for what they look like; others mean only the order of the stream. */
export function guessClock(last: number): keyof typeof unitsPerSecond {
  if (last >= 1e9 && last < 1e10) return 'seconds';
  return last >= 1e12 && last < 1e13 ? 'milliseconds' : 'stream';
}

const month = 30 * 86_400;

export class EventTimes {
  readonly #clock: keyof typeof unitsPerSecond;
  /** How far ahead of the clock, or of the last event, an event may be. */
  readonly #ahead: number;

  /**
   * @param first time of the first event of the training stream
   * @param last time of its last event; −∞ if there is none
   */
  constructor(first: number, last: number) {
    this.#clock = guessClock(last);
    const unit = unitsPerSecond[this.#clock];
    this.#ahead = unit > 0 ? month * unit : Math.max(month, last > first ? last - first : 0);
  }

  /** Throws unless events can follow one at the time `last`; `lateAdvice` says what takes late events. */
  check(events: readonly { readonly time: number | Date }[], last: number, lateAdvice: string): void {
    const unit = unitsPerSecond[this.#clock];
    const clock = unit > 0 ? Math.max(last, (Date.now() / 1000) * unit) : last;
    // A stream without events may begin at any time.
    const most = clock === Number.NEGATIVE_INFINITY ? maxTime : clock + this.#ahead;
    let before = last;
    for (const [i, event] of events.entries()) {
      const time = timeNumber(event.time);
      const path = `events[${i}].time`;
      if (time > most)
        throw new ValueError(
          expected('append', `a time of at most ${most}`, path, time, this.#advice(time, most)),
        );
      if (Number.isNaN(time)) throw new ValueError(expected('append', 'a finite number', path, time));
      if (time < before)
        throw new ValueError(
          `append: expected events in order of time for ${path}, got ${time} after ${before}. Sort the events. ${lateAdvice}`,
        );
      before = time;
    }
  }

  #advice(time: number, most: number): string {
    if (this.#clock === 'stream')
      return `Events may be up to ${this.#ahead} after the last one; check the unit of times.`;
    const hint = this.#clock === 'seconds' && time / 1000 <= most ? ' Divide milliseconds by 1000.' : '';
    return `Times are ${this.#clock} since 1970, and events may be up to 30 days ahead of the clock.${hint}`;
  }
}
