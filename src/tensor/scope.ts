/// <reference lib="esnext.disposable" preserve="true" />
/**
 * Scopes: everything created inside `scope(fn)` and neither returned nor kept is disposed when `fn` ends, so a training
 * loop reuses the same memory each step. Without a scope the garbage collector does the same, later.
 *
 * This file knows only that things can be disposed; tensors register themselves.
 */
import { StateError } from '../util/errors.js';

/** Something with memory to give back; `using` and scopes do it. */
export abstract class Scoped implements Disposable {
  /** Survives the end of the scope it was made in. @internal */
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
        'scope: expected a function that ends before it returns, got an async one. Await first, then open the scope.',
      );
    }
  } catch (error) {
    current = outer;
    for (const item of items) if (!item.kept) item.dispose();
    throw error;
  }
  current = outer;
  const survivors = typeof result === 'object' && result !== null ? found(result, new Set(items)) : null;
  for (const item of items) {
    if (item.kept) continue;
    if (survivors?.has(item)) outer?.push(item);
    else item.dispose();
  }
  return result;
}

/** Takes a tensor out of the scope it was made in: it stays valid until disposed or collected. */
export function keep<T extends Scoped>(item: T): T {
  item.kept = true;
  return item;
}

/**
 * A scope without a closure, for the tape's inner loop: `openScope` … `closeScope(previous, survivors)`. What is not
 * among the few survivors is disposed; they belong to the previous scope from then on. @internal
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

/** Runs `fn` outside any scope, for what must outlive the caller's: parameters, optimiser state. */
export function unscoped<T>(fn: () => T): T {
  const outer = current;
  current = null;
  try {
    return fn();
  } finally {
    current = outer;
  }
}

function found(root: object, candidates: ReadonlySet<unknown>): Set<unknown> {
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
