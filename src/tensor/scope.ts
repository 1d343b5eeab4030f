/// <reference lib="esnext.disposable" preserve="true" />
/**
 * Scopes: tensors that are created inside `scope(fn)` and neither returned nor kept are disposed when `fn` ends, so a
 * training loop reuses the same memory in each step. Without a scope the garbage collector frees them, later.
 *
 * Nothing here depends on tensors: disposable objects register themselves.
 */
import { StateError } from '../util/errors.js';

/** An object with memory, which `using` and scopes release. */
export abstract class Scoped implements Disposable {
  /** Whether it survives the end of the scope in which it was made. @internal */
  kept = false;

  abstract dispose(): void;

  [Symbol.dispose](): void {
    this.dispose();
  }
}

let current: Scoped[] | null = null;

export function register(item: Scoped): void {
  if (current !== null) current.push(item);
}

/**
 * Runs `fn` and disposes the tensors it created, except those in its result (a tensor, or tensors inside arrays, maps
 * and plain objects), those passed to `keep`, parameters and gradients of parameters.
 *
 * @example
 * const loss = scope(() => {
 *   const value = crossEntropy(model.forward(x), labels);
 *   value.backward();
 *   optimizer.step();
 *   return value.item();
 * });
 */
export function scope<T>(fn: () => T): T {
  const outer = current;
  const items: Scoped[] = [];
  current = items;
  let result: T;
  try {
    result = fn();
    if (result instanceof Promise) {
      throw new StateError(
        'scope: expected a synchronous function, got an async one. Await first, then open the scope.',
      );
    }
  } catch (error) {
    current = outer;
    for (const item of items) if (!item.kept) item.dispose();
    throw error;
  }
  current = outer;
  const survivors =
    typeof result === 'object' && result !== null ? findSurvivors(result, new Set(items)) : null;
  for (const item of items) {
    if (item.kept) continue;
    if (survivors?.has(item)) outer?.push(item);
    else item.dispose();
  }
  return result;
}

/** Removes a tensor from its scope: it stays valid until it is disposed or collected. */
export function keep<T extends Scoped>(item: T): T {
  item.kept = true;
  return item;
}

/**
 * Opens a scope without a closure, for the inner loop of the tape: `openScope` … `closeScope(previous, survivors)`. All
 * tensors except the few survivors are disposed; these then belong to the previous scope. @internal
 */
export function openScope(): Scoped[] | null {
  const outer = current;
  current = [];
  return outer;
}

export function closeScope(outer: Scoped[] | null, survivors: readonly unknown[]): void {
  const items = current as Scoped[];
  current = outer;
  for (const item of items) {
    if (item.kept) continue;
    if (survivors.includes(item)) outer?.push(item);
    else item.dispose();
  }
}

/** Runs `fn` outside any scope, for tensors that must outlive the caller's scope: parameters, optimiser state. */
export function unscoped<T>(fn: () => T): T {
  const outer = current;
  current = null;
  try {
    return fn();
  } finally {
    current = outer;
  }
}

function findSurvivors(root: object, candidates: ReadonlySet<unknown>): Set<unknown> {
  const result = new Set<unknown>();
  const seen = new Set<unknown>();
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null || seen.has(value)) return;
    seen.add(value);
    if (candidates.has(value)) result.add(value);
    else if (Array.isArray(value) || value instanceof Set) for (const item of value) visit(item);
    else if (value instanceof Map) for (const item of value.values()) visit(item);
    else if (Object.getPrototypeOf(value) === Object.prototype)
      for (const item of Object.values(value)) visit(item);
  };
  visit(root);
  return result;
}
