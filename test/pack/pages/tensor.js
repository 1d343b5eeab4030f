/** Tensors and differentiation alone: a matrix found by gradient descent. */
import { manualSeed, noGrad, randn, scope, tensor } from 'skein/tensor';
import { leave } from './fit.js';

manualSeed(1);
const x = randn([50, 3]);
const y = x.matmul(tensor([[1], [-2], [0.5]]));
const w = randn([3, 1]).setRequiresGrad();
leave(
  Array.from({ length: 60 }, () =>
    scope(() => {
      w.zeroGrad();
      const loss = x.matmul(w).sub(y).square().mean();
      loss.backward();
      noGrad(() => w.assign(w.sub(w.grad.mul(0.2))));
      return loss.item();
    }),
  ),
);
