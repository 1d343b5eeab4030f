/**
 * f16 and bf16 as 16-bit patterns: exact reading, writing rounded to nearest with ties to even; every NaN becomes the
 * same quiet one.
 */

const f32 = new Float32Array(1);
const bits = new Uint32Array(f32.buffer);

/** Rounds to an integer, ties to even. */
function roundEven(x: number): number {
  const floor = Math.floor(x);
  const rest = x - floor;
  return rest > 0.5 || (rest === 0.5 && floor % 2 !== 0) ? floor + 1 : floor;
}

/** A pattern with `exponentBits` and `fractionBits`; carries run from the fraction into the exponent and to infinity. */
function encode(x: number, exponentBits: number, fractionBits: number): number {
  const infinite = (2 ** exponentBits - 1) * 2 ** fractionBits;
  if (Number.isNaN(x)) return infinite + 2 ** (fractionBits - 1);
  const sign = x < 0 || Object.is(x, -0) ? 0x8000 : 0;
  const a = Math.abs(x);
  if (a === 0 || a === Infinity) return sign + (a === 0 ? 0 : infinite);
  const bias = 2 ** (exponentBits - 1) - 1;
  // log2 may be off by one next to a power of two.
  let exponent = Math.floor(Math.log2(a));
  if (2 ** exponent > a) exponent--;
  else if (2 ** (exponent + 1) <= a) exponent++;
  exponent = Math.max(exponent, 1 - bias);
  // In two factors: 2^(fractionBits − exponent) alone could overflow.
  const fraction = roundEven(a * 2 ** -exponent * 2 ** fractionBits);
  const pattern = fraction + (exponent + bias - 1) * 2 ** fractionBits;
  return sign + Math.min(pattern, infinite);
}

export function toF16(x: number): number {
  return encode(x, 5, 10);
}

export function toBF16(x: number): number {
  return encode(x, 8, 7);
}

export function fromF16(pattern: number): number {
  const sign = pattern & 0x8000 ? -1 : 1;
  const exponent = (pattern >> 10) & 31;
  const fraction = pattern & 1023;
  if (exponent === 31) return fraction === 0 ? sign * Infinity : NaN;
  return exponent === 0 ? sign * fraction * 2 ** -24 : sign * (1024 + fraction) * 2 ** (exponent - 25);
}

export function fromBF16(pattern: number): number {
  bits[0] = pattern << 16;
  return f32[0];
}
