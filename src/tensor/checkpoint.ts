/**
 * Checkpointing: keeps the inputs of a function instead of its intermediate values, and recomputes these in backward.
 */
import { backwardAll } from './backward.js';
import { enableGrad } from './grad-mode.js';
import { defineMultiOp } from './op.js';
import { randomState, setRandomState } from './random.js';
import type { Tensor } from './tensor.js';

type Body = (...inputs: Tensor[]) => Tensor;

/**
 * Returns fn(...inputs), holding only the inputs until backward, which runs fn again. Parameters that fn reads get
 * their gradients too. Random draws inside fn (dropout) from the shared generator repeat exactly.
 */
export function checkpoint(fn: Body, ...inputs: readonly Tensor[]): Tensor {
  return checkpointOp(inputs, { fn, random: randomState() })[0];
}

const checkpointOp = defineMultiOp<{ readonly fn: Body; readonly random: ReturnType<typeof randomState> }>({
  name: 'checkpoint',
  // fn may read parameters, so the call is recorded even if no input requires a gradient.
  always: true,
  forward(ctx, inputs, { fn }) {
    ctx.save(...inputs);
    return [fn(...inputs)];
  },
  backward(ctx, [gy], { fn, random }) {
    const now = randomState();
    setRandomState(random);
    const inputs = ctx.saved.map((t, i) => t.alias().setRequiresGrad(ctx.needs(i)));
    let output: Tensor;
    try {
      output = enableGrad(() => fn(...inputs));
    } finally {
      setRandomState(now);
    }
    if (output.requiresGrad) backwardAll([output], [gy as Tensor]);
    return inputs.map((t) => t.grad ?? t.sparseGrad);
  },
});
