/**
 * A GPU: memory, programs, one queue.
 *
 * Work is recorded in order and submitted by `flush`; every read flushes first, and nothing blocks until a read. Errors
 * that the driver reports later (validation, memory) are stored and thrown at the next flush or read, with the name of
 * what caused them. A host write to memory that recorded work still uses flushes that work first.
 */
import { DeviceError } from '../../util/errors.js';
import { BufferPool, type GpuMemory } from './buffer-pool.js';
import { GpuBuffer } from './gpu-buffer.js';
import { deviceMessage, GpuFailures } from './gpu-failures.js';
import { ParamRing } from './param-ring.js';
import { PipelineCache } from './pipeline-cache.js';
import type { GpuProgram } from './program.js';
import {
  type GpuAdapterInfo,
  type GpuBufferLike,
  type GpuDeviceLike,
  type GpuEncoderLike,
  type GpuPassLike,
  mapMode,
  usage,
} from './webgpu-api.js';

/** The device limits that programs depend on. */
export interface GpuLimits {
  readonly maxBufferSize: number;
  readonly maxStorageBufferBindingSize: number;
  readonly maxStorageBuffersPerShaderStage: number;
  readonly maxComputeInvocationsPerWorkgroup: number;
  readonly maxComputeWorkgroupStorageSize: number;
  readonly maxComputeWorkgroupsPerDimension: number;
}

/** Number of workgroups: one, two or three dimensions, or read from a buffer (u32 x, y, z at a byte offset). */
export type GpuGroups =
  | number
  | readonly [number, number?, number?]
  | { readonly indirect: GpuBuffer; readonly offset: number };

export interface GpuRange {
  readonly buffer: GpuBuffer;
  readonly offset?: number;
  readonly bytes: number;
}

export interface GpuStats extends GpuMemory {
  readonly submissions: number;
  readonly readBacks: number;
}

export class GpuDevice {
  /** The GPUDevice, for libraries that share it. */
  readonly raw: GpuDeviceLike;
  readonly info: GpuAdapterInfo;
  /** Whether the adapter computes on the CPU: correct, but slower than Skein's CPU kernels. */
  readonly isSoftware: boolean;
  readonly limits: GpuLimits;
  readonly #pool: BufferPool;
  readonly #pipelines: PipelineCache;
  readonly #params: ParamRing;
  readonly #failures: GpuFailures;
  #encoder: GpuEncoderLike | null = null;
  #pass: GpuPassLike | null = null;
  #serial = 1;
  #submissions = 0;
  #readBacks = 0;
  /** Buffers that only the host maps, kept by size for reuse. */
  readonly #staging: GpuBufferLike[] = [];

  /** @internal Use `openGpuDevice`. */
  constructor(raw: GpuDeviceLike, info: GpuAdapterInfo, isSoftware: boolean, memoryBudget: number) {
    this.raw = raw;
    this.info = info;
    this.isSoftware = isSoftware;
    this.limits = raw.limits as GpuLimits;
    const largest = Math.min(this.limits.maxBufferSize, this.limits.maxStorageBufferBindingSize);
    this.#pool = new BufferPool(raw, largest, memoryBudget);
    this.#pipelines = new PipelineCache(raw);
    this.#params = new ParamRing(raw);
    this.#failures = new GpuFailures(raw);
  }

  get isLost(): boolean {
    return this.#failures.isLost;
  }

  /** Resolves with the reason when the device is lost, also by `destroy`. */
  get lost(): Promise<string> {
    return this.#failures.lost;
  }

  has(feature: string): boolean {
    return this.raw.features.has(feature);
  }

  stats(): GpuStats {
    return { ...this.#pool.memory, submissions: this.#submissions, readBacks: this.#readBacks };
  }

  /** Allocates uninitialised memory of at least 4 bytes, a multiple of 4. */
  buffer(bytes: number, label: string, options: { readonly indirect?: boolean } = {}): GpuBuffer {
    this.#failures.check();
    const rounded = Math.max(4, Math.ceil(bytes / 4) * 4);
    const taken = this.#pool.take(rounded, label, options.indirect === true ? usage.indirect : 0);
    return new GpuBuffer(this, taken, rounded, label);
  }

  /** Allocates memory with the content of an array. */
  bufferOf(data: ArrayBufferView, label: string): GpuBuffer {
    const buffer = this.buffer(data.byteLength, label);
    this.write(buffer, data);
    return buffer;
  }

  /** Copies host memory to a buffer. The array may be reused immediately. */
  write(buffer: GpuBuffer, data: ArrayBufferView, offset = 0): void {
    this.#failures.check();
    if (data.byteLength === 0) return;
    if (buffer.usedIn === this.#serial) this.flush();
    let bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    // Shared memory must not reach the driver (it crashes), and lengths are multiples of 4.
    if (!(data.buffer instanceof ArrayBuffer) || bytes.length % 4 !== 0) {
      const copy = new Uint8Array(Math.ceil(bytes.length / 4) * 4);
      copy.set(bytes);
      bytes = copy;
    }
    this.raw.queue.writeBuffer(buffer.raw, offset, bytes, 0, bytes.length);
  }

  /** Records a program over buffers; `params` are 32-bit words (see `f32Bits`). */
  run(
    program: GpuProgram,
    buffers: readonly GpuBuffer[],
    params: readonly number[],
    groups: GpuGroups,
  ): void {
    this.#failures.check();
    const { pipeline, layout } = this.#pipelines.get(program);
    if (program.params > 0 && this.#params.isFull) this.flush();
    const entries: object[] = [];
    const offsets: number[] = [];
    if (program.params > 0) {
      offsets.push(this.#params.put(params));
      entries.push({ binding: 0, resource: { buffer: this.#params.raw, size: 256 } });
    }
    for (const [i, buffer] of buffers.entries()) {
      entries.push({ binding: i + 1, resource: { buffer: buffer.raw } });
      buffer.usedIn = this.#serial;
    }
    this.#pass ??= this.#open().beginComputePass();
    const pass = this.#pass;
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, this.raw.createBindGroup({ layout, entries }), offsets);
    if (typeof groups === 'number') pass.dispatchWorkgroups(groups);
    else if ('indirect' in groups) {
      groups.indirect.usedIn = this.#serial;
      pass.dispatchWorkgroupsIndirect(groups.indirect.raw, groups.offset);
    } else pass.dispatchWorkgroups(groups[0], groups[1] ?? 1, groups[2] ?? 1);
  }

  /** Records a copy between buffers; offsets and bytes are multiples of 4. */
  copy(
    source: GpuBuffer,
    sourceOffset: number,
    target: GpuBuffer,
    targetOffset: number,
    bytes: number,
  ): void {
    source.usedIn = this.#serial;
    this.copyFrom(source.raw, sourceOffset, target, targetOffset, bytes);
  }

  /** Records a copy from memory that is not a `GpuBuffer` of this device, such as a mapped staging buffer. */
  copyFrom(
    source: GpuBufferLike,
    sourceOffset: number,
    target: GpuBuffer,
    targetOffset: number,
    bytes: number,
  ): void {
    this.#failures.check();
    if (bytes === 0) return;
    target.usedIn = this.#serial;
    this.#encode().copyBufferToBuffer(source, sourceOffset, target.raw, targetOffset, bytes);
  }

  /** Records a fill with zeros. */
  clear(buffer: GpuBuffer, offset = 0, bytes: number = buffer.bytes - offset): void {
    this.#failures.check();
    if (bytes === 0) return;
    buffer.usedIn = this.#serial;
    this.#encode().clearBuffer(buffer.raw, offset, bytes);
  }

  /** Submits recorded work to the device. */
  flush(): void {
    const encoder = this.#encoder;
    this.#pass?.end();
    this.#encoder = null;
    this.#pass = null;
    this.#serial++;
    this.#params.upload();
    // After the recorded work is dropped: work that was rejected once would be rejected again.
    this.#failures.check();
    if (encoder === null) return;
    this.#submissions++;
    this.raw.queue.submit([encoder.finish()]);
  }

  /** Reads one range. */
  async read(buffer: GpuBuffer, bytes: number = buffer.bytes, offset = 0): Promise<ArrayBuffer> {
    const [data] = await this.readAll([{ buffer, offset, bytes }]);
    return data;
  }

  /** Reads several ranges in one round trip. */
  async readAll(ranges: readonly GpuRange[]): Promise<ArrayBuffer[]> {
    const sizes = ranges.map((range) => Math.ceil(range.bytes / 4) * 4);
    const total = sizes.reduce((sum, size) => sum + size, 0);
    if (total === 0) return ranges.map(() => new ArrayBuffer(0));
    const staging = this.#takeStaging(total);
    const encoder = this.#encode();
    let at = 0;
    for (const [i, { buffer, offset = 0 }] of ranges.entries()) {
      buffer.usedIn = this.#serial;
      if (sizes[i] > 0) encoder.copyBufferToBuffer(buffer.raw, offset, staging, at, sizes[i]);
      at += sizes[i];
    }
    this.flush();
    this.#readBacks++;
    try {
      await staging.mapAsync(mapMode.read, 0, total);
    } catch (error) {
      staging.destroy();
      await this.#failures.settle();
      throw new DeviceError(deviceMessage('reading from the device', error), { reason: 'validation' });
    }
    const mapped = staging.getMappedRange(0, total);
    at = 0;
    const results = ranges.map(({ bytes }, i) => {
      const part = mapped.slice(at, at + bytes);
      at += sizes[i];
      return part;
    });
    staging.unmap();
    this.#staging.push(staging);
    await this.#failures.settle();
    return results;
  }

  /** Waits until all recorded work is done. */
  async finish(): Promise<void> {
    this.flush();
    await this.raw.queue.onSubmittedWorkDone();
    await this.#failures.settle();
  }

  /** Returns idle memory to the system. */
  trim(): void {
    this.#pool.trim();
    for (const staging of this.#staging) staging.destroy();
    this.#staging.length = 0;
  }

  /** Destroys the device and everything on it. */
  destroy(): void {
    this.#failures.end();
    this.#pass = null;
    this.#encoder = null;
    this.#params.destroy();
    this.trim();
    this.raw.destroy();
  }

  #open(): GpuEncoderLike {
    this.#encoder ??= this.raw.createCommandEncoder();
    return this.#encoder;
  }

  /** Returns the encoder, after ending an open pass. */
  #encode(): GpuEncoderLike {
    this.#pass?.end();
    this.#pass = null;
    return this.#open();
  }

  #takeStaging(bytes: number): GpuBufferLike {
    this.#failures.check();
    const at = this.#staging.findIndex((buffer) => buffer.size >= bytes && buffer.size <= 4 * bytes + 65536);
    if (at >= 0) return this.#staging.splice(at, 1)[0];
    if (this.#staging.length >= 4) this.#staging.shift()?.destroy();
    const size = 2 ** Math.ceil(Math.log2(Math.max(bytes, 256)));
    const fits = Math.min(size, this.limits.maxBufferSize);
    if (bytes > fits)
      throw new DeviceError(
        `read: expected at most ${fits} bytes in one read (the device's limit), got ${bytes}. Read in chunks.`,
        { reason: 'limit' },
      );
    return this.raw.createBuffer({ label: 'read-back', size: fits, usage: usage.mapRead | usage.copyDst });
  }
}
