/**
 * Remote rows of tensors that never change, such as input features: fetched once and kept. Both ends of a message know
 * from the same operation on the same tensor whether it is still needed, so nothing is asked.
 */
import type { Tensor } from '../../tensor/index.js';

interface Known {
  version: number;
  /** By piece, or all at once in a one-shot graph; null before the first fetch. A worker may need none and still must know. */
  rows: Tensor[] | null;
}

export class InputCache {
  readonly #known = new WeakMap<Tensor, Known>();

  /** From now on rows of `x` are kept. */
  add(x: Tensor): void {
    if (!this.#known.has(x)) this.#known.set(x, { version: x.storage.version, rows: null });
  }

  has(x: Tensor): boolean {
    return this.#known.has(x);
  }

  /** The rows kept for `x`; null when there are none, or when x has changed since. */
  rowsOf(x: Tensor): readonly Tensor[] | null {
    const known = this.#known.get(x);
    if (known === undefined || known.rows === null) return null;
    if (known.version === x.storage.version) return known.rows;
    this.#forget(known);
    return null;
  }

  /** Keeps handles of its own on rows that were fetched for `x`. */
  keep(x: Tensor, rows: readonly Tensor[]): void {
    const known = this.#known.get(x);
    if (known === undefined) return;
    this.#forget(known);
    known.version = x.storage.version;
    known.rows = rows.map((t) => t.alias());
  }

  /** Lets the rows go; `x` is an ordinary tensor again. */
  remove(x: Tensor): void {
    const known = this.#known.get(x);
    if (known !== undefined) this.#forget(known);
    this.#known.delete(x);
  }

  #forget(known: Known): void {
    for (const t of known.rows ?? []) t.dispose();
    known.rows = null;
  }
}
