/**
 * The memory behind one tensor and its views, counted by holders: tensors, views and the tape's saved values each hold
 * one reference, and the last release sends the block back to the pool. `version` grows with each write in place, so
 * that the tape can refuse to differentiate through a value that has changed since it was saved.
 */
import type { TypedArray } from '../native/index.js';
import { type DType, dtypes } from './dtype.js';
import { allocateBlock, type Block, recycleBlock } from './pool.js';

export class Storage {
  readonly data: TypedArray;
  version = 0;
  #references = 1;
  readonly #block: Block | null;

  private constructor(data: TypedArray, block: Block | null) {
    this.data = data;
    this.#block = block;
  }

  /** Uninitialised memory from the pool. */
  static allocate(dtype: DType, elements: number): Storage {
    const { bytes, array } = dtypes[dtype];
    const block = allocateBlock(elements * bytes);
    const last = block.array;
    const fits = last !== null && last.length === elements && last instanceof array;
    const data = fits ? last : new array(block.buffer, block.offset, elements);
    block.array = data;
    return new Storage(data, block);
  }

  /** The caller's own memory, used without a copy and never recycled. */
  static wrap(data: TypedArray): Storage {
    return new Storage(data, null);
  }

  get isShared(): boolean {
    return this.#references > 1;
  }

  retain(): this {
    this.#references++;
    return this;
  }

  release(): void {
    if (--this.#references === 0 && this.#block !== null) recycleBlock(this.#block);
  }
}
