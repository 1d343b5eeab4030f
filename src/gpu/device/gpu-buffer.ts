/**
 * Device memory with an owner: counted by the device, returned by `release` (to the device's pool) or `destroy`.
 * No finaliser frees it.
 */
import { StateError } from '../../util/errors.js';
import type { Taken } from './buffer-pool.js';
import type { GpuDevice } from './gpu-device.js';
import type { GpuBufferLike } from './webgpu-api.js';

export class GpuBuffer {
  readonly device: GpuDevice;
  /** Requested bytes; the allocation may be larger. */
  readonly bytes: number;
  readonly label: string;
  /** The number of the last submission that used it: a host write must come after it. @internal */
  usedIn: number;
  #raw: GpuBufferLike | null;
  readonly #giveBack: Taken['giveBack'];

  /** @internal Use `GpuDevice.buffer`. */
  constructor(device: GpuDevice, taken: Taken, bytes: number, label: string) {
    this.device = device;
    this.#raw = taken.raw;
    this.usedIn = taken.usedIn;
    this.bytes = bytes;
    this.label = label;
    this.#giveBack = taken.giveBack;
  }

  /** The GPUBuffer, for other libraries on the same device. */
  get raw(): GpuBufferLike {
    if (this.#raw === null)
      throw new StateError(
        `GpuBuffer: expected live memory, got ${this.label} (${this.bytes} bytes) after its release.`,
      );
    return this.#raw;
  }

  get isReleased(): boolean {
    return this.#raw === null;
  }

  /** Returns the memory to the pool. Work queued earlier can still use it. Further calls do nothing. */
  release(): void {
    const raw = this.#raw;
    if (raw === null) return;
    this.#raw = null;
    this.#giveBack(raw, this.usedIn);
  }
}
