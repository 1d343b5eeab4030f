/** Gradients of a scalar by central differences, for tests of whole losses in f64. */
import type { Tensor } from 'skein/tensor';
import { expect } from 'vitest';

/** Compares the gradients of leaves, dense or sparse, with differences of `loss`, which is called again and again. */
export function expectGradients(loss: () => Tensor, leaves: readonly Tensor[]): void {
  for (const leaf of leaves) leaf.zeroGrad();
  loss().backward();
  for (const leaf of leaves) {
    const values = leaf.floats;
    const grad = denseGradient(leaf);
    for (let i = 0; i < values.length; i++) {
      const value = values[i];
      // The error of the difference is of the order of step² · third derivative + 1e-16 / step.
      const step = 1e-5;
      values[i] = value + step;
      const above = loss().item();
      values[i] = value - step;
      const below = loss().item();
      values[i] = value;
      expect(grad[i]).toBeCloseTo((above - below) / (2 * step), 6);
    }
  }
}

/** Returns the gradient of a leaf, 0 where it has none. */
function denseGradient(leaf: Tensor): Float64Array {
  const dense = new Float64Array(leaf.size);
  if (leaf.grad !== null) dense.set(leaf.grad.dataSync());
  leaf.sparseGrad?.addTo(dense);
  return dense;
}
