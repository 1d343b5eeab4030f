/**
 * What went wrong on a device. Drivers report mistakes after the call that made them, and a lost device never answers;
 * both are turned into errors that are thrown at the next use.
 */
import { DeviceError } from '../../util/errors.js';
import type { GpuDeviceLike } from './webgpu-api.js';

export class GpuFailures {
  readonly lost: Promise<string>;
  #lostReason: string | null = null;
  #error: DeviceError | null = null;

  constructor(device: GpuDeviceLike) {
    this.lost = device.lost.then(({ reason, message }) => {
      this.#lostReason ??=
        reason === 'destroyed' ? 'it was destroyed' : message || 'the driver gave no reason';
      return this.#lostReason;
    });
    device.onuncapturederror = (event: { error?: unknown; preventDefault?(): void }) => {
      event.preventDefault?.();
      const name = (event.error as object | undefined)?.constructor?.name ?? '';
      const memory = name.includes('OutOfMemory');
      this.#error ??= new DeviceError(
        deviceMessage(memory ? 'the device has no memory left' : 'the device refused work', event.error),
        { reason: memory ? 'memory' : 'validation' },
      );
    };
  }

  get isLost(): boolean {
    return this.#lostReason !== null;
  }

  /** Throws what has been reported since. */
  check(): void {
    if (this.#lostReason !== null)
      throw new DeviceError(
        `the graphics device was lost: ${this.#lostReason}. Open it again with openGpuDevice(), or go on with the CPU.`,
        { reason: 'lost' },
      );
    const error = this.#error;
    this.#error = null;
    if (error !== null) throw error;
  }

  /** Lets reports that are under way arrive, then checks. */
  async settle(): Promise<void> {
    await new Promise<void>((resolve) => setTimeout(resolve, 0));
    this.check();
  }

  end(): void {
    this.#lostReason ??= 'it was destroyed';
  }
}

export function deviceMessage(what: string, error: unknown): string {
  const text = (error as { message?: string } | undefined)?.message ?? String(error);
  return `${what}: ${text.split('\n').slice(0, 6).join(' ').trim()}`;
}
