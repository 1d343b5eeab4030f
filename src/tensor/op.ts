/**
 * Defines differentiable functions: a forward, a backward, and the values passed between them. Built-in operations and
 * user code use the same two functions; only `builtinOp` lets the engine recycle gradients, because built-in rules
 * keep no reference to them.
 */
import { applyRule, type BackwardContext, type Gradient, type OpContext } from './tape.js';
import type { Tensor } from './tensor.js';

type Gradients = readonly (Gradient | null | undefined)[];

export interface OpDefinition<A> {
  readonly name: string;
  /** Computes the result without recording. `ctx.save(…)` keeps tensors for backward. */
  forward(ctx: OpContext, inputs: readonly Tensor[], attributes: A): Tensor;
  /** Computes the gradient of each input from that of the result; null where `ctx.needs(i)` is false. */
  backward(ctx: BackwardContext, gradient: Tensor, attributes: A): Gradients;
  /** Record even if no input requires a gradient, because the function reads parameters. */
  readonly always?: boolean;
}

export interface MultiOpDefinition<A> {
  readonly name: string;
  forward(ctx: OpContext, inputs: readonly Tensor[], attributes: A): readonly Tensor[];
  /** `gradients` is null for results that were not used. */
  backward(ctx: BackwardContext, gradients: readonly (Tensor | null)[], attributes: A): Gradients;
  readonly always?: boolean;
}

/**
 * Makes a differentiable function from a forward and a backward.
 *
 * Backward is not recorded; it may call `enableGrad` and a nested `backward` to recompute values that were not saved.
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

/** Like `defineOp`, for built-in operations. @internal */
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
    // With one result, backward runs only if there is a gradient.
    backward: (ctx: BackwardContext, gradients: readonly (Tensor | null)[], attributes: A) =>
      definition.backward(ctx, gradients[0] as Tensor, attributes),
  };
  return (inputs, attributes) => applyRule(rule, inputs, attributes) as Tensor;
}
