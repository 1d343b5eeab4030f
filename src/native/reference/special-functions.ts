/**
 * Functions that `Math` lacks, in double precision (about 1e-15 relative): the error function's complement, the
 * normal distribution, stable logistic forms.
 *
 * erf: for |x| < 3 the all-positive series 2/√π · e^(−x²) · Σ 2ⁿ x^(2n+1) / (2n+1)!!, beyond that the continued
 * fraction of erfc, evaluated backwards.
 */

const twoOverRootPi = 2 / Math.sqrt(Math.PI);

function erfSeries(x: number): number {
  const square = x * x;
  let term = x;
  let sum = x;
  for (let n = 1; Math.abs(term) > 1e-17 * Math.abs(sum); n++) {
    term *= (2 * square) / (2 * n + 1);
    sum += term;
  }
  return twoOverRootPi * Math.exp(-square) * sum;
}

/** For x >= 2. */
function erfcFraction(x: number): number {
  let tail = x;
  for (let n = 60; n >= 1; n--) tail = x + n / 2 / tail;
  return Math.exp(-x * x) / (tail * Math.sqrt(Math.PI));
}

/** 1 − erf(x), without cancellation for large x. */
function erfc(x: number): number {
  if (x >= 2) return erfcFraction(x);
  if (x <= -2) return 2 - erfcFraction(-x);
  return 1 - erfSeries(x);
}

/** Cumulative distribution of the standard normal. */
export function normalCumulative(x: number): number {
  return 0.5 * erfc(-x * Math.SQRT1_2);
}

export function normalDensity(x: number): number {
  return Math.exp(-0.5 * x * x) / Math.sqrt(2 * Math.PI);
}

export function sigmoid(x: number): number {
  const e = Math.exp(-Math.abs(x));
  return (x < 0 ? e : 1) / (1 + e);
}

/** log(1 + exp(x)). */
export function softplus(x: number): number {
  return (x > 0 ? x : 0) + Math.log1p(Math.exp(-Math.abs(x)));
}
