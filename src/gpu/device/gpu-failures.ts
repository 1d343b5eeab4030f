/**
 * Errors of a device. Drivers report errors after the call that caused them, and a lost device never answers; both
 * become exceptions that are thrown at the next use.
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
        deviceMessage(memory ? 'the device has no memory left' : 'the device rejected work', event.error),
        { reason: memory ? 'memory' : 'validation' },
      );
    };
  }

  get isLost(): boolean {
    return this.#lostReason !== null;
  }

  /** Throws the errors that were reported since the last check. */
  check(): void {
    if (this.#lostReason !== null)
      throw new DeviceError(
        `the GPU was lost: ${this.#lostReason}. Open it again with openGpuDevice(), or continue on the CPU.`,
        { reason: 'lost' },
      );
    const error = this.#error;
    this.#error = null;
    if (error !== null) throw error;
  }

  /** Waits for pending error reports, then checks. */
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
