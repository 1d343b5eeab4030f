/**
 * The parameters of recorded programs: one uniform buffer of 256-byte slots, filled on the host while work is recorded
 * and uploaded once at submission.
 */
import { type GpuBufferLike, type GpuDeviceLike, usage } from './webgpu-api.js';

const slotWords = 64;
const slots = 256;

export class ParamRing {
  readonly #device: GpuDeviceLike;
  readonly #words = new Uint32Array(slotWords * slots);
  #raw: GpuBufferLike | null = null;
  #used = 0;

  constructor(device: GpuDeviceLike) {
    this.#device = device;
  }

  get raw(): GpuBufferLike {
    this.#raw ??= this.#device.createBuffer({
      label: 'parameters',
      size: this.#words.byteLength,
      usage: usage.uniform | usage.copyDst,
    });
    return this.#raw;
  }

  get isFull(): boolean {
    return this.#used === slots;
  }

  /** Stores `params` in the next slot and returns its byte offset. */
  put(params: readonly number[]): number {
    const start = this.#used * slotWords;
    for (let i = 0; i < params.length; i++) this.#words[start + i] = params[i];
    this.#used++;
    return start * 4;
  }

  upload(): void {
    if (this.#used === 0) return;
    this.#device.queue.writeBuffer(this.raw, 0, this.#words, 0, this.#used * slotWords);
    this.#used = 0;
  }

  destroy(): void {
    this.#raw?.destroy();
    this.#raw = null;
  }
}
