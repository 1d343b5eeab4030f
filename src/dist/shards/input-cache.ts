/**
 * Caches remote rows of tensors that never change, such as input features. Both ends of a message derive from the same
 * operation on the same tensor whether it is still needed, so no request is sent.
 */
import type { Tensor } from '../../tensor/index.js';

interface CachedInput {
  version: number;
  /**
   * By chunk, or one tensor in a one-shot graph; null before the first fetch. A worker that needs no rows must still
   * know that they were fetched.
   */
  rows: Tensor[] | null;
}

export class InputCache {
  readonly #inputs = new WeakMap<Tensor, CachedInput>();

  /** Caches rows of `x` from now on. */
  add(x: Tensor): void {
    if (!this.#inputs.has(x)) this.#inputs.set(x, { version: x.storage.version, rows: null });
  }

  has(x: Tensor): boolean {
    return this.#inputs.has(x);
  }

  /** Returns the rows cached for `x`; null if there are none, or if x has changed since. */
  rowsOf(x: Tensor): readonly Tensor[] | null {
    const cached = this.#inputs.get(x);
    if (cached === undefined || cached.rows === null) return null;
    if (cached.version === x.storage.version) return cached.rows;
    this.#release(cached);
    return null;
  }

  /** Caches rows that were fetched for `x`, with separate handles. */
  keep(x: Tensor, rows: readonly Tensor[]): void {
    const cached = this.#inputs.get(x);
    if (cached === undefined) return;
    this.#release(cached);
    cached.version = x.storage.version;
    cached.rows = rows.map((t) => t.alias());
  }

  /** Releases the rows; `x` is an ordinary tensor again. */
  remove(x: Tensor): void {
    const cached = this.#inputs.get(x);
    if (cached !== undefined) this.#release(cached);
    this.#inputs.delete(x);
  }

  #release(cached: CachedInput): void {
    for (const t of cached.rows ?? []) t.dispose();
    cached.rows = null;
  }
}
