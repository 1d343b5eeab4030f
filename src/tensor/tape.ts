/**
 * The tape: records which operation made which tensor, and the values that its backward needs.
 *
 * A node keeps edges to the nodes of its inputs, never the input tensors themselves, so a value lives only as long as
 * the user or a `save` refers to it. Saved values hold a reference to the storage, so disposing a tensor before
 * backward is safe; a version count detects values that were overwritten. The engine that walks the tape is in
 * `backward.ts`.
 */
import { type FloatArray, kernels } from '../native/index.js';
import { describe, InternalError, StateError, ValueError } from '../util/errors.js';
import { commonDevice, currentDevice, onDevice } from './device.js';
import { type DType, isFloat } from './dtype.js';
import { isCheckingFinite, isGradEnabled, setRecording } from './grad-mode.js';
import type { RowRange } from './row-range.js';
import { formatShape, type Shape } from './shape.js';
import type { SparseRows } from './sparse-rows.js';
import type { Storage } from './storage.js';
import { Tensor } from './tensor.js';

/** A function that receives a gradient and may return another of the same shape and dtype to use instead. */
export type GradientHook = (gradient: Tensor) => unknown;
/** A function that receives a leaf when its gradient of a backward pass is complete. */
export type LeafHook = (leaf: Tensor) => void;
export type Gradient = Tensor | SparseRows | RowRange;

/** The destination of an input's gradient: the node that made the input, a leaf, or none. */
export type Edge = TapeNode | Tensor | null;

/** The tape as seen by an operation's forward. */
export interface OpContext {
  /** Whether the operation is recorded; if not, forward may skip work that only backward needs. */
  readonly recording: boolean;
  /** Whether input `i` needs a gradient. */
  needs(i: number): boolean;
  /** Keeps values for backward. They stay valid even if the user disposes them. */
  save(...tensors: readonly Tensor[]): void;
}

/** The tape as seen by an operation's backward. */
export interface BackwardContext {
  /** The saved values, in the order they were saved. */
  readonly saved: readonly Tensor[];
  /**
   * Returns a handle of saved value `i` to return as a gradient; it is exclusive unless a later pass needs the value.
   */
  take(i: number): Tensor;
  /** Whether the operation was called with an input `i`. */
  hasInput(i: number): boolean;
  needs(i: number): boolean;
  /** Whether input `i` is a leaf, whose gradient may be sparse rows. */
  isLeaf(i: number): boolean;
}

export interface OpRule<A> {
  readonly name: string;
  forward(ctx: OpContext, inputs: readonly Tensor[], attributes: A): Tensor | readonly Tensor[];
  /** Computes one gradient per input (null where not needed) from one per output (null where there is none). */
  backward(
    ctx: BackwardContext,
    gradients: readonly (Tensor | null)[],
    attributes: A,
  ): readonly (Gradient | null | undefined)[];
  /**
   * Whether the rule keeps no reference to gradients that it receives or returns, so that the engine may recycle them.
   */
  readonly builtin?: boolean;
  /** Whether to record even if no input requires a gradient, because the function reads parameters. */
  readonly always?: boolean;
}

/** The context of operations that are not recorded. */
const unrecorded: OpContext = { recording: false, needs: () => false, save: () => {} };

let nextId = 0;

/** Returns the least id of nodes recorded from now on. @internal */
export function tapePosition(): number {
  return nextId;
}

/** A recorded operation, which is also the context of its forward and backward. */
export class TapeNode implements OpContext, BackwardContext {
  /** Ids increase: an input's node has a smaller id than the node that uses it. */
  readonly id = nextId++;
  readonly recording = true;
  readonly edges: readonly Edge[];
  /** The output index of each input in its node; null if all are 0. */
  readonly indices: readonly number[] | null;
  /** The shapes of the inputs, and so of their gradients. */
  readonly shapes: readonly Shape[];
  readonly dtypes: readonly DType[];
  outputs = 1;
  /** Gradient hooks per output. */
  hooks: (GradientHook[] | undefined)[] | null = null;
  readonly #rule: OpRule<unknown>;
  readonly #attributes: unknown;
  /** The gradients of the results that a backward pass has accumulated so far. */
  gradients: (Tensor | null)[] | null = null;
  #saved: Tensor[] = [];
  /** The memory of the saved tensors, held so that disposing these is safe; null after `take`. */
  #storages: (Storage | null)[] = [];
  #versions: number[] = [];
  /** Handles for saved tensors that were disposed before backward; built-in rules do not keep them. */
  readonly #revived: Tensor[] = [];
  #released = false;
  readonly #onDevice: boolean;
  /**
   * Reference count on a device: the running `applyRule`, undisposed results, and recorded operations that used one.
   */
  #holders = 1;
  /** Whether the running pass keeps the saved values for a later one. */
  #retain = false;

  constructor(rule: OpRule<unknown>, attributes: unknown, inputs: readonly Tensor[]) {
    this.#rule = rule;
    this.#attributes = attributes;
    this.edges = inputs.map(edgeOf);
    this.shapes = inputs.map((t) => t.shape);
    this.dtypes = inputs.map((t) => t.dtype);
    this.indices = inputs.some((t) => t.outputIndex !== 0) ? inputs.map((t) => t.outputIndex) : null;
    this.#onDevice = (inputs.length === 0 ? currentDevice() : inputs[0].device) !== null;
    if (this.#onDevice) for (const edge of this.edges) if (edge instanceof TapeNode) edge.hold();
  }

  hold(): void {
    this.#holders++;
  }

  /**
   * Undoes one `hold`. No backward pass can reach a node without holders, so the values that it saved on a device are
   * released immediately: the garbage collector does not manage that memory.
   */
  unhold(): void {
    if (!this.#onDevice) return;
    const left: TapeNode[] = [this];
    for (let node = left.pop(); node !== undefined; node = left.pop()) {
      if (--node.#holders > 0) continue;
      node.release();
      for (const edge of node.edges) if (edge instanceof TapeNode) left.push(edge);
    }
  }

  get name(): string {
    return this.#rule.name;
  }

  get builtin(): boolean {
    return this.#rule.builtin === true;
  }

  hasInput(i: number): boolean {
    return i < this.edges.length;
  }

  needs(i: number): boolean {
    return i < this.edges.length && this.edges[i] !== null;
  }

  isLeaf(i: number): boolean {
    return this.edges[i] instanceof Tensor;
  }

  save(...tensors: readonly Tensor[]): void {
    for (let i = 0; i < tensors.length; i++) {
      const { storage } = tensors[i];
      // User code gets a handle outside the tape; built-in rules, which are not recorded, get the tensor itself.
      this.#saved.push(this.builtin ? tensors[i] : tensors[i].alias());
      this.#storages.push(storage.retain());
      this.#versions.push(storage.version);
    }
  }

  get saved(): readonly Tensor[] {
    if (this.#released) {
      throw new StateError(
        `backward: expected the recorded graph of ${this.name}, but a backward pass has already freed it. ` +
          'Pass { retainGraph: true } to the first backward to go through it again.',
      );
    }
    const saved = this.#saved;
    for (let i = 0; i < saved.length; i++) {
      const storage = this.#storages[i];
      if (storage === null) continue;
      if (saved[i].isDisposed) {
        saved[i] = saved[i].alias(storage);
        if (this.builtin) this.#revived.push(saved[i]);
      }
      if (storage.version === this.#versions[i]) continue;
      throw new StateError(
        `backward: a tensor of shape ${formatShape(saved[i].shape)} that ${this.name} saved was changed in place after it ` +
          'was used. Compute on a clone, or change it after backward.',
      );
    }
    return saved;
  }

  take(i: number): Tensor {
    const handle = this.saved[i];
    const own = handle.alias();
    if (!this.#retain) {
      handle.dispose();
      this.#storages[i]?.release();
      this.#storages[i] = null;
      this.#saved[i] = own;
    }
    return own;
  }

  runBackward(
    gradients: readonly (Tensor | null)[],
    retain: boolean,
  ): readonly (Gradient | null | undefined)[] {
    // Read for its check: a freed graph is an error even if the rule saved nothing.
    this.saved;
    this.#retain = retain;
    const results = this.#rule.backward(this, gradients, this.#attributes);
    if (!Array.isArray(results) || results.length !== this.edges.length) {
      const got = Array.isArray(results) ? `${results.length} gradients` : describe(results);
      throw this.mistake(`${this.name} has ${this.edges.length} inputs but its backward returned ${got}`);
    }
    return results;
  }

  /** Makes an error about the result of backward: an internal one for a built-in operation. */
  mistake(what: string): Error {
    if (this.builtin) return new InternalError(what);
    return new ValueError(`${what}. Return one gradient per input, of the input's shape and dtype, or null.`);
  }

  /** Releases the saved values. */
  release(): void {
    for (const storage of this.#storages) storage?.release();
    for (const handle of this.#revived) handle.dispose();
    this.#revived.length = 0;
    this.#saved = [];
    this.#storages = [];
    this.#released = true;
  }
}

export function edgeOf(t: Tensor): Edge {
  return t.node ?? (t.requiresGrad ? t : null);
}

/** Runs a rule's forward and records it if any input requires a gradient. */
export function applyRule<A>(
  rule: OpRule<A>,
  inputs: readonly Tensor[],
  attributes: A,
): Tensor | readonly Tensor[] {
  let record = false;
  if (isGradEnabled()) {
    record = rule.always === true;
    for (const t of inputs) if (t.requiresGrad) record = true;
  }
  const node = record ? new TapeNode(rule as OpRule<unknown>, attributes, inputs) : null;
  try {
    return run(rule, inputs, attributes, node);
  } finally {
    node?.unhold();
  }
}

function run<A>(
  rule: OpRule<A>,
  inputs: readonly Tensor[],
  attributes: A,
  node: TapeNode | null,
): Tensor | readonly Tensor[] {
  const before = setRecording(false);
  let result: Tensor | readonly Tensor[];
  try {
    const device = commonDevice(rule.name, inputs);
    result =
      device === currentDevice()
        ? rule.forward(node ?? unrecorded, inputs, attributes)
        : onDevice(device, () => rule.forward(node ?? unrecorded, inputs, attributes));
  } finally {
    setRecording(before);
  }
  if (result instanceof Tensor) return finish(result, 0, node, inputs, rule.name);
  if (node !== null) node.outputs = result.length;
  return result.map((t, i) => finish(t, i, node, inputs, rule.name));
}

/** Checks a result if this is enabled, and attaches it to its node. */
function finish(
  result: Tensor,
  index: number,
  node: TapeNode | null,
  inputs: readonly Tensor[],
  name: string,
): Tensor {
  if (isCheckingFinite()) checkFinite(result, name);
  if (node === null || !isFloat(result.dtype)) return result;
  // An operation that returns its input must not overwrite the node of the input.
  const own =
    inputs.includes(result) || result.node !== null ? result.view(result.shape, result.strides) : result;
  own.node = node;
  node.hold();
  own.outputIndex = index;
  return own;
}

export function checkFinite(t: Tensor, name: string): void {
  if (!isFloat(t.dtype) || !t.isContiguous || t.device !== null) return;
  if (kernels().allFinite(t.array as FloatArray, t.size) === 1) return;
  const at = (t.array as FloatArray).findIndex((v) => !Number.isFinite(v));
  throw new ValueError(
    `${name}: produced ${t.array[at]} at position ${at} of a result of shape ${formatShape(t.shape)}. ` +
      'This is the first operation whose result is not finite; check its inputs.',
    { op: name, position: at },
  );
}
