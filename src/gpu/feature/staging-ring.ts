/**
 * Host memory from which a device copies: buffers that are mapped while rows are written into them, two by default, so
 * that one is filled while the other is copied. An upload that finds both in use waits for the first that is returned.
 */
import { StateError } from '../../util/errors.js';
import type { GpuBuffer } from '../device/gpu-buffer.js';
import type { GpuDevice } from '../device/gpu-device.js';
import { type GpuBufferLike, mapMode, usage } from '../device/webgpu-api.js';

interface Slot {
  raw: GpuBufferLike | null;
  bytes: number;
}

export class StagingRing {
  readonly #device: GpuDevice;
  readonly #free: Slot[];
  readonly #waiting: ((slot: Slot) => void)[] = [];
  readonly #all: Slot[];
  #closed = false;

  constructor(device: GpuDevice, depth = 2) {
    this.#device = device;
    this.#all = Array.from({ length: depth }, () => ({ raw: null, bytes: 0 }));
    this.#free = [...this.#all];
  }

  /** Calls `fill` to write `bytes` bytes, then records their copy to the start of `target`. */
  async upload(bytes: number, target: GpuBuffer, fill: (memory: Uint8Array) => Promise<void>): Promise<void> {
    if (bytes === 0) return;
    const slot = this.#free.pop() ?? (await new Promise<Slot>((resolve) => this.#waiting.push(resolve)));
    try {
      this.#checkOpen();
      const raw = this.#mapped(slot, Math.ceil(bytes / 4) * 4);
      await fill(new Uint8Array(raw.getMappedRange(0, Math.ceil(bytes / 4) * 4), 0, bytes));
      this.#checkOpen();
      raw.unmap();
      this.#device.copyFrom(raw, 0, target, 0, Math.ceil(bytes / 4) * 4);
      // Mapping waits for the copy, so the copy must be submitted.
      this.#device.flush();
    } catch (error) {
      slot.raw?.destroy();
      slot.raw = null;
      this.#giveBack(slot);
      // If the memory was unmapped during `fill`, its error says nothing about the cause.
      this.#checkOpen();
      throw error;
    }
    this.#mapAgain(slot);
  }

  /** Frees the memory; uploads in flight fail. */
  release(): void {
    this.#closed = true;
    for (const slot of this.#all) {
      slot.raw?.destroy();
      slot.raw = null;
    }
  }

  #checkOpen(): void {
    if (this.#closed)
      throw new StateError(
        'CGPUFeature: expected a table in use, got one after release(). Await its rows before you release it.',
      );
  }

  #mapped(slot: Slot, bytes: number): GpuBufferLike {
    if (slot.raw !== null && slot.bytes >= bytes) return slot.raw;
    slot.raw?.destroy();
    slot.bytes = 2 ** Math.ceil(Math.log2(Math.max(bytes, 65536)));
    slot.raw = this.#device.raw.createBuffer({
      label: 'staging of cold rows',
      size: slot.bytes,
      usage: usage.mapWrite | usage.copySrc,
      mappedAtCreation: true,
    });
    return slot.raw;
  }

  #mapAgain(slot: Slot): void {
    const raw = slot.raw as GpuBufferLike;
    raw.mapAsync(mapMode.write).then(
      () => this.#giveBack(slot),
      () => {
        // The device is lost, or the ring released: the next user creates a buffer or gets the error.
        if (slot.raw === raw) slot.raw = null;
        this.#giveBack(slot);
      },
    );
  }

  #giveBack(slot: Slot): void {
    if (this.#closed) {
      slot.raw?.destroy();
      slot.raw = null;
    }
    const next = this.#waiting.shift();
    if (next === undefined) this.#free.push(slot);
    else next(slot);
  }
}
