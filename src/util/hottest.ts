/** Selects the rows that a cache keeps. */
import { iota } from './arrays.js';
import { checkInteger, expected, ValueError } from './errors.js';

const where = 'selectHottest';

/** Returns the `count` ids with the highest scores, in ascending order; lower ids win ties. */
export function selectHottest(scores: ArrayLike<number>, count: number): Int32Array {
  const n = scores.length;
  const chosen = new Int32Array(Math.min(checkInteger(where, 'count', count), n));
  if (chosen.length === n) return iota(n);
  if (chosen.length === 0) return chosen;
  const sorted = Float64Array.from(scores).sort();
  if (Number.isNaN(sorted[n - 1])) throw new ValueError(expected(where, 'numbers', 'scores', 'NaN'));
  const least = sorted[n - chosen.length];
  // The number of chosen ids whose score is the least chosen one.
  let ties = chosen.length;
  for (let i = n - 1; i >= 0 && sorted[i] > least; i--) ties--;
  let next = 0;
  for (let id = 0; id < n; id++) {
    if (scores[id] > least || (scores[id] === least && ties-- > 0)) chosen[next++] = id;
  }
  return chosen;
}
