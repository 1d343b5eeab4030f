/** Initial parameter values that the peer uses too. */
import { GraphSAGE } from 'skein/gnn';
import type { Tensor } from 'skein/tensor';
import { floats } from '../inputs.js';

/** Overwrites a parameter. */
export function start(parameter: Tensor | null, seed: number, scale: number): void {
  if (parameter === null) return;
  (parameter.dataSync() as Float32Array).set(floats(seed, parameter.shape, scale).dataSync() as Float32Array);
}

export function startSage(sizes: readonly number[]): GraphSAGE {
  const model = new GraphSAGE(sizes);
  for (const [i, layer] of model.layers.entries()) {
    start(layer.linL.weight, 10 + i, 1 / 16);
    start(layer.linL.bias, 20 + i, 1 / 16);
    start(layer.linR?.weight ?? null, 30 + i, 1 / 16);
  }
  return model;
}
