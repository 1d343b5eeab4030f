/**
 * Finding and opening a graphics processor: `navigator.gpu` in a browser, the npm package `webgpu` in Node.js.
 *
 * A device is asked for with the adapter's own limits, because the defaults (128 MiB a binding) are far below what
 * hardware offers. `SKEIN_GPU=0` says that there is none.
 */
import { loadWebGpu, namedDriver, useSoftwareDriver } from '../../native/webgpu.js';
import { checkInteger, checkNumber, DeviceError, expected, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { GpuDevice } from './gpu-device.js';
import { deviceMessage } from './gpu-failures.js';
import type { GpuAdapterInfo, GpuAdapterLike, GpuDeviceLike, GpuLike } from './webgpu-api.js';

export interface OpenGpuOptions {
  readonly powerPreference?: 'low-power' | 'high-performance';
  /** Part of the adapter's name, where several are there (Node.js only). */
  readonly adapter?: string;
  /** Dawn's back end, such as `vulkan` or `null` (Node.js only). */
  readonly backend?: string;
  /** Whether an adapter that computes on the processor is good enough (default true). */
  readonly allowSoftware?: boolean;
  /** Bytes of device memory that Skein may use (default: no bound but the device's). */
  readonly memoryBudget?: number;
  /** Limits below the adapter's, to try out how a smaller device behaves. */
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

/** Names under which adapters that compute on the processor report themselves. */
const softwareNames = ['swiftshader', 'llvmpipe', 'lavapipe', 'softpipe', 'warp', 'microsoft basic render'];

/**
 * Opens a device.
 *
 * @throws DeviceError with `details.reason` 'no-adapter' where there is none; the message says what to install.
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
    throw new DeviceError(deviceMessage('openGpuDevice: the adapter refused to open a device', error), {
      reason: 'no-adapter',
    });
  }
  return new GpuDevice(raw, info, isSoftware, budget);
}

/** A device that somebody else opened, such as TensorFlow.js, so that memory can be shared with it. */
export function adoptGpuDevice(device: unknown, info: Partial<GpuAdapterInfo> = {}): GpuDevice {
  const raw = device as GpuDeviceLike;
  if (typeof raw?.createBuffer !== 'function')
    throw new ValueError(expected('adoptGpuDevice', 'a GPUDevice', 'device', device));
  const known = { vendor: '', architecture: '', device: '', description: '', ...info };
  return new GpuDevice(raw, known, namesSoftware(known), Number.MAX_VALUE);
}

async function findAdapter(options: OpenGpuOptions): Promise<GpuAdapterLike> {
  const preference = options.powerPreference;
  const wish = preference === undefined ? {} : { powerPreference: preference };
  const driver = namedDriver();
  let adapter = await requestAdapter(options.gpu ?? (await findGpu(options)), wish);
  // Drivers without their hardware find nothing; then a software one will do. A caller at the same time may have named it.
  if (
    adapter === null &&
    options.gpu === undefined &&
    isNode() &&
    (useSoftwareDriver() || namedDriver() !== driver)
  )
    adapter = await requestAdapter(await findGpu(options), wish);
  if (adapter === null) throw noAdapter('WebGPU is there, but it found no adapter', driverAdvice());
  return adapter;
}

/** Null where there is none; what an implementation throws, as for a name that no adapter has, becomes a reason. */
async function requestAdapter(gpu: GpuLike, wish: object): Promise<GpuAdapterLike | null> {
  try {
    return await gpu.requestAdapter(wish);
  } catch (error) {
    throw noAdapter(
      deviceMessage('WebGPU refused to look for an adapter', error),
      'Leave out adapter, backend and powerPreference, or name ones that are there',
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
      'It needs a secure page (https or localhost): open one, take another browser',
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
    `openGpuDevice: expected a graphics processor that WebGPU can use, found none: ${cause}. ${advice}, or use the CPU.`,
    { reason: 'no-adapter' },
  );
}

function driverAdvice(): string {
  return isNode()
    ? 'Install a Vulkan driver (Debian: libvulkan1 and mesa-vulkan-drivers, or chromium for a software one)'
    : 'Look whether the browser has hardware acceleration switched on';
}

function adapterInfo(adapter: GpuAdapterLike): GpuAdapterInfo {
  const { vendor = '', architecture = '', device = '', description = '' } = adapter.info ?? {};
  return { vendor, architecture, device, description };
}

/** What an adapter calls itself. */
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
