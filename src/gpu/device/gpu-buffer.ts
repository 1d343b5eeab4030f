/**
 * Memory on a device with an owner: counted by the device, given back by `release` (to the device's pool) or `destroy`.
 * Nothing here relies on a finaliser.
 */
import { StateError } from '../../util/errors.js';
import type { Taken } from './buffer-pool.js';
import type { GpuDevice } from './gpu-device.js';
import type { GpuBufferLike } from './webgpu-api.js';

export class GpuBuffer {
  readonly device: GpuDevice;
  /** Bytes that were asked for; the memory behind may be larger. */
  readonly bytes: number;
  readonly label: string;
  /** The number of the submission that used it last: a write from the host must come after it. @internal */
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

  /** The GPUBuffer, for hand-over to other libraries on the same device. */
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

  /** Gives the memory back. Work that was queued before still finds it. Repeating it does nothing. */
  release(): void {
    const raw = this.#raw;
    if (raw === null) return;
    this.#raw = null;
    this.#giveBack(raw, this.usedIn);
  }
}
