/**
 * The points of a search in the unit cube. Point k is a function of (seed, k) alone, so a search can be resumed and
 * enlarged: the first n points of a larger search are those of a smaller one.
 */
import { Random } from '../../util/philox.js';

export type PointSampler = 'quasi' | 'random';

/** The random stream of points, separate from others with the same seed. */
const pointStream = 0x73656172;

/** Returns a function that gives point k in `dimensions` dimensions. */
export function pointSequence(
  sampler: PointSampler,
  seed: number,
  dimensions: number,
): (k: number) => number[] {
  const random = new Random(seed, pointStream);
  if (sampler === 'random')
    return (k) => {
      const own = random.split(k);
      return Array.from({ length: dimensions }, () => own.nextFloat());
    };
  const shifts = Array.from({ length: dimensions }, () => random.nextFloat());
  const steps = quasiSteps(dimensions);
  return (k) => steps.map((step, i) => fraction(0.5 + shifts[i] + (k + 1) * step));
}

/**
 * Returns the steps of the R_d sequence (M. Roberts, "The unreasonable effectiveness of quasirandom sequences", 2018):
 * powers of 1/φ, where φ is the root of x^(d+1) = x + 1 above 1.
 */
function quasiSteps(dimensions: number): number[] {
  let phi = 2;
  // The iteration contracts; 64 steps reach the precision of a double in every dimension.
  for (let i = 0; i < 64; i++) phi = (1 + phi) ** (1 / (dimensions + 1));
  return Array.from({ length: dimensions }, (_, i) => fraction(phi ** -(i + 1)));
}

const fraction = (x: number): number => x - Math.floor(x);
