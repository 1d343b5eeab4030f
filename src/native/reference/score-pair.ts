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
    case 'squaredL2':
      for (let c = 0; c < width; c++) total += (a[ai + c] - b[bi + c]) ** 2;
      return round(-total);
    case 'biasedSquaredL2':
      for (let c = 0; c < width - 1; c++) total += (a[ai + c] - b[bi + c]) ** 2;
      return round(width > 0 ? a[ai + width - 1] + b[bi + width - 1] - total : 0);
    case 'modulus': {
      const half = Math.floor(width / 2);
      for (let c = 0; c < half; c++)
        total += Math.hypot(a[ai + c] - b[bi + c], a[ai + half + c] - b[bi + half + c]);
      return round(-total);
    }
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
  const half = Math.floor(width / 2);
  for (let c = 0; c < width; c++) {
    const x = a[ai + c];
    const y = b[bi + c];
    let da: number;
    let db: number | null = null;
    if (kind === 'dot') [da, db] = [y, x];
    else if (kind === 'l2') da = (y - x) / distance;
    else if (kind === 'l1') da = Math.sign(y - x);
    else if (kind === 'modulus') da = c < 2 * half ? slopeOfModulus(a, ai, b, bi, c, half) : 0;
    else if (kind === 'biasedSquaredL2' && c === width - 1) [da, db] = [1, 1];
    else da = 2 * (y - x);
    db ??= -da;
    if (ga !== null) ga[gai + c] += g * da;
    if (gb !== null) gb[gbi + c] += g * db;
  }
}

/** The derivative of minus the modulus by column c of a; 0 where the modulus is 0. */
function slopeOfModulus(
  a: FloatArray,
  ai: number,
  b: FloatArray,
  bi: number,
  c: number,
  half: number,
): number {
  const difference = (at: number): number => b[bi + at] - a[ai + at];
  const modulus = Math.hypot(difference(c), difference(c < half ? c + half : c - half));
  return modulus === 0 ? 0 : difference(c) / modulus;
}
