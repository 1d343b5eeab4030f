/**
 * How differentiable functions are made: a forward, a backward, and what passes between them. Built-in operations and
 * user code use the same two functions; only `builtinOp` lets the engine recycle gradients, because its rules keep no
 * hold on them.
 */
import { applyRule, type BackwardContext, type Gradient, type OpContext } from './tape.js';
import type { Tensor } from './tensor.js';

type Gradients = readonly (Gradient | null | undefined)[];

export interface OpDefinition<A> {
  readonly name: string;
  /** Computes the result, unrecorded. `ctx.save(…)` keeps tensors for backward. */
  forward(ctx: OpContext, inputs: readonly Tensor[], attributes: A): Tensor;
  /** Gradient for each input from the gradient of the result; null where `ctx.needs(i)` is false. */
  backward(ctx: BackwardContext, gradient: Tensor, attributes: A): Gradients;
  /** Record even when no input requires a gradient, because the function uses parameters of its own. */
  readonly always?: boolean;
}

export interface MultiOpDefinition<A> {
  readonly name: string;
  forward(ctx: OpContext, inputs: readonly Tensor[], attributes: A): readonly Tensor[];
  /** `gradients` has null for results that nothing used. */
  backward(ctx: BackwardContext, gradients: readonly (Tensor | null)[], attributes: A): Gradients;
  readonly always?: boolean;
}

/**
 * Makes a differentiable function from a forward and a backward.
 *
 * Backward runs unrecorded; it may call `enableGrad` and a nested `backward` to recompute what it did not save.
 *
 * @example
 * const cube = defineOp<void>({
 *   name: 'cube',
 *   forward(ctx, [x]) {
 *     ctx.save(x);
 *     return x.mul(x).mul(x);
 *   },
 *   backward: ({ saved: [x] }, gy) => [gy.mul(x).mul(x).mul(3)],
 * });
 * const y = cube([x]);
 */
export function defineOp<A = void>(
  definition: OpDefinition<A>,
): (inputs: readonly Tensor[], attributes: A) => Tensor {
  return make(definition, false);
}

/** Like `defineOp`, for a function with several results. */
export function defineMultiOp<A = void>(
  definition: MultiOpDefinition<A>,
): (inputs: readonly Tensor[], attributes: A) => Tensor[] {
  return (inputs, attributes) => applyRule(definition, inputs, attributes) as Tensor[];
}

/** `defineOp` for Skein's own operations. @internal */
export function builtinOp<A = void>(
  definition: OpDefinition<A>,
): (inputs: readonly Tensor[], attributes: A) => Tensor {
  return make(definition, true);
}

function make<A>(
  definition: OpDefinition<A>,
  builtin: boolean,
): (inputs: readonly Tensor[], attributes: A) => Tensor {
  const rule = {
    name: definition.name,
    builtin,
    always: definition.always === true,
    forward: (ctx: OpContext, inputs: readonly Tensor[], attributes: A) =>
      definition.forward(ctx, inputs, attributes),
    // With one result, backward runs only when its gradient arrived.
    backward: (ctx: BackwardContext, gradients: readonly (Tensor | null)[], attributes: A) =>
      definition.backward(ctx, gradients[0] as Tensor, attributes),
  };
  return (inputs, attributes) => applyRule(rule, inputs, attributes) as Tensor;
}
