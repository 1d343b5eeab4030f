/**
 * The subset of the WebGPU API that Skein uses, as plain structural types: objects of a browser, of the npm package
 * `webgpu` and of any other implementation fit, and a program that uses Skein needs neither DOM nor WebGPU type
 * packages. Parameters are wider than in any version's types (`object`, `Iterable<object>`), so that typed devices fit
 * as well.
 */

export interface GpuBufferLike {
  readonly size: number;
  readonly usage: number;
  mapAsync(mode: number, offset?: number, size?: number): Promise<unknown>;
  getMappedRange(offset?: number, size?: number): ArrayBuffer;
  unmap(): unknown;
  destroy(): unknown;
}

export interface GpuQueueLike {
  submit(commands: Iterable<object>): unknown;
  writeBuffer(
    buffer: GpuBufferLike,
    offset: number,
    data: ArrayBufferView,
    dataOffset?: number,
    size?: number,
  ): unknown;
  onSubmittedWorkDone(): Promise<unknown>;
}

export interface GpuPassLike {
  setPipeline(pipeline: object): unknown;
  setBindGroup(index: number, group: object | null | undefined, offsets?: number[]): unknown;
  dispatchWorkgroups(x: number, y?: number, z?: number): unknown;
  dispatchWorkgroupsIndirect(buffer: GpuBufferLike, offset: number): unknown;
  end(): unknown;
}

export interface GpuEncoderLike {
  beginComputePass(descriptor?: object): GpuPassLike;
  copyBufferToBuffer(
    source: GpuBufferLike,
    sourceOffset: number,
    target: GpuBufferLike,
    targetOffset: number,
    size: number,
  ): unknown;
  clearBuffer(buffer: GpuBufferLike, offset?: number, size?: number): unknown;
  finish(): object;
}

/** The members of a GPUDevice that Skein uses. */
export interface GpuDeviceLike {
  readonly limits: object;
  readonly features: { has(name: string): boolean };
  readonly queue: GpuQueueLike;
  readonly lost: Promise<{ readonly reason: string | undefined; readonly message: string }>;
  onuncapturederror: unknown;
  createBuffer(descriptor: {
    label?: string;
    size: number;
    usage: number;
    mappedAtCreation?: boolean;
  }): GpuBufferLike;
  createShaderModule(descriptor: { label?: string; code: string }): object;
  createBindGroupLayout(descriptor: object): object;
  createPipelineLayout(descriptor: object): object;
  createComputePipeline(descriptor: object): object;
  createBindGroup(descriptor: object): object;
  createCommandEncoder(descriptor?: object): GpuEncoderLike;
  destroy(): unknown;
}

export interface GpuAdapterInfo {
  readonly vendor: string;
  readonly architecture: string;
  readonly device: string;
  readonly description: string;
}

export interface GpuAdapterLike {
  readonly info?: Partial<GpuAdapterInfo> & { readonly isFallbackAdapter?: boolean };
  readonly limits: object;
  readonly features: { has(name: string): boolean };
  requestDevice(descriptor?: object): Promise<GpuDeviceLike>;
}

/** The members of `navigator.gpu` that Skein uses. */
export interface GpuLike {
  requestAdapter(options?: { powerPreference?: string }): Promise<GpuAdapterLike | null>;
}

/** GPUBufferUsage, whose values the standard fixes. */
export const usage = {
  mapRead: 0x1,
  mapWrite: 0x2,
  copySrc: 0x4,
  copyDst: 0x8,
  uniform: 0x40,
  storage: 0x80,
  indirect: 0x100,
} as const;

/** GPUMapMode. */
export const mapMode = { read: 1, write: 2 } as const;

/** GPUShaderStage. */
export const computeStage = 4;
