/**
 * Draws standard normal numbers from random words by the Box–Muller transform.
 *
 * Logarithm and cosine are series in + − × ÷ √ alone, written operation for operation as in
 * `native/kernels/random/random.cpp`: IEEE 754 then fixes every bit, which no library's log or cos does. Relative
 * accuracy of each is about 1e-15.
 */
import { unitFloat64 } from './philox.js';

const float = new Float64Array(1);
const bits = new Uint32Array(float.buffer); // [low, high]: every platform of Node is little-endian

/** Adding and subtracting 1.5·2^52 rounds a small number to the nearest integer. */
const ROUND = 6755399441055744;

/** Returns log(u) for 0 < u <= 1: u = 2^e·m with m in (√½, √2], log m = 2·artanh((m − 1)/(m + 1)). */
function logUnit(u: number): number {
  float[0] = u;
  let e = (bits[1] >>> 20) - 1023;
  bits[1] = (bits[1] & 0xfffff) | 0x3ff00000;
  let m = float[0];
  if (m > 1.4142135623730951) {
    m *= 0.5;
    e += 1;
  }
  const f = m - 1;
  const s = f / (m + 1);
  const z = s * s;
  let p = 0.047619047619047616; // 1/21
  p = p * z + 0.05263157894736842; // 1/19 …
  p = p * z + 0.058823529411764705;
  p = p * z + 0.06666666666666667;
  p = p * z + 0.07692307692307693;
  p = p * z + 0.09090909090909091;
  p = p * z + 0.1111111111111111;
  p = p * z + 0.14285714285714285;
  p = p * z + 0.2;
  p = p * z + 0.3333333333333333;
  // ln 2 as a sum of two numbers: the first has trailing zeros, so its product with e is exact.
  return e * 0.6931471803691238 + (2 * s + (2 * s * (z * p) + e * 1.9082149292705877e-10));
}

/** Returns cos(2πu) for 0 <= u < 1: u is split exactly into quarter turns and a rest of at most 1/8 turn. */
function cosTurn(u: number): number {
  const t = 4 * u;
  const q = t + ROUND - ROUND; // 0 … 4
  const x = (t - q) * 1.5707963267948966;
  const z = x * x;
  let s = -7.647163731819816e-13; // −1/15!
  s = s * z + 1.6059043836821613e-10;
  s = s * z - 2.505210838544172e-8;
  s = s * z + 2.7557319223985893e-6;
  s = s * z - 0.0001984126984126984;
  s = s * z + 0.008333333333333333;
  s = s * z - 0.16666666666666666;
  s = x + x * (z * s);
  let c = 4.779477332387385e-14; // 1/16!
  c = c * z - 1.1470745597729725e-11;
  c = c * z + 2.08767569878681e-9;
  c = c * z - 2.755731922398589e-7;
  c = c * z + 2.48015873015873e-5;
  c = c * z - 0.001388888888888889;
  c = c * z + 0.041666666666666664;
  c = 1 - z * 0.5 + z * z * c;
  const value = q === 1 || q === 3 ? s : c;
  return q === 1 || q === 2 ? -value : value;
}

/** Returns a standard normal number. Words 0 and 1 give the radius, words 2 and 3 the angle. */
export function standardNormal(w0: number, w1: number, w2: number, w3: number): number {
  const u = unitFloat64(w0, w1) + 1.1102230246251565e-16; // (0, 1]: the logarithm needs no zero
  return Math.sqrt(-2 * logUnit(u)) * cosTurn(unitFloat64(w2, w3));
}
