import type { Tensor } from 'skein/tensor';
import { floats } from '../inputs.js';

/** Overwrites a parameter with the values that the peer starts from. */
export function start(parameter: Tensor | null, seed: number, scale: number): void {
  if (parameter === null) return;
  (parameter.dataSync() as Float32Array).set(floats(seed, parameter.shape, scale).dataSync() as Float32Array);
}
