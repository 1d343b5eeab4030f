/**
 * Results of shards become results of the whole: the larger (smaller) of two extremes, and two attentions over disjoint
 * sets of edges. A part has rows only for destinations with edges in its shard, so no row of it is empty.
 */
import type { FloatArray } from '../../../native/index.js';

/**
 * y[rows[i]], arg[rows[i]] take part[i] where it wins: NaN wins over numbers, of equals the lower slot. An arg of −1 says
 * that there is no value yet. `rows` null: row i.
 */
export function mergeExtreme(
  max: boolean,
  y: FloatArray,
  arg: Int32Array,
  part: FloatArray,
  argPart: Int32Array,
  rows: Int32Array | null,
  count: number,
  width: number,
): void {
  for (let i = 0; i < count; i++) {
    const at = (rows === null ? i : rows[i]) * width;
    for (let f = 0; f < width; f++) {
      const value = part[i * width + f];
      const slot = argPart[i * width + f];
      const best = y[at + f];
      const before = arg[at + f];
      const better = max ? value > best : value < best;
      const [nan, bestNan] = [Number.isNaN(value), Number.isNaN(best)];
      // Two NaNs tie as two equal numbers do.
      const tie = value === best || (nan && bestNan);
      const wins = before < 0 || better || (nan && !bestNan) || (tie && slot < before);
      if (!wins) continue;
      y[at + f] = value;
      arg[at + f] = slot;
    }
  }
}

/**
 * Joins attention over more edges into y [*, heads, width] and lse [*, heads] = log Σ exp(score), −∞ where there were none
 * yet: the result is attention over all of them. `rows` null: row i.
 */
export function mergeAttention(
  y: FloatArray,
  lse: FloatArray,
  part: FloatArray,
  lsePart: FloatArray,
  rows: Int32Array | null,
  count: number,
  heads: number,
  width: number,
): void {
  for (let i = 0; i < count; i++) {
    const row = rows === null ? i : rows[i];
    for (let h = 0; h < heads; h++) {
      const a = lse[row * heads + h];
      const b = lsePart[i * heads + h];
      const top = Math.max(a, b);
      const ea = Math.exp(a - top);
      const eb = Math.exp(b - top);
      lse[row * heads + h] = top + Math.log(ea + eb);
      const wa = ea / (ea + eb);
      const wb = eb / (ea + eb);
      const to = (row * heads + h) * width;
      const from = (i * heads + h) * width;
      for (let d = 0; d < width; d++) y[to + d] = wa * y[to + d] + wb * part[from + d];
    }
  }
}
