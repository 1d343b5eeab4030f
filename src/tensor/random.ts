/**
 * The generator that random operations use when none is given: dropout masks, initial weights, random tensors. Seeded
 * with 0 at start, so a program without a seed still repeats itself.
 */
import { Random, type RandomState } from '../util/philox.js';

const shared = new Random(0);

/** Starts the shared generator anew from a seed (a whole number of at least 0). */
export function manualSeed(seed: number): void {
  shared.restore(new Random(seed).state());
}

/** The shared generator. */
export function defaultRandom(): Random {
  return shared;
}

/** Where the shared generator stands; survives JSON. Give it to `setRandomState` to go on from here. */
export function randomState(): RandomState {
  return shared.state();
}

export function setRandomState(state: RandomState): void {
  shared.restore(state);
}
