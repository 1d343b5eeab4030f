/** Checks custom buffer states. */
import { expected, ValueError } from '../../util/errors.js';

/** Returns the states; throws unless each has exactly `capacity` distinct partitions. */
export function checkStates(
  where: string,
  states: readonly ArrayLike<number>[] | undefined,
  partitions: number,
  capacity: number,
): number[][] {
  if (states === undefined || states.length === 0) {
    const advice = 'The CUSTOM ordering needs the resident partitions of each state.';
    throw new ValueError(expected(where, 'at least one state', 'states', states, advice));
  }
  return states.map((given, s) => {
    const state = Array.from(given);
    if (state.length !== capacity) {
      const advice = 'A state must fill the buffer.';
      throw new ValueError(expected(where, `${capacity} partitions`, `states[${s}]`, state, advice));
    }
    for (const k of state) {
      if (!Number.isInteger(k) || k < 0 || k >= partitions) {
        throw new ValueError(
          expected(where, `partitions from 0 to ${partitions - 1}`, `states[${s}]`, state),
        );
      }
    }
    if (new Set(state).size !== state.length) {
      throw new ValueError(expected(where, 'every partition once', `states[${s}]`, state));
    }
    return state;
  });
}
