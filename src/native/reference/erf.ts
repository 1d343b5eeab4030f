/**
 * The error function to f64 precision: its Taylor series near 0, a continued fraction for the tail.
 */
export function erf(x: number): number {
  const a = Math.abs(x);
  if (Number.isNaN(x)) return x;
  if (a > 6) return Math.sign(x);
  return Math.sign(x) * (a < 2.5 ? series(a) : 1 - tail(a));
}

/** 2/√π · e^(−x²) · Σ 2ⁿ x^(2n+1) / (1·3·…·(2n+1)): all terms positive, so nothing cancels. */
function series(x: number): number {
  let term = x;
  let sum = x;
  for (let n = 1; term > sum * 1e-17; n++) {
    term *= (2 * x * x) / (2 * n + 1);
    sum += term;
  }
  return 1.1283791670955126 * Math.exp(-x * x) * sum;
}

/** erfc by the continued fraction e^(−x²)/√π · 1/(x + ½/(x + 1/(x + 3⁄2/(x + …)))). */
function tail(x: number): number {
  let fraction = x;
  for (let k = 60; k >= 1; k--) fraction = x + k / 2 / fraction;
  return (0.5641895835477563 * Math.exp(-x * x)) / fraction;
}
