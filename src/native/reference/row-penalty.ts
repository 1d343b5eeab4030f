/** The twin of rowPenalty. */
import type { Kernels } from '../kernels.js';

export const rowPenaltyTwins = {
  rowPenalty({ x, ids, weights, loss, grad, count, width, power, complex }) {
    const numbers = complex ? width / 2 : width;
    for (let i = 0; i < count; i++) {
      const first = (ids === null ? i : ids[i]) * width;
      const factor = weights[i] * power;
      let sum = 0;
      for (let c = 0; c < numbers; c++) {
        const [re, im] = [x[first + c], complex ? x[first + numbers + c] : 0];
        const modulus = Math.hypot(re, im);
        sum += modulus ** power;
        if (grad === null) continue;
        const slope = modulus === 0 ? 0 : modulus ** (power - 2);
        grad[i * width + c] = factor * slope * re;
        if (complex) grad[i * width + numbers + c] = factor * slope * im;
      }
      loss[i] = weights[i] * sum;
    }
  },
} satisfies Partial<Kernels>;
