/**
 * WebGPU in Node.js as libraries for browsers look for it: `navigator.gpu` and the names of the standard as globals. Must
 * run before such a library is imported.
 */
import { openGpuDevice } from 'skein/gpu';

export async function installWebGpu(): Promise<void> {
  // Skein knows where to find a driver; opening a device points the Vulkan loader there.
  (await openGpuDevice()).raw.destroy();
  const { create, globals } = await import('webgpu');
  Object.assign(globalThis, globals);
  const gpu = create([]);
  const navigator = { gpu, userAgent: 'node' };
  Object.defineProperty(globalThis, 'navigator', { value: navigator, configurable: true, writable: true });
}
