/**
 * The shared generator, which random operations (dropout masks, initial weights, random tensors) use by default. Its
 * initial seed is 0, so a program that sets no seed is reproducible too.
 */
import { Random, type RandomState } from '../util/philox.js';

const shared = new Random(0);

/** Restarts the shared generator from a seed (a whole number of at least 0). */
export function manualSeed(seed: number): void {
  shared.restore(new Random(seed).state());
}

/** Returns the shared generator. */
export function defaultRandom(): Random {
  return shared;
}

/**
 * Returns the state of the shared generator, which can be stored as JSON. Pass it to `setRandomState` to continue from
 * it.
 */
export function randomState(): RandomState {
  return shared.state();
}

export function setRandomState(state: RandomState): void {
  shared.restore(state);
}
