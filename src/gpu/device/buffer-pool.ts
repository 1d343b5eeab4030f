/**
 * Recycles device memory by size class, because creating a buffer costs as much as a small kernel. Recycled memory is
 * not cleared.
 */
import { DeviceError } from '../../util/errors.js';
import { type GpuBufferLike, type GpuDeviceLike, usage } from './webgpu-api.js';

/** Device memory counters. */
export interface GpuMemory {
  readonly liveBuffers: number;
  readonly liveBytes: number;
  readonly idleBytes: number;
  readonly peakBytes: number;
}

const storageUsage = usage.storage | usage.copySrc | usage.copyDst;

/** Eight size classes per octave, so that at most an eighth is wasted. */
function sizeClass(bytes: number): number {
  if (bytes <= 256) return 256;
  const octave = 2 ** Math.floor(Math.log2(bytes - 1));
  const step = Math.max(256, octave / 8);
  return Math.ceil(bytes / step) * step;
}

/** Memory in the pool. Recorded work may still read it, so a host write must wait for `usedIn`. */
interface Idle {
  readonly raw: GpuBufferLike;
  readonly usedIn: number;
}

export interface Taken extends Idle {
  giveBack(raw: GpuBufferLike, usedIn: number): void;
}

export class BufferPool {
  readonly #device: GpuDeviceLike;
  readonly #maxBytes: number;
  readonly #budget: number;
  readonly #idle = new Map<string, Idle[]>();
  #liveBuffers = 0;
  #liveBytes = 0;
  #idleBytes = 0;
  #peakBytes = 0;

  /** @param budget maximum bytes in use and idle, added together. */
  constructor(device: GpuDeviceLike, maxBytes: number, budget: number) {
    this.#device = device;
    this.#maxBytes = maxBytes;
    this.#budget = budget;
  }

  get memory(): GpuMemory {
    return {
      liveBuffers: this.#liveBuffers,
      liveBytes: this.#liveBytes,
      idleBytes: this.#idleBytes,
      peakBytes: this.#peakBytes,
    };
  }

  /** @param extra usage bits in addition to storage and copies. */
  take(bytes: number, label: string, extra: number): Taken {
    const size = Math.min(sizeClass(bytes), Math.max(this.#maxBytes - (this.#maxBytes % 4), 4));
    if (bytes > size)
      throw new DeviceError(
        `device memory: expected at most ${this.#maxBytes} bytes in one buffer (the device's limit), got ${bytes} for ${label}. ` +
          'Use a smaller batch or table, or keep it on the CPU.',
        { reason: 'limit', bytes, limit: this.#maxBytes },
      );
    const key = `${extra}:${size}`;
    const idle = this.#idle.get(key)?.pop();
    if (idle === undefined) this.#makeRoom(size, label);
    else this.#idleBytes -= size;
    const raw = idle?.raw ?? this.#device.createBuffer({ label, size, usage: storageUsage | extra });
    this.#liveBuffers++;
    this.#liveBytes += size;
    this.#peakBytes = Math.max(this.#peakBytes, this.#liveBytes);
    return {
      raw,
      usedIn: idle?.usedIn ?? 0,
      giveBack: (buffer, usedIn) => this.#giveBack(key, { raw: buffer, usedIn }, size),
    };
  }

  #giveBack(key: string, idle: Idle, size: number): void {
    this.#liveBuffers--;
    this.#liveBytes -= size;
    this.#idleBytes += size;
    const list = this.#idle.get(key);
    if (list === undefined) this.#idle.set(key, [idle]);
    else list.push(idle);
  }

  #makeRoom(size: number, label: string): void {
    if (this.#liveBytes + this.#idleBytes + size <= this.#budget) return;
    this.trim();
    if (this.#liveBytes + size <= this.#budget) return;
    throw new DeviceError(
      `device memory: expected room for ${size} bytes (${label}), but ${this.#liveBytes} of the budget of ${this.#budget} bytes are in use. ` +
        'Release unused buffers, use smaller batches or caches, or raise memoryBudget.',
      { reason: 'memory', bytes: size, inUse: this.#liveBytes, budget: this.#budget },
    );
  }

  /** Returns idle memory to the system. */
  trim(): void {
    for (const list of this.#idle.values()) for (const { raw } of list) raw.destroy();
    this.#idle.clear();
    this.#idleBytes = 0;
  }
}
