/**
 * The plane that keeps most of the variance of rows: their first two principal components, by power iteration on the
 * covariance. The start is fixed, so equal rows give equal pictures.
 */
import { fromTypedArray, matmul, noGrad, scope, transpose } from '../../tensor/index.js';

export interface PlanePoints {
  readonly x: Float64Array;
  readonly y: Float64Array;
  /** Shares of the variance along both axes. */
  readonly explained: readonly [number, number];
}

const iterations = 200;

/** @param rows numbers of `width` columns */
export function principalPlane(rows: Float32Array, width: number): PlanePoints {
  const count = rows.length / width;
  const centred = centre(rows, width);
  const covariance = noGrad(() =>
    scope(() => {
      const matrix = fromTypedArray(centred, [count, width]);
      return Float64Array.from(matmul(transpose(matrix), matrix).dataSync() as Float32Array);
    }),
  );
  let total = 0;
  for (let i = 0; i < width; i++) total += covariance[i * width + i];
  const first = leadingDirection(covariance, width, []);
  const second = leadingDirection(covariance, width, [first.direction]);
  const project = ({ direction }: Leading): Float64Array =>
    Float64Array.from({ length: count }, (_, row) => {
      let sum = 0;
      for (let i = 0; i < width; i++) sum += centred[row * width + i] * direction[i];
      return sum;
    });
  const share = ({ variance }: Leading): number => (total > 0 ? variance / total : 0);
  return { x: project(first), y: project(second), explained: [share(first), share(second)] };
}

interface Leading {
  readonly direction: Float64Array;
  readonly variance: number;
}

function centre(rows: Float32Array, width: number): Float32Array {
  const count = rows.length / width;
  const mean = new Float64Array(width);
  for (let i = 0; i < rows.length; i++) mean[i % width] += rows[i] / Math.max(1, count);
  return rows.map((value, i) => value - mean[i % width]);
}

/** Returns the direction of the most variance that is orthogonal to others. */
function leadingDirection(covariance: Float64Array, width: number, others: readonly Float64Array[]): Leading {
  // No direction of the data is likely to be orthogonal to it.
  let direction = normalized(
    orthogonal(
      Float64Array.from({ length: width }, (_, i) => Math.sin(i + 1)),
      others,
    ),
  );
  let variance = 0;
  for (let step = 0; step < iterations; step++) {
    const next = new Float64Array(width);
    for (let i = 0; i < width; i++)
      for (let j = 0; j < width; j++) next[i] += covariance[i * width + j] * direction[j];
    const free = orthogonal(next, others);
    variance = Math.hypot(...free);
    if (variance === 0) break;
    const turned = normalized(free);
    const moved = turned.reduce((most, value, i) => Math.max(most, Math.abs(value - direction[i])), 0);
    direction = turned;
    if (moved < 1e-9) break;
  }
  // The sign is free: the largest coordinate is positive, so that pictures of similar rows look alike.
  const largest = direction.reduce((best, value) => (Math.abs(value) > Math.abs(best) ? value : best), 0);
  return { direction: largest < 0 ? direction.map((value) => -value) : direction, variance };
}

function orthogonal(vector: Float64Array, others: readonly Float64Array[]): Float64Array {
  const result = vector.slice();
  for (const other of others) {
    const along = result.reduce((sum, value, i) => sum + value * other[i], 0);
    for (let i = 0; i < result.length; i++) result[i] -= along * other[i];
  }
  return result;
}

function normalized(vector: Float64Array): Float64Array {
  const size = Math.hypot(...vector) || 1;
  return vector.map((value) => value / size);
}
