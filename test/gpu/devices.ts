/**
 * Devices for tests: opened on demand and destroyed after each test, reasons of their errors, and programs without a
 * device.
 */
import { spawnSync } from 'node:child_process';
import { type GpuDevice, type OpenGpuOptions, openGpuDevice } from 'skein/gpu';
import { DeviceError } from 'skein/util';
import { afterEach, expect } from 'vitest';
import { program } from '../programs.js';
import type { RunResults } from './results.js';

/**
 * Returns a function that opens devices and destroys them after the test; a process with a live device does not exit.
 */
export function deviceOpener(): (options?: OpenGpuOptions) => Promise<GpuDevice> {
  const opened: GpuDevice[] = [];
  afterEach(() => {
    for (const gpu of opened.splice(0)) gpu.destroy();
  });
  return async (options = {}) => {
    const gpu = await openGpuDevice(options);
    opened.push(gpu);
    return gpu;
  };
}

/** Returns the reason of a device error. */
export async function reasonOf(action: () => unknown): Promise<unknown> {
  try {
    await action();
  } catch (error) {
    expect(error).toBeInstanceOf(DeviceError);
    return (error as DeviceError).details.reason;
  }
  return 'nothing was thrown';
}

/** Returns the output of without-adapter.ts in an environment in which WebGPU finds no adapter. */
export function runWithoutAdapter(env: Readonly<Record<string, string>>): {
  readonly error: object;
  readonly results: RunResults;
} {
  const done = spawnSync(process.execPath, [program('test/gpu/without-adapter.ts')], {
    ...{ env: { ...process.env, ...env }, encoding: 'utf8', timeout: 60_000 },
  });
  if (done.status !== 0) throw new Error(`without-adapter.ts ended with ${done.status}:\n${done.stderr}`);
  return JSON.parse(done.stdout);
}
