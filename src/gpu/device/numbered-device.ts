/**
 * GPUs by number, as CUDA programs name them. WebGPU opens a device asynchronously and does not enumerate adapters, so
 * a number names one device of this thread on the default adapter: equal numbers share it, and it is opened at the
 * first use.
 */
import { checkInteger, expected, ValueError } from '../../util/errors.js';
import { GpuDevice } from './gpu-device.js';
import { openGpuDevice } from './open-device.js';

/** A device of a number; `device` is null until it is open. */
interface Numbered {
  readonly opening: Promise<GpuDevice>;
  device: GpuDevice | null;
}

const devices = new Map<number, Numbered>();

/**
 * Returns the device of a number, opened as `openGpuDevice()` does unless it is open. `destroy()` closes it; the next
 * use of the number opens another one. A Node.js process does not end while a device is open.
 *
 * @example
 * const sampler = new GPUSampler(0, csr, { sizes: [25, 10] });
 * const { allNode } = await sampler.sample(seeds);
 * sampler.release();
 * (await gpuDevice(0)).destroy();
 */
export async function gpuDevice(number: number): Promise<GpuDevice> {
  checkDevice('gpuDevice', 'number', number);
  const known = devices.get(number);
  if (known !== undefined && known.device?.isLost !== true) return known.opening;
  const opened: Numbered = { opening: openGpuDevice(), device: null };
  devices.set(number, opened);
  try {
    opened.device = await opened.opening;
    return opened.device;
  } catch (error) {
    devices.delete(number);
    throw error;
  }
}

/** Throws unless a value is a device or the number of one. */
export function checkDevice<T extends GpuDevice | number | null>(where: string, name: string, device: T): T {
  if (device instanceof GpuDevice) return device;
  if (typeof device === 'number') checkInteger(where, name, device, 0, 1023);
  else {
    const advice = 'Open one with `await openGpuDevice()`.';
    throw new ValueError(expected(where, 'a GpuDevice or its number', name, device, advice));
  }
  return device;
}
