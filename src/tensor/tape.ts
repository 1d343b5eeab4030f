/**
 * The tape: which operation made which tensor, and what its backward needs.
 *
 * A node keeps edges to the nodes of its inputs, never the input tensors themselves, so a value lives only as long as
 * somebody needs it: the user, or a `save`. Saved values hold a reference to the storage, so disposing a tensor before
 * backward is safe; a version count refuses values that were overwritten since. The engine that walks the tape is in
 * `backward.ts`.
 */
import { type FloatArray, kernels } from '../native/index.js';
import { InternalError, StateError, ValueError } from '../util/errors.js';
import { isFloat } from './dtype.js';
import { isCheckingFinite, isGradEnabled, noGrad } from './grad-mode.js';
import { formatShape } from './shape.js';
import type { SparseRows } from './sparse-rows.js';
import type { Tensor } from './tensor.js';

/** May return another gradient to use instead. */
export type GradientHook = (gradient: Tensor) => Tensor | undefined;
/** Called with the leaf when its gradient of this backward pass is complete. */
export type LeafHook = (leaf: Tensor) => void;
export type Gradient = Tensor | SparseRows;

/** Where the gradient of an input goes: to the node that made it, to a leaf, or nowhere. */
export type Edge = { readonly node: TapeNode; readonly index: number } | { readonly leaf: Tensor } | null;

/** What an operation's forward leaves for its backward. */
export class OpContext {
  /** Whether anything is recorded: forward may skip work that only backward needs. */
  readonly recording: boolean;
  readonly #needs: readonly boolean[];
  readonly #leaves: readonly boolean[];
  #saved: Tensor[] = [];
  #versions: number[] = [];
  #released = false;

  constructor(inputs: readonly Tensor[], recording: boolean) {
    this.recording = recording;
    this.#needs = recording ? inputs.map((t) => t.requiresGrad) : [];
    this.#leaves = recording ? inputs.map((t) => t.isLeaf) : [];
  }

  /** Whether input `i` needs a gradient. */
  needs(i: number): boolean {
    return this.#needs[i] ?? false;
  }

  /** Whether input `i` is a leaf, whose gradient may be sparse rows. */
  isLeaf(i: number): boolean {
    return this.#leaves[i] ?? false;
  }

  /** Keeps values for backward. They stay valid even if the user disposes them. */
  save(...tensors: readonly Tensor[]): void {
    if (!this.recording) return;
    for (const t of tensors) {
      this.#saved.push(t.alias());
      this.#versions.push(t.storage.version);
    }
  }

  /** The saved values, in the order they were saved. */
  saved(name: string): readonly Tensor[] {
    if (this.#released) {
      throw new StateError(
        `backward: expected the recorded graph of ${name}, but a backward pass has already freed it. ` +
          'Pass { retainGraph: true } to the first backward to go through it again.',
      );
    }
    for (const [i, t] of this.#saved.entries()) {
      if (t.storage.version !== this.#versions[i]) {
        throw new StateError(
          `backward: a tensor of shape ${formatShape(t.shape)} that ${name} saved was changed in place after it was used. ` +
            'Compute on a clone, or change it after backward.',
        );
      }
    }
    return this.#saved;
  }

  release(): void {
    for (const t of this.#saved) t.dispose();
    this.#saved = [];
    this.#versions = [];
    this.#released = true;
  }

  get isReleased(): boolean {
    return this.#released;
  }
}

export interface OpRule<A> {
  readonly name: string;
  forward(ctx: OpContext, inputs: readonly Tensor[], attributes: A): Tensor | readonly Tensor[];
  /** One gradient per input (null where none is needed), given one per output (null where none arrived). */
  backward(
    ctx: BackwardContext,
    gradients: readonly (Tensor | null)[],
    attributes: A,
  ): readonly (Gradient | null | undefined)[];
  /** Built-in rules keep no hold on what they receive or return, so the engine may recycle it. */
  readonly builtin?: boolean;
  /** Recorded even when no input requires a gradient (the function reads parameters by itself). */
  readonly always?: boolean;
}

/** What backward sees of the context. */
export interface BackwardContext {
  readonly saved: readonly Tensor[];
  /** Whether the operation was called with an input `i`. */
  hasInput(i: number): boolean;
  needs(i: number): boolean;
  isLeaf(i: number): boolean;
}

let nextId = 0;

export class TapeNode {
  /** Grows with time: an input's node has a smaller id than the node that uses it. */
  readonly id = nextId++;
  readonly name: string;
  readonly edges: readonly Edge[];
  readonly builtin: boolean;
  readonly outputs: number;
  /** Gradient hooks per output. */
  hooks: (GradientHook[] | undefined)[] | null = null;
  readonly #context: OpContext;
  readonly #run: (
    ctx: BackwardContext,
    gradients: readonly (Tensor | null)[],
  ) => readonly (Gradient | null | undefined)[];

  constructor(
    rule: OpRule<unknown>,
    context: OpContext,
    attributes: unknown,
    inputs: readonly Tensor[],
    outputs: number,
  ) {
    this.name = rule.name;
    this.builtin = rule.builtin === true;
    this.outputs = outputs;
    this.edges = inputs.map(edgeOf);
    this.#context = context;
    this.#run = (ctx, gradients) => rule.backward(ctx, gradients, attributes);
  }

  get isReleased(): boolean {
    return this.#context.isReleased;
  }

  runBackward(gradients: readonly (Tensor | null)[]): readonly (Gradient | null | undefined)[] {
    const context = this.#context;
    const saved = context.saved(this.name);
    const view = {
      saved,
      hasInput: (i: number) => i < this.edges.length,
      needs: (i: number) => context.needs(i),
      isLeaf: (i: number) => context.isLeaf(i),
    };
    const results = this.#run(view, gradients);
    if (results.length !== this.edges.length) {
      throw new InternalError(
        `${this.name} has ${this.edges.length} inputs but its backward returned ${results.length} gradients`,
      );
    }
    return results;
  }

  release(): void {
    this.#context.release();
  }
}

export function edgeOf(t: Tensor): Edge {
  if (t.node !== null) return { node: t.node, index: t.outputIndex };
  return t.requiresGrad ? { leaf: t } : null;
}

/** Runs a rule's forward and records it when any input requires a gradient. */
export function applyRule<A>(rule: OpRule<A>, inputs: readonly Tensor[], attributes: A): Tensor[] {
  let recording = false;
  if (isGradEnabled()) {
    recording = rule.always === true;
    for (const t of inputs) if (t.requiresGrad) recording = true;
  }
  const context = new OpContext(inputs, recording);
  const result = noGrad(() => rule.forward(context, inputs, attributes));
  let outputs = (Array.isArray(result) ? result : [result]) as Tensor[];
  if (isCheckingFinite()) for (const t of outputs) checkFinite(t, rule.name);
  if (recording) {
    // An operation that hands back its input must not overwrite the input's own place in the tape.
    outputs = outputs.map((t) => (inputs.includes(t) || t.node !== null ? t.view(t.shape, t.strides) : t));
    const node = new TapeNode(rule as OpRule<unknown>, context, attributes, inputs, outputs.length);
    for (const [i, t] of outputs.entries()) {
      if (!isFloat(t.dtype)) continue;
      t.node = node;
      t.outputIndex = i;
    }
  }
  return outputs;
}

export function checkFinite(t: Tensor, name: string): void {
  if (!isFloat(t.dtype) || !t.isContiguous || kernels().allFinite(t.array as FloatArray, t.size) === 1)
    return;
  const at = (t.array as FloatArray).findIndex((v) => !Number.isFinite(v));
  throw new ValueError(
    `${name}: produced ${t.array[at]} at position ${at} of a result of shape ${formatShape(t.shape)}. ` +
      'This is the first operation whose result is not finite; look at its inputs.',
    { op: name, position: at },
  );
}
