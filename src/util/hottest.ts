/** Which rows a cache keeps: those of the highest scores. */
import { checkInteger, expected, ValueError } from './errors.js';

const where = 'hottest';

/** The `count` ids of the highest scores, in ascending order; of equal scores the lowest ids. */
export function hottest(scores: ArrayLike<number>, count: number): Int32Array {
  const n = scores.length;
  const chosen = new Int32Array(Math.min(checkInteger(where, 'count', count), n));
  if (chosen.length === n) return chosen.map((_, id) => id);
  if (chosen.length === 0) return chosen;
  const sorted = Float64Array.from(scores).sort();
  if (Number.isNaN(sorted[n - 1])) throw new ValueError(expected(where, 'numbers', 'scores', 'NaN'));
  const least = sorted[n - chosen.length];
  // How many of the lowest score that is still chosen.
  let ties = chosen.length;
  for (let i = n - 1; i >= 0 && sorted[i] > least; i--) ties--;
  let next = 0;
  for (let id = 0; id < n; id++) {
    if (scores[id] > least || (scores[id] === least && ties-- > 0)) chosen[next++] = id;
  }
  return chosen;
}
