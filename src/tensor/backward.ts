/**
 * The engine that walks the tape backwards.
 *
 * Nodes run in descending id, so all uses of a value come before the value; contributions add up in that fixed order.
 * A leaf's gradient is complete when its last use has been visited: then its hooks run and `grad` is written. Gradients
 * between built-in operations go back to the pool as soon as they are used; whatever user code has seen does not.
 */
import { kernels } from '../native/index.js';
import { DTypeError, describe, expected, InternalError, ShapeError, StateError } from '../util/errors.js';
import { commonDevice, onDevice } from './device.js';
import { isCheckingFinite, noGrad } from './grad-mode.js';
import { copyInto, materialize } from './ops/common.js';
import { RowRange } from './row-range.js';
import { closeScope, openScope } from './scope.js';
import { contiguousStrides, formatShape, sameShape, sizeOf } from './shape.js';
import { SparseRows } from './sparse-rows.js';
import { checkFinite, type Edge, edgeOf, type Gradient, type GradientHook, TapeNode } from './tape.js';
import { Tensor } from './tensor.js';

export interface BackwardOptions {
  /** Keep what forward saved, so that another backward pass can go through it. */
  readonly retainGraph?: boolean;
}

/** Adds d(root)/d(leaf) to `grad` of every leaf that requires it. `gradient` defaults to 1 for a scalar root. */
export function backward(root: Tensor, gradient?: Tensor, options: BackwardOptions = {}): void {
  run([root], [gradient], null, options.retainGraph === true);
}

/** `backward` from several roots at once. */
export function backwardAll(
  roots: readonly Tensor[],
  gradients: readonly (Tensor | undefined)[],
  options: BackwardOptions = {},
): void {
  run(roots, gradients, null, options.retainGraph === true);
}

/** d(output)/d(input) for each input, leaving every `grad` as it is; null for an input that output does not depend on. */
export function grad(
  output: Tensor,
  inputs: readonly Tensor[],
  gradient?: Tensor,
  options: BackwardOptions = {},
): (Tensor | null)[] {
  const captured = new Map<string | Tensor, Tensor | null>();
  const keys = inputs.map((t) => {
    if (!t.requiresGrad)
      throw new StateError('grad: expected inputs that require a gradient, got one that does not.');
    const key = captureKey(edgeOf(t), t.outputIndex);
    captured.set(key, null);
    return key;
  });
  run([output], [gradient], captured, options.retainGraph === true);
  return keys.map((key) => captured.get(key) ?? null);
}

/**
 * The gradients of several roots' weighted sum for each leaf, outside every `grad` and without running hooks: for rules that
 * compute a part of the tape again inside their backward. @internal
 */
export function gradientsOf(
  roots: readonly Tensor[],
  gradients: readonly Tensor[],
  leaves: readonly Tensor[],
): (Tensor | null)[] {
  const captured: Captured = new Map(leaves.map((leaf) => [leaf, null]));
  run(roots, gradients, captured, false, false);
  return leaves.map((leaf) => captured.get(leaf) ?? null);
}

function captureKey(edge: Edge, index: number): string | Tensor {
  if (edge === null) throw new InternalError('a tensor without an edge cannot be captured');
  return edge instanceof TapeNode ? `${edge.id}:${index}` : edge;
}

type Captured = Map<string | Tensor, Tensor | null>;

class Pass {
  readonly #leafSlots = new Map<Tensor, Gradient>();
  readonly #leafUses = new Map<Tensor, number>();
  /** Sums made here, which may be added to in place. */
  readonly #owned = new Set<Tensor>();
  readonly #captured: Captured | null;
  /** Whether hooks of leaves run: not inside a rule, whose results will pass them later. */
  readonly #hooks: boolean;

  constructor(captured: Captured | null, hooks: boolean) {
    this.#captured = captured;
    this.#hooks = hooks;
  }

  /** All nodes below the roots, newest first; counts the uses of each leaf. */
  collect(roots: readonly Edge[]): TapeNode[] {
    const nodes: TapeNode[] = [];
    const seen = new Set<TapeNode>();
    const stack: Edge[] = [...roots];
    while (stack.length > 0) {
      const edge = stack.pop() as Edge;
      if (edge instanceof TapeNode) {
        if (seen.has(edge)) continue;
        seen.add(edge);
        nodes.push(edge);
        // What a pass that failed half-way left behind.
        edge.gradients = null;
        for (const next of edge.edges) stack.push(next);
      } else if (edge !== null) {
        this.#leafUses.set(edge, (this.#leafUses.get(edge) ?? 0) + 1);
      }
    }
    return nodes.sort((a, b) => b.id - a.id);
  }

  /** Takes one handle of a gradient (or null) along an edge. */
  deliver(edge: Edge, index: number, gradient: Gradient | null): void {
    if (edge === null) {
      discard(gradient);
    } else if (edge instanceof Tensor) {
      this.#deliverToLeaf(edge, gradient);
    } else if (gradient !== null) {
      edge.gradients ??= new Array<Tensor | null>(edge.outputs).fill(null);
      const before = edge.gradients[index];
      edge.gradients[index] = before === null ? densify(gradient) : this.#sum(before, gradient);
    }
  }

  #deliverToLeaf(leaf: Tensor, gradient: Gradient | null): void {
    if (gradient !== null) {
      const before = this.#leafSlots.get(leaf);
      this.#leafSlots.set(leaf, before === undefined ? gradient : this.#sumAny(before, gradient));
    }
    const left = (this.#leafUses.get(leaf) as number) - 1;
    this.#leafUses.set(leaf, left);
    if (left === 0) this.#finishLeaf(leaf);
  }

  #finishLeaf(leaf: Tensor): void {
    let gradient = this.#leafSlots.get(leaf);
    if (gradient === undefined) return;
    this.#leafSlots.delete(leaf);
    if (this.#captured !== null && !this.#captured.has(leaf)) {
      discard(gradient);
      return;
    }
    if (gradient instanceof RowRange) gradient = densify(gradient);
    if (leaf.hooks !== null || this.#captured !== null) {
      if (gradient instanceof SparseRows) gradient = densify(gradient);
      for (const hook of this.#hooks ? [...(leaf.hooks ?? [])] : [])
        gradient = hooked(hook, gradient as Tensor);
      // Hooks may keep what they saw or returned: go on with a handle of our own, which `exclusive` copies.
      gradient = (gradient as Tensor).alias();
    }
    if (this.#captured !== null) this.#captured.set(leaf, exclusive(gradient as Tensor));
    else storeLeafGradient(leaf, gradient, leaf.hooks !== null);
    if (this.#hooks) for (const hook of [...(leaf.leafHooks ?? [])]) hook(leaf);
  }

  /** Runs one node and sends its results on. */
  visit(node: TapeNode, retain: boolean): void {
    const slots = node.gradients;
    node.gradients = null;
    if (slots === null) {
      for (const edge of node.edges) this.deliver(edge, 0, null);
      if (!retain) node.release();
      return;
    }
    const seenByUser = this.#runHooks(node, slots) || !node.builtin;
    const results = node.builtin ? recycled(node, slots, retain) : node.runBackward(slots, retain);
    const handles = ownHandles(node, results, slots);
    for (let i = 0; i < handles.length; i++) {
      const handle = handles[i];
      if (handle instanceof Tensor && isCheckingFinite())
        checkFinite(handle, `${node.name} (backward, input ${i})`);
      this.deliver(node.edges[i], node.indices?.[i] ?? 0, handle);
    }
    if (!seenByUser) for (const g of slots) g?.dispose();
    if (!retain) node.release();
  }

  /** Applies hooks and captures; true when user code has received a gradient. */
  #runHooks(node: TapeNode, slots: (Tensor | null)[]): boolean {
    if (node.hooks === null && this.#captured === null) return false;
    let seen = false;
    for (const [i, slot] of slots.entries()) {
      if (slot === null) continue;
      for (const hook of [...(node.hooks?.[i] ?? [])]) {
        slots[i] = hooked(hook, slots[i] as Tensor);
        seen = true;
      }
      const key = `${node.id}:${i}`;
      if (this.#captured?.has(key)) {
        this.#captured.set(key, exclusive((slots[i] as Tensor).alias()));
        seen = true;
      }
    }
    return seen;
  }

  #sumAny(a: Gradient, b: Gradient): Gradient {
    if (a instanceof SparseRows && b instanceof SparseRows) return joined(a, b);
    return this.#sum(densify(a), b);
  }

  /** a + b, in the memory of a where nobody else holds it. */
  #sum(a: Tensor, b: Gradient): Tensor {
    let total = a;
    if (!this.#owned.has(a)) {
      total = exclusive(a);
      this.#owned.add(total);
    }
    if (b instanceof SparseRows) {
      b.addTo(total.floats);
      b.dispose();
      return total;
    }
    const rows = b instanceof Tensor ? b : b.rows;
    const start = b instanceof Tensor ? 0 : b.start * sizeOf(total.shape.slice(1));
    const addend = rows.isContiguous ? rows : materialize(rows);
    const place = start === 0 ? total.floats : total.floats.subarray(start);
    kernels().axpy(1, addend.floats, place, rows.size);
    rows.dispose();
    return total;
  }
}

function run(
  roots: readonly Tensor[],
  gradients: readonly (Tensor | undefined)[],
  captured: Captured | null,
  retain: boolean,
  hooks = true,
): void {
  // Values cannot move between devices within a pass, so all of it is where the roots are.
  const walk = (): void => {
    const pass = new Pass(captured, hooks);
    const edges = roots.map((root) => {
      if (!root.requiresGrad) {
        throw new StateError(
          'backward: expected a tensor that depends on a leaf with requiresGrad, got one that does not.',
        );
      }
      return edgeOf(root);
    });
    const starts = roots.map((root, i) => rootGradient(root, gradients[i]));
    const nodes = pass.collect(edges);
    for (const [i, edge] of edges.entries()) pass.deliver(edge, roots[i].outputIndex, starts[i]);
    for (const node of nodes) pass.visit(node, retain);
  };
  noGrad(() => onDevice(commonDevice('backward', roots), walk));
}

function rootGradient(root: Tensor, given: Tensor | undefined): Tensor {
  if (given === undefined) {
    if (root.size !== 1) {
      throw new ShapeError(
        expected(
          'backward',
          'a gradient',
          'a root that is not a scalar',
          formatShape(root.shape),
          'Reduce it with sum() or mean(), or pass its gradient.',
        ),
      );
    }
    const one = Tensor.allocate(root.dtype, root.shape);
    kernels().fill(one.floats, 1, 1);
    return one;
  }
  if (!sameShape(given.shape, root.shape)) {
    throw new ShapeError(
      expected('backward', `shape ${formatShape(root.shape)}`, 'gradient', formatShape(given.shape)),
    );
  }
  if (given.dtype !== root.dtype)
    throw new DTypeError(expected('backward', root.dtype, 'gradient', given.dtype));
  return given.alias();
}

/** The gradient that goes on after a hook has seen it. */
function hooked(hook: GradientHook, gradient: Tensor): Tensor {
  const returned = hook(gradient);
  if (returned === undefined || returned === null) return gradient;
  if (
    !(returned instanceof Tensor) ||
    returned.dtype !== gradient.dtype ||
    !sameShape(returned.shape, gradient.shape)
  ) {
    const got =
      returned instanceof Tensor
        ? `${returned.dtype} of shape ${formatShape(returned.shape)}`
        : describe(returned);
    throw new ShapeError(
      `registerHook: expected nothing or a gradient of ${gradient.dtype} and shape ${formatShape(gradient.shape)} from the hook, got ${got}.`,
    );
  }
  return returned;
}

/** Runs a built-in rule; what it made and did not return goes back to the pool. */
function recycled(
  node: TapeNode,
  slots: readonly (Tensor | null)[],
  retain: boolean,
): readonly (Gradient | null | undefined)[] {
  const outer = openScope();
  let results: readonly (Gradient | null | undefined)[] = [];
  try {
    results = node.runBackward(slots, retain);
  } finally {
    closeScope(outer, results);
  }
  return results;
}

/** One handle of its own for each result, checked, so that disposing one never takes another's memory. */
function ownHandles(
  node: TapeNode,
  results: readonly (Gradient | null | undefined)[],
  received: readonly (Tensor | null)[],
): (Gradient | null)[] {
  return results.map((result, i) => {
    if (result === null || result === undefined) return null;
    const sparse = result instanceof SparseRows;
    const dtype = sparse || result instanceof Tensor || result instanceof RowRange ? result.dtype : null;
    if (dtype !== node.dtypes[i] || !sameShape(result.shape, node.shapes[i])) {
      const got = dtype === null ? describe(result) : `${dtype} of shape ${formatShape(result.shape)}`;
      throw node.mistake(
        `${node.name}: backward returned ${got} for input ${i}, which is ${node.dtypes[i]} of shape ${formatShape(node.shapes[i])}`,
      );
    }
    if (sparse) return result;
    if (result instanceof RowRange) return new RowRange(result.shape, result.start, result.rows.alias());
    const taken = !node.builtin || received.includes(result) || results.indexOf(result) < i;
    return taken ? result.alias() : result;
  });
}

function storeLeafGradient(leaf: Tensor, gradient: Tensor | SparseRows, seenByUser: boolean): void {
  const before = leaf.ownGrad;
  if (gradient instanceof SparseRows) {
    if (before !== null) {
      gradient.addTo(before.floats);
      gradient.dispose();
      before.storage.version++;
    } else {
      leaf.sparseGrad = leaf.sparseGrad === null ? gradient : joined(leaf.sparseGrad, gradient);
    }
    return;
  }
  if (before === null) {
    const total = exclusive(gradient);
    total.kept = true;
    leaf.sparseGrad?.addTo(total.floats);
    leaf.sparseGrad?.dispose();
    leaf.sparseGrad = null;
    leaf.setOwnGrad(total, seenByUser);
    return;
  }
  const addend = gradient.isContiguous ? gradient : materialize(gradient);
  kernels().axpy(1, addend.floats, before.floats, before.size);
  before.storage.version++;
  gradient.dispose();
}

/** A contiguous tensor that shares its memory with no other. */
function exclusive(t: Tensor): Tensor {
  if (t.isContiguous && !t.storage.isShared && t.storage.data.length === t.size) return t;
  const copy = materialize(t);
  t.dispose();
  return copy;
}

/** A dense gradient; a dense one is given back as it is. */
function densify(gradient: Gradient): Tensor {
  if (gradient instanceof Tensor) return gradient;
  const { shape } = gradient;
  const dense = Tensor.allocate(gradient.dtype, shape);
  kernels().fill(dense.floats, dense.size, 0);
  if (gradient instanceof SparseRows) {
    gradient.addTo(dense.floats);
    gradient.dispose();
    return dense;
  }
  const strides = contiguousStrides(shape);
  copyInto(gradient.rows, dense, strides, gradient.start * strides[0]);
  gradient.rows.dispose();
  return dense;
}

/** Both, one after the other, in place of the two. */
function joined(a: SparseRows, b: SparseRows): SparseRows {
  const both = a.concat(b);
  a.dispose();
  b.dispose();
  return both;
}

function discard(gradient: Gradient | null): void {
  if (gradient instanceof Tensor || gradient instanceof SparseRows) gradient.dispose();
  else if (gradient instanceof RowRange) gradient.rows.dispose();
}
