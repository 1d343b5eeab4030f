/**
 * Finds and opens a GPU: `navigator.gpu` in a browser, the npm package `webgpu` in Node.js.
 *
 * A device is requested with the adapter's limits, because the defaults (128 MiB per binding) are far below what
 * hardware offers. `SKEIN_GPU=0` disables GPUs.
 */
import { loadWebGpu, namedDriver, useSoftwareDriver } from '../../native/webgpu.js';
import { checkInteger, checkNumber, DeviceError, expected, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { GpuDevice } from './gpu-device.js';
import { deviceMessage } from './gpu-failures.js';
import type { GpuAdapterInfo, GpuAdapterLike, GpuDeviceLike, GpuLike } from './webgpu-api.js';

export interface OpenGpuOptions {
  readonly powerPreference?: 'low-power' | 'high-performance';
  /** A substring of the adapter's name, to choose between several (Node.js only). */
  readonly adapter?: string;
  /** Dawn's back end, such as `vulkan` or `null` (Node.js only). */
  readonly backend?: string;
  /** Whether to accept an adapter that computes on the CPU (default true). */
  readonly allowSoftware?: boolean;
  /** Bytes of device memory that Skein may use (default: limited only by the device). */
  readonly memoryBudget?: number;
  /** Limits below the adapter's, to test with those of a smaller device. */
  readonly limits?: Readonly<Record<string, number>>;
  /** A WebGPU implementation in place of the one found. */
  readonly gpu?: GpuLike;
}

const wantedLimits = [
  'maxBufferSize',
  'maxStorageBufferBindingSize',
  'maxStorageBuffersPerShaderStage',
  'maxComputeInvocationsPerWorkgroup',
  'maxComputeWorkgroupSizeX',
  'maxComputeWorkgroupStorageSize',
  'maxComputeWorkgroupsPerDimension',
] as const;

/** Names that software adapters report. */
const softwareNames = ['swiftshader', 'llvmpipe', 'lavapipe', 'softpipe', 'warp', 'microsoft basic render'];

/**
 * Opens a device.
 *
 * @throws DeviceError with `details.reason` 'no-adapter' if there is none; the message states what to install.
 * @example
 * const gpu = await openGpuDevice();
 * const sampler = new GPUSampler(gpu, graph);
 */
export async function openGpuDevice(options: OpenGpuOptions = {}): Promise<GpuDevice> {
  checkOptionNames('openGpuDevice', options, {
    powerPreference: true,
    adapter: true,
    backend: true,
    allowSoftware: true,
    memoryBudget: true,
    limits: true,
    gpu: true,
  });
  const budget = checkNumber('openGpuDevice', 'memoryBudget', options.memoryBudget ?? Number.MAX_VALUE, 0);
  const adapter = await findAdapter(options);
  const info = adapterInfo(adapter);
  const isSoftware = isSoftwareAdapter(adapter, info);
  if (isSoftware && options.allowSoftware === false)
    throw noAdapter(
      `only a software adapter (${info.description || info.architecture}) was found`,
      'Allow it with `allowSoftware: true`',
    );
  const requiredLimits = chooseLimits(adapter, options.limits ?? {});
  const requiredFeatures = ['shader-f16'].filter((name) => adapter.features.has(name));
  let raw: GpuDeviceLike;
  try {
    raw = await adapter.requestDevice({ requiredLimits, requiredFeatures });
  } catch (error) {
    throw new DeviceError(deviceMessage('openGpuDevice: the adapter did not open a device', error), {
      reason: 'no-adapter',
    });
  }
  return new GpuDevice(raw, info, isSoftware, budget);
}

/** Wraps a device that was opened by another library, such as TensorFlow.js, so that memory can be shared with it. */
export function adoptGpuDevice(device: unknown, info: Partial<GpuAdapterInfo> = {}): GpuDevice {
  const raw = device as GpuDeviceLike;
  if (typeof raw?.createBuffer !== 'function')
    throw new ValueError(expected('adoptGpuDevice', 'a GPUDevice', 'device', device));
  const known = { vendor: '', architecture: '', device: '', description: '', ...info };
  return new GpuDevice(raw, known, namesSoftware(known), Number.MAX_VALUE);
}

async function findAdapter(options: OpenGpuOptions): Promise<GpuAdapterLike> {
  const preference = options.powerPreference;
  const request = preference === undefined ? {} : { powerPreference: preference };
  const driver = namedDriver();
  let adapter = await requestAdapter(options.gpu ?? (await findGpu(options)), request);
  // Drivers without their hardware find nothing: fall back to a software driver. A concurrent call may have selected it
  // already.
  if (
    adapter === null &&
    options.gpu === undefined &&
    isNode() &&
    (useSoftwareDriver() || namedDriver() !== driver)
  )
    adapter = await requestAdapter(await findGpu(options), request);
  if (adapter === null) throw noAdapter('WebGPU is available, but it found no adapter', driverAdvice());
  return adapter;
}

/**
 * Returns null if there is no adapter; exceptions of the implementation, such as for an unknown name, become a
 * DeviceError.
 */
async function requestAdapter(gpu: GpuLike, request: object): Promise<GpuAdapterLike | null> {
  try {
    return await gpu.requestAdapter(request);
  } catch (error) {
    throw noAdapter(
      deviceMessage('WebGPU rejected the request for an adapter', error),
      'Leave out adapter, backend and powerPreference, or name available ones',
    );
  }
}

function isNode(): boolean {
  return globalThis.process?.versions?.node !== undefined;
}

async function findGpu(options: OpenGpuOptions): Promise<GpuLike> {
  if (globalThis.process?.env?.SKEIN_GPU === '0') throw noAdapter('SKEIN_GPU=0 forbids it', 'Unset it');
  const inBrowser = (globalThis as { navigator?: { gpu?: GpuLike } }).navigator?.gpu;
  if (!isNode()) {
    if (inBrowser !== undefined) return inBrowser;
    throw noAdapter(
      'this browser has no WebGPU (navigator.gpu)',
      'WebGPU needs a secure page (https or localhost): open one, use another browser',
    );
  }
  const flags: string[] = [];
  if (options.backend !== undefined) flags.push(`backend=${options.backend}`);
  if (options.adapter !== undefined) flags.push(`adapter=${options.adapter}`);
  const found = await loadWebGpu(flags);
  if (found.gpu === null) throw noAdapter(found.reason ?? '', 'Run `npm install webgpu`');
  return found.gpu as GpuLike;
}

function noAdapter(cause: string, advice: string): DeviceError {
  return new DeviceError(
    `openGpuDevice: expected a GPU that WebGPU can use, found none: ${cause}. ${advice}, or use the CPU.`,
    { reason: 'no-adapter' },
  );
}

function driverAdvice(): string {
  return isNode()
    ? 'Install a Vulkan driver (Debian: libvulkan1 and mesa-vulkan-drivers, or chromium for a software one)'
    : 'Check that hardware acceleration is enabled in the browser';
}

function adapterInfo(adapter: GpuAdapterLike): GpuAdapterInfo {
  const { vendor = '', architecture = '', device = '', description = '' } = adapter.info ?? {};
  return { vendor, architecture, device, description };
}

/** Returns the name that an adapter reports. */
export function adapterName({ description, vendor, architecture }: GpuAdapterInfo): string {
  return description || `${vendor} ${architecture}`.trim() || 'unnamed';
}

function namesSoftware(info: GpuAdapterInfo): boolean {
  const text = `${info.vendor} ${info.architecture} ${info.device} ${info.description}`.toLowerCase();
  return softwareNames.some((name) => text.includes(name));
}

function isSoftwareAdapter(adapter: GpuAdapterLike, info: GpuAdapterInfo): boolean {
  return adapter.info?.isFallbackAdapter === true || namesSoftware(info);
}

function chooseLimits(
  adapter: GpuAdapterLike,
  smaller: Readonly<Record<string, number>>,
): Record<string, number> {
  const offered = adapter.limits as Readonly<Record<string, number>>;
  const chosen: Record<string, number> = {};
  for (const name of wantedLimits) {
    const most = smaller[name] ?? offered[name];
    chosen[name] = Math.min(offered[name], checkInteger('openGpuDevice', `limits.${name}`, most));
  }
  return chosen;
}
