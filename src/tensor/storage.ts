/**
 * The memory behind one tensor and its views, counted by holders: tensors, views and the tape's saved values each hold
 * one reference, and the last release sends the block back to the pool. `version` grows with each write in place, so
 * that the tape can detect a saved value that has been changed.
 */
import type { TypedArray } from '../native/index.js';
import { currentDevice, type DeviceArray, type TensorDevice } from './device.js';
import { type DType, dtypes } from './dtype.js';
import { allocateBlock, type Block, recycleBlock } from './pool.js';

export class Storage {
  /** On a device: its `DeviceArray`, which only the device's kernels can read. */
  readonly data: TypedArray;
  /** The device; null is the CPU. */
  readonly device: TensorDevice | null;
  version = 0;
  #references = 1;
  readonly #block: Block | null;

  private constructor(data: TypedArray, block: Block | null, device: TensorDevice | null) {
    this.data = data;
    this.#block = block;
    this.device = device;
  }

  /** Allocates uninitialised memory, from the pool or on a device. */
  static allocate(dtype: DType, elements: number, device: TensorDevice | null = currentDevice()): Storage {
    if (device !== null)
      return new Storage(device.allocate(dtype, elements) as unknown as TypedArray, null, device);
    const { bytes, array } = dtypes[dtype];
    const block = allocateBlock(elements * bytes);
    const last = block.array;
    const fits = last !== null && last.length === elements && last instanceof array;
    const data = fits ? last : new array(block.buffer, block.offset, elements);
    block.array = data;
    return new Storage(data, block, null);
  }

  /** Uses the caller's memory, without a copy; it is never recycled. */
  static wrap(data: TypedArray): Storage {
    return new Storage(data, null, null);
  }

  get isShared(): boolean {
    return this.#references > 1;
  }

  retain(): this {
    this.#references++;
    return this;
  }

  release(): void {
    if (--this.#references !== 0) return;
    if (this.#block !== null) recycleBlock(this.#block);
    else if (this.device !== null) (this.data as unknown as DeviceArray).release();
  }
}
