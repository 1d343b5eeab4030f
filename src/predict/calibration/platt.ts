/**
 * Platt scaling: a logistic function from scores to probabilities, fitted to scores of true and of false items by Newton's
 * method with a line search (Lin, Lin and Weng, A Note on Platt's Probabilistic Outputs, 2007). Targets are smoothed, so that
 * separable scores have a finite slope.
 */
export interface Platt {
  /** Probability = 1 / (1 + exp(−(slope · score + intercept))). */
  readonly slope: number;
  readonly intercept: number;
}

export function probabilityOf({ slope, intercept }: Platt, score: number): number {
  return 1 / (1 + Math.exp(-(slope * score + intercept)));
}

/** Fits both parameters. Scores that are not finite are left out. */
export function fitPlatt(trueScores: Iterable<number>, falseScores: Iterable<number>): Platt {
  const [positive, negative] = [trueScores, falseScores].map((scores) =>
    Array.from(scores).filter(Number.isFinite),
  );
  if (positive.length === 0 || negative.length === 0) return { slope: 0, intercept: 0 };
  const { mean, deviation } = spread([...positive, ...negative]);
  const x = Float64Array.from([...positive, ...negative], (score) => (score - mean) / deviation);
  const [high, low] = [(positive.length + 1) / (positive.length + 2), 1 / (negative.length + 2)];
  const targets = Float64Array.from(x, (_, i) => (i < positive.length ? high : low));
  const { slope, intercept } = newton(x, targets);
  // A lower score never means a higher probability: a model that ranks backwards says nothing.
  if (!(slope > 0)) return { slope: 0, intercept: Math.log(positive.length / negative.length) };
  return { slope: slope / deviation, intercept: intercept - (slope * mean) / deviation };
}

function spread(values: readonly number[]): { readonly mean: number; readonly deviation: number } {
  const mean = values.reduce((sum, x) => sum + x / values.length, 0);
  const variance = values.reduce((sum, x) => sum + (x - mean) ** 2 / values.length, 0);
  return { mean, deviation: variance > 0 ? Math.sqrt(variance) : 1 };
}

const maxSteps = 100;

function newton(x: Float64Array, targets: Float64Array): Platt {
  let at = { slope: 0, intercept: 0 };
  let loss = crossEntropy(x, targets, at);
  for (let step = 0; step < maxSteps; step++) {
    // Gradient, and Hessian with a small ridge that keeps it invertible.
    let [ga, gb, haa, hab, hbb] = [0, 0, 1e-12, 0, 1e-12];
    for (const [i, value] of x.entries()) {
      const p = probabilityOf(at, value);
      const [d, w] = [p - targets[i], p * (1 - p)];
      ga += d * value;
      gb += d;
      haa += w * value * value;
      hab += w * value;
      hbb += w;
    }
    if (Math.abs(ga) < 1e-7 && Math.abs(gb) < 1e-7) break;
    const determinant = haa * hbb - hab * hab;
    const [da, db] = [-(hbb * ga - hab * gb) / determinant, -(haa * gb - hab * ga) / determinant];
    const improved = lineSearch(x, targets, at, { slope: da, intercept: db }, loss, ga * da + gb * db);
    if (improved === null) break;
    at = improved.at;
    loss = improved.loss;
  }
  return at;
}

/** Halves the step until the loss falls enough; null if it does not. */
function lineSearch(
  x: Float64Array,
  targets: Float64Array,
  from: Platt,
  step: Platt,
  loss: number,
  descent: number,
): { readonly at: Platt; readonly loss: number } | null {
  for (let size = 1; size > 1e-10; size /= 2) {
    const at = { slope: from.slope + size * step.slope, intercept: from.intercept + size * step.intercept };
    const next = crossEntropy(x, targets, at);
    if (next < loss + 1e-4 * size * descent) return { at, loss: next };
  }
  return null;
}

/** The sum of −t·log p − (1 − t)·log(1 − p), without overflow. */
function crossEntropy(x: Float64Array, targets: Float64Array, { slope, intercept }: Platt): number {
  let sum = 0;
  for (const [i, value] of x.entries()) {
    const z = slope * value + intercept;
    sum += Math.max(z, 0) - targets[i] * z + Math.log1p(Math.exp(-Math.abs(z)));
  }
  return sum;
}
