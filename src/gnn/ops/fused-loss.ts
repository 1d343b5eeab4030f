/**
 * Losses whose forward pass computes the gradients too, while the scores are in the cache. Backward returns these; a
 * second backward pass through the same graph computes them again.
 */
import { binaryCode, kernels, reduceCode } from '../../native/index.js';
import { Tensor } from '../../tensor/index.js';
import { builtinOp } from '../../tensor/op.js';
import { pack } from '../../tensor/ops/common.js';

/** Gradients of the inputs of a loss; null where none is computed. */
export type Gradients = readonly (Tensor | null)[];

export interface ReadyGradients {
  /** Gradients that forward computed; backward removes them. */
  ready: Gradients | null;
}

interface FusedLoss<A> {
  readonly name: string;
  /** Allocates the gradients that `run` fills. */
  gradientsFor(inputs: readonly Tensor[], needs: (input: number) => boolean): Gradients;
  /** Writes the loss to `total`; fills `gradients` if they are given. */
  run(inputs: readonly Tensor[], attributes: A, gradients: Gradients | null, total: Tensor): void;
}

/** Makes the operation of a loss. */
export function fusedLoss<A extends ReadyGradients>({
  name,
  gradientsFor,
  run,
}: FusedLoss<A>): ReturnType<typeof builtinOp<A>> {
  return builtinOp<A>({
    name,
    forward(ctx, inputs, attributes) {
      const made = ctx.recording ? gradientsFor(inputs, (i) => ctx.needs(i)) : null;
      const total = Tensor.allocate(inputs[0].dtype, []);
      run(inputs, attributes, made, total);
      attributes.ready = made;
      ctx.save(...inputs);
      return total;
    },
    backward(ctx, gy, attributes) {
      let gradients = attributes.ready;
      attributes.ready = null;
      if (gradients === null || gradients.some((t) => t?.isDisposed)) {
        gradients = gradientsFor(ctx.saved, (i) => ctx.needs(i));
        run(ctx.saved, attributes, gradients, Tensor.allocate(gy.dtype, []));
      }
      return gradients.map((g, i) => {
        if (g === null || !ctx.needs(i)) return null;
        scaleBy(g, gy);
        return g;
      });
    },
  });
}

/** Losses of edges with their scale. */
export interface LossPart {
  readonly losses: Tensor;
  readonly scale: number;
}

/** total = Σ scale · Σ losses. */
export function addUp(parts: readonly LossPart[], total: Tensor): void {
  if (total.device !== null) {
    addUpOnDevice(parts, total);
    return;
  }
  let sum = 0;
  for (const { losses, scale } of parts) {
    const out = losses.dtype === 'f32' ? new Float32Array(1) : new Float64Array(1);
    kernels().reduce(reduceCode.sum, losses.floats, out, 1, losses.size, 1);
    sum += scale * out[0];
  }
  total.floats[0] = sum;
}

/** total = Σ scale · Σ losses, without reading values to the host. */
function addUpOnDevice(parts: readonly LossPart[], total: Tensor): void {
  kernels().fill(total.floats, 1, 0);
  for (const { losses, scale } of parts) {
    const sum = Tensor.allocate(total.dtype, []);
    if (losses.size === 0) kernels().fill(sum.floats, 1, 0);
    else kernels().reduce(reduceCode.sum, losses.floats, sum.floats, 1, losses.size, 1);
    kernels().axpy(scale, sum.floats, total.floats, 1);
    sum.dispose();
  }
}

/** Multiplies a gradient that forward computed by that of the loss, in place. */
export function scaleBy(g: Tensor, gy: Tensor): void {
  if (g.device !== null) {
    const once = Int32Array.of(1, g.size, 1, 0);
    kernels().binary(binaryCode.mul, g.floats, pack(gy), g.floats, g.size, once);
    return;
  }
  const factor = pack(gy)[0];
  if (factor !== 1) kernels().scale(g.floats, g.size, factor);
}
