/**
 * The engine that walks the tape backwards.
 *
 * Nodes run in descending id, so all uses of a value come before the value; contributions add up in that fixed order.
 * A leaf's gradient is complete when its last use has been visited: then its hooks run and `grad` is written. Gradients
 * between built-in operations return to the pool as soon as they are used; gradients that user code has seen do not.
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
  /** Keep the values that forward saved, so that another backward pass can use them. */
  readonly retainGraph?: boolean;
}

/** Adds d(root)/d(leaf) to `grad` of every leaf that requires it. `gradient` defaults to 1 for a scalar root. */
export function backward(root: Tensor, gradient?: Tensor, options: BackwardOptions = {}): void {
  run([root], [gradient], null, options.retainGraph === true);
}

/** Runs `backward` from several roots in one pass. */
export function backwardAll(
  roots: readonly Tensor[],
  gradients: readonly (Tensor | undefined)[],
  options: BackwardOptions = {},
): void {
  run(roots, gradients, null, options.retainGraph === true);
}

/**
 * Returns d(output)/d(input) for each input without changing any `grad`; null if the output does not depend on the
 * input.
 */
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
 * Returns the gradient of the weighted sum of several roots for each leaf, without changing any `grad` or running
 * hooks: for rules that recompute a section of the tape in their backward. @internal
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
  readonly #leafGradients = new Map<Tensor, Gradient>();
  readonly #leafUses = new Map<Tensor, number>();
  /** Sums made in this pass, which may be added to in place. */
  readonly #owned = new Set<Tensor>();
  readonly #captured: Captured | null;
  /** Whether hooks of leaves run; not inside a rule, whose results reach the hooks later. */
  readonly #hooks: boolean;

  constructor(captured: Captured | null, hooks: boolean) {
    this.#captured = captured;
    this.#hooks = hooks;
  }

  /** Returns all nodes below the roots, newest first, and counts the uses of each leaf. */
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
        // A pass that failed may have left gradients.
        edge.gradients = null;
        for (const next of edge.edges) stack.push(next);
      } else if (edge !== null) {
        this.#leafUses.set(edge, (this.#leafUses.get(edge) ?? 0) + 1);
      }
    }
    return nodes.sort((a, b) => b.id - a.id);
  }

  /** Delivers one handle of a gradient (or null) along an edge, and takes ownership of it. */
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
      const before = this.#leafGradients.get(leaf);
      this.#leafGradients.set(leaf, before === undefined ? gradient : this.#sumAny(before, gradient));
    }
    const left = (this.#leafUses.get(leaf) as number) - 1;
    this.#leafUses.set(leaf, left);
    if (left === 0) this.#finishLeaf(leaf);
  }

  #finishLeaf(leaf: Tensor): void {
    let gradient = this.#leafGradients.get(leaf);
    if (gradient === undefined) return;
    this.#leafGradients.delete(leaf);
    if (this.#captured !== null && !this.#captured.has(leaf)) {
      discard(gradient);
      return;
    }
    if (gradient instanceof RowRange) gradient = densify(gradient);
    if (leaf.hooks !== null || this.#captured !== null) {
      if (gradient instanceof SparseRows) gradient = densify(gradient);
      for (const hook of this.#hooks ? [...(leaf.hooks ?? [])] : [])
        gradient = applyHook(hook, gradient as Tensor);
      // Hooks may keep the gradient that they saw or returned; `makeExclusive` copies through a separate handle.
      gradient = (gradient as Tensor).alias();
    }
    if (this.#captured !== null) this.#captured.set(leaf, makeExclusive(gradient as Tensor));
    else storeLeafGradient(leaf, gradient, leaf.hooks !== null);
    if (this.#hooks) for (const hook of [...(leaf.leafHooks ?? [])]) hook(leaf);
  }

  /** Runs one node and delivers its results. */
  visit(node: TapeNode, retain: boolean): void {
    const gradients = node.gradients;
    node.gradients = null;
    if (gradients === null) {
      for (const edge of node.edges) this.deliver(edge, 0, null);
      if (!retain) node.release();
      return;
    }
    const seenByUser = this.#runHooks(node, gradients) || !node.builtin;
    const results = node.builtin
      ? runBuiltinRule(node, gradients, retain)
      : node.runBackward(gradients, retain);
    const handles = makeHandles(node, results, gradients);
    for (let i = 0; i < handles.length; i++) {
      const handle = handles[i];
      if (handle instanceof Tensor && isCheckingFinite())
        checkFinite(handle, `${node.name} (backward, input ${i})`);
      this.deliver(node.edges[i], node.indices?.[i] ?? 0, handle);
    }
    if (!seenByUser) for (const g of gradients) g?.dispose();
    if (!retain) node.release();
  }

  /** Applies hooks and captures; returns whether user code has received a gradient. */
  #runHooks(node: TapeNode, gradients: (Tensor | null)[]): boolean {
    if (node.hooks === null && this.#captured === null) return false;
    let seen = false;
    for (const [i, gradient] of gradients.entries()) {
      if (gradient === null) continue;
      for (const hook of [...(node.hooks?.[i] ?? [])]) {
        gradients[i] = applyHook(hook, gradients[i] as Tensor);
        seen = true;
      }
      const key = `${node.id}:${i}`;
      if (this.#captured?.has(key)) {
        this.#captured.set(key, makeExclusive((gradients[i] as Tensor).alias()));
        seen = true;
      }
    }
    return seen;
  }

  #sumAny(a: Gradient, b: Gradient): Gradient {
    if (a instanceof SparseRows && b instanceof SparseRows) return concatSparse(a, b);
    return this.#sum(densify(a), b);
  }

  /** Returns a + b, in the memory of `a` if it is not shared. */
  #sum(a: Tensor, b: Gradient): Tensor {
    let total = a;
    if (!this.#owned.has(a)) {
      total = makeExclusive(a);
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
    const target = start === 0 ? total.floats : total.floats.subarray(start);
    kernels().axpy(1, addend.floats, target, rows.size);
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
  // Values cannot move between devices within a pass, so the whole pass runs on the device of the roots.
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

/** Runs a hook and returns the gradient to continue with. */
function applyHook(hook: GradientHook, gradient: Tensor): Tensor {
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

/** Runs a built-in rule; tensors that it made and did not return go back to the pool. */
function runBuiltinRule(
  node: TapeNode,
  gradients: readonly (Tensor | null)[],
  retain: boolean,
): readonly (Gradient | null | undefined)[] {
  const outer = openScope();
  let results: readonly (Gradient | null | undefined)[] = [];
  try {
    results = node.runBackward(gradients, retain);
  } finally {
    closeScope(outer, results);
  }
  return results;
}

/** Checks the results and returns a separate handle for each, so that disposing one never frees another's memory. */
function makeHandles(
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
      leaf.sparseGrad = leaf.sparseGrad === null ? gradient : concatSparse(leaf.sparseGrad, gradient);
    }
    return;
  }
  if (before === null) {
    const total = makeExclusive(gradient);
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

/** Returns a contiguous tensor that shares its memory with no other; disposes `t` if it copies. */
function makeExclusive(t: Tensor): Tensor {
  if (t.isContiguous && !t.storage.isShared && t.storage.data.length === t.size) return t;
  const copy = materialize(t);
  t.dispose();
  return copy;
}

/** Returns a dense gradient; one that is dense is returned as it is. */
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

/** Concatenates two sparse gradients and disposes both. */
function concatSparse(a: SparseRows, b: SparseRows): SparseRows {
  const both = a.concat(b);
  a.dispose();
  b.dispose();
  return both;
}

function discard(gradient: Gradient | null): void {
  if (gradient instanceof Tensor || gradient instanceof SparseRows) gradient.dispose();
  else if (gradient instanceof RowRange) gradient.rows.dispose();
}
