/** The score of one pair of rows and its gradient, for the twins in `scores.ts`. */
import { scoreOps } from '../op-codes.js';
import type { FloatArray } from '../types.js';

const closest = 1e-8;

/** score(a[ai …], b[bi …]), rounded to the arrays' own type so that equal scores compare equal. */
export function scoreOf(
  op: number,
  a: FloatArray,
  ai: number,
  b: FloatArray,
  bi: number,
  width: number,
): number {
  const round = a instanceof Float32Array ? Math.fround : (x: number): number => x;
  let total = 0;
  switch (scoreOps[op]) {
    case 'dot':
      for (let c = 0; c < width; c++) total += a[ai + c] * b[bi + c];
      return round(total);
    case 'l2':
      for (let c = 0; c < width; c++) total += (a[ai + c] - b[bi + c]) ** 2;
      return round(-Math.sqrt(Math.max(total, closest)));
    default:
      for (let c = 0; c < width; c++) total += Math.abs(a[ai + c] - b[bi + c]);
      return round(-total);
  }
}

/** ga += g · d(score)/da, gb += g · d(score)/db. */
export function addGradient(
  op: number,
  g: number,
  score: number,
  a: FloatArray,
  ai: number,
  b: FloatArray,
  bi: number,
  ga: FloatArray | Float64Array | null,
  gai: number,
  gb: FloatArray | Float64Array | null,
  gbi: number,
  width: number,
): void {
  const distance = -score;
  const kind = scoreOps[op];
  if (kind === 'l2' && !(distance > Math.sqrt(closest))) return;
  for (let c = 0; c < width; c++) {
    const x = a[ai + c];
    const y = b[bi + c];
    const da = kind === 'dot' ? y : kind === 'l2' ? (y - x) / distance : Math.sign(y - x);
    const db = kind === 'dot' ? x : -da;
    if (ga !== null) ga[gai + c] += g * da;
    if (gb !== null) gb[gbi + c] += g * db;
  }
}
